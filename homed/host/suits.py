"""Whether a plugin was made for this machine and this homed.  Pure."""

from __future__ import annotations

import re

from homed.wire.manifest import Manifest

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


def misfit(manifest: Manifest, *, core: str, platform: str) -> str:
    """Why it cannot run here, as one sentence for a person; empty if it can.  ``platform`` is a `sys.platform`."""
    if manifest.platforms and platform not in manifest.platforms:
        return f"The plugin {manifest.name} runs on {', '.join(manifest.platforms)}, and this is {platform}."
    if numbers(manifest.min_version) > numbers(core):
        return f"The plugin {manifest.name} needs homed {manifest.min_version} or later, and this is {core}."
    return ""


def numbers(version: str) -> tuple[int, ...]:
    """``0.2.0`` as (0, 2): zeros at the end make no version later."""
    found = _NUMBERS.match(version)
    parts = [int(part) for part in found.group().split(".")] if found else []
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)
