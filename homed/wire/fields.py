"""Reads typed fields out of a JSON object and notes every error with its place, instead of stopping at the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any


class Reader:
    """One JSON object being read.  Readers of its parts share one list of ``errors``."""

    def __init__(self, value: Mapping[str, Any], at: str = "", errors: list[str] | None = None) -> None:
        self._value = value
        self._at = at
        self.errors: list[str] = [] if errors is None else errors

    def wrong(self, key: str, problem: str) -> None:
        """Note an error at a key."""
        self.errors.append(f"{self._at}{key}: {problem}")

    def value(self, key: str, default: object) -> Any:
        """Whatever stands there."""
        return self._value.get(key, default)

    def text(self, key: str, *, pattern: re.Pattern[str] | None = None, required: bool = False) -> str:
        """A string; with ``required`` neither absent nor empty; the whole of it must match ``pattern``."""
        value = self._value.get(key, "")
        if not isinstance(value, str):
            self.wrong(key, "must be a string")
        elif required and not value:
            self.wrong(key, "is missing")
        elif value and pattern and not pattern.fullmatch(value):
            self.wrong(key, f"{value[:80]!r} does not match {pattern.pattern}")
        else:
            return value
        return ""

    def choice(self, key: str, options: tuple[str, ...], default: str) -> str:
        """One of ``options``; an empty ``default`` means that it must be there."""
        value = self._value.get(key, default)
        if value in options:
            return str(value)
        self.wrong(key, f"must be one of {', '.join(options)}" if key in self._value else "is missing")
        return default

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self._value.get(key, default)
        if isinstance(value, bool):
            return value
        self.wrong(key, "must be true or false")
        return default

    def number(self, key: str, default: float, *, low: float, high: float, whole: bool = False) -> float:
        """A number from ``low`` to ``high``, both allowed."""
        value = self._value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            self.wrong(key, "must be a whole number" if whole else "must be a number")
        elif not low <= value <= high:
            self.wrong(key, f"must be from {low:g} to {high:g}")
        else:
            return value
        return default

    def names(self, key: str) -> tuple[str, ...]:
        """A list of non-empty strings."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
            self.wrong(key, "must be a list of strings")
            return ()
        return tuple(value)

    def parts(self, key: str, *, unique: str) -> Iterator[Reader]:
        """Readers of the objects in a list, no two of which may have the same ``unique`` field."""
        value = self._value.get(key, [])
        if not isinstance(value, list):
            self.wrong(key, "must be a list")
            return
        seen: set[str] = set()
        for index, part in enumerate(value):
            at = f"{self._at}{key}[{index}]"
            if not isinstance(part, dict):
                self.errors.append(f"{at}: must be an object")
                continue
            name = part.get(unique)
            if isinstance(name, str) and name in seen:
                self.errors.append(f"{at}.{unique}: {name!r} is there already")
            elif isinstance(name, str):
                seen.add(name)
            yield Reader(part, f"{at}.", self.errors)

    def unknown(self, known: frozenset[str]) -> tuple[str, ...]:
        """One warning that names every key we do not know, or none."""
        odd = sorted(set(self._value) - known)
        return (f"unknown keys are ignored: {', '.join(odd)}",) if odd else ()
