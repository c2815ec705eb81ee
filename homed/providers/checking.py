"""Whether a source can work, before it is stored.  Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from homed.errors import InvalidInput
from homed.providers import options
from homed.providers.adapters import audio_of, names
from homed.providers.base import LOCAL, Source

LEAST_WINDOW = 1024
"""Tokens; a prompt has no room in less."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def checked(source: Source, scripts: Collection[str] = ()) -> Source:
    """The source, its base URL trimmed to what its adapter adds to; InvalidInput for what cannot work.

    ``scripts``: the names of the adapters that are scripts.
    """
    if not _NAME.fullmatch(source.name):
        raise InvalidInput(
            f"{source.name!r} cannot be the name of a source.", hint="Up to 64 letters, digits, dots, dashes."
        )
    if source.adapter not in (there := names(scripts)):
        raise InvalidInput(f"There is no adapter {source.adapter!r}.", hint=f"There is: {', '.join(there)}.")
    if not source.model.strip():
        raise InvalidInput(f"The source {source.name} names no model.", hint="Give the name the provider uses for it.")
    if not source.model.strip().isprintable():
        raise InvalidInput(
            f"The model of the source {source.name} has a character in its name that cannot be seen.",
            hint="Type the name instead of copying it.",
        )
    if source.context_window < LEAST_WINDOW or source.max_concurrent < 1:
        raise InvalidInput(
            f"The limits of the source {source.name} are too small.",
            hint=f"context_window is at least {LEAST_WINDOW} tokens, max_concurrent at least 1.",
        )
    if source.audio and not audio_of(source.adapter):
        raise InvalidInput(
            f"{source.name} cannot be sent recordings: its adapter {source.adapter} has no place for any."
        )
    address = _no_address(source) if source.adapter == LOCAL else _address(source)
    quirks = options.checked(source.name, source.adapter, source.options)
    made = replace(source, base_url=address, model=source.model.strip(), options=quirks)
    if (listed := quirks.get("models_url")) and place(replace(made, base_url=str(listed))) != place(made):
        raise InvalidInput(f"The list of models of {source.name} is on another server.", hint="Its key would go there.")
    return made


def _no_address(source: Source) -> str:
    hint = "Give the path of its GGUF file alone: homed models add NAME --gguf FILE."
    if source.base_url.strip():
        raise InvalidInput(f"{source.name} runs on this machine: it has no base URL.", hint=hint)
    if source.vision:
        raise InvalidInput(f"{source.name} runs on this machine: it cannot be shown images yet.", hint=hint)
    if not Path(source.path).is_absolute():
        raise InvalidInput(f"The file of {source.name} needs an absolute path.", hint=hint)
    return ""


def place(source: Source) -> tuple[str, str]:
    """Where its key is sent; nowhere, if that is no address."""
    try:
        parts = urlsplit(source.base_url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _address(source: Source) -> str:
    if source.path:
        raise InvalidInput(f"{source.name} has both a base URL and a file.", hint="A file goes with --gguf alone.")
    text = source.base_url.strip().rstrip("/").removesuffix("/chat/completions")
    hint = "Give one like https://api.example.com/v1."
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(c.isspace() for c in text):
        raise InvalidInput(f"The base URL of {source.name} is no address of a server.", hint=hint)
    if parts.username or parts.password:
        raise InvalidInput(f"The base URL of {source.name} holds a password.", hint="Give it as the API key instead.")
    return text
