"""Writes settings as a ``homed.toml`` that can be read again.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Line:
    """One setting.  ``said``: it is written as a comment, with this reason ("" for none), so that it sets nothing."""

    key: str
    value: object
    said: str | None = None


def as_toml(lines: Iterable[Line]) -> str:
    """The text: a table for each group of keys.

    A key that another one begins with (``a.b`` and ``a.b.c``) cannot stand beside it in TOML and becomes a comment.
    """
    found = list(lines)
    tables = {parent for line in found if line.said is None for parent in _parents(line.key)}
    groups: dict[str, list[str]] = {}
    for line in found:
        table, _, name = line.key.rpartition(".")
        groups.setdefault(table, []).append(_written(line, name, clash=line.key in tables))
    return "\n".join(
        "\n".join([f"[{_dotted(table)}]" if table else "", *rows, ""]).lstrip("\n")
        for table, rows in sorted(groups.items(), key=lambda group: group[0] != "")
    )


def value_toml(value: object) -> str:
    """One value; TypeError for what TOML has no word for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are JSON's; what would not be seen, or would steer a terminal, is written as a number
        return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(value, ensure_ascii=False))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_word(str(k))} = {value_toml(v)}' for k, v in value.items())}}}"
    raise TypeError(f"{type(value).__name__} cannot be written as TOML")


def _written(line: Line, name: str, *, clash: bool) -> str:
    try:
        text = f"{_word(name)} = {value_toml(line.value)}"
    except TypeError as error:
        return f"# {_word(name)}: {error}"
    if line.said is None and not clash:
        return text
    why = "another key begins with it" if clash else line.said
    return f"# {text}" + (f"  # {why}" if why else "")


def _parents(key: str) -> Iterable[str]:
    words = key.split(".")
    return (".".join(words[:count]) for count in range(1, len(words)))


def _dotted(key: str) -> str:
    return ".".join(_word(word) for word in key.split("."))


def _word(word: str) -> str:
    return word if _BARE.fullmatch(word) else value_toml(word)
