"""``pack``: from a plugin's folder to one file that others install."""

from __future__ import annotations

from pathlib import Path

import trio

from homed.errors import InvalidInput
from homed.sdk.scaffold import describes_itself, update_manifest
from homed.wire.manifest import load_manifest
from homed.wire.package import SKILL, SUFFIX, Package, write_package


async def pack(folder: Path, out: Path | None = None) -> Package:
    """Bring ``folder/plugin.json`` in step with the code, and write the package.

    ``out`` is ``NAME-VERSION.hmap`` in the working folder by default.  Raises `ConfigError` for a wrong manifest or
    code that cannot be run, `InvalidInput` for what no package holds, `StorageError`; an old file stays as it is then.
    """
    manifest = load_manifest(folder)
    if describes_itself(manifest.entry):
        await update_manifest(folder)
        manifest = load_manifest(folder)
    elif manifest.entry.strip() == SKILL and not (folder / SKILL).is_file():
        raise InvalidInput(f"{folder} has no {SKILL}.")
    target = out or Path(f"{manifest.name}-{_as_name(manifest.version)}{SUFFIX}")
    return await trio.to_thread.run_sync(write_package, folder, target)


async def packed(folder: Path, out: Path | None = None) -> str:
    """The same, told in words."""
    made = await pack(folder, out)
    return (
        f"{made.archive.path}: {made.manifest.name} {made.manifest.version}, {len(made.files)} files,"
        f" {made.size} bytes\nsha256 {made.sha256}\n"
    )


def _as_name(version: str) -> str:
    """A version as part of a file's name: it is whatever its author wrote."""
    return "".join(c if c.isascii() and (c.isalnum() or c in ".+-") else "_" for c in version)[:60]
