"""Reads ``homed.toml``: flat keys with the line each stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from homed.errors import ConfigError

MAX_BYTES = 1_000_000

_HEADER = re.compile(r"\s*\[\[?\s*([^\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGN = re.compile(r"\s*([A-Za-z0-9_.\"'-]+(?:\s*\.\s*[A-Za-z0-9_\"'-]+)*)\s*=")


def read_file(path: Path) -> dict[str, tuple[object, str]]:
    """``{key: (value, "FILE line N")}``; empty when there is no such file.

    Nothing is checked here but the syntax.  Raises ``ConfigError`` naming file and line.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Give this user read access, or move it away."
        ) from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES} bytes.", hint="Is it really a settings file?")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} line {line}: not UTF-8.", hint="Save the file as UTF-8.") from error
    import tomllib  # most people have no such file

    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path}: {error}.", hint="Texts stand in quotes, tables in [brackets]; docs/config.md has an example."
        ) from error
    lines = _line_numbers(text)
    return {key: (value, _place(path, lines.get(key))) for key, value in _flatten(tree)}


def _place(path: Path, line: int | None) -> str:
    return f"{path} line {line}" if line else str(path)


def _flatten(tree: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def _line_numbers(text: str) -> dict[str, int]:
    """Where each key is first set; a help for messages, so a multi-line string that looks like a key does no harm."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _bare(header[1])
            found.setdefault(table, number)
        elif assign := _ASSIGN.match(line):
            key = _bare(assign[1])
            found.setdefault(f"{table}.{key}" if table else key, number)
    return found


def _bare(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
