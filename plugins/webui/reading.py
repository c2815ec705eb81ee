"""Reading what came over the wire: a field that is missing or of another kind is empty, never an error."""

from __future__ import annotations

from collections.abc import Mapping

Data = Mapping[str, object]


def string(data: Data, key: str) -> str:
    """A text; empty where there is none."""
    value = data.get(key, "")
    return value if isinstance(value, str) else ""


def integer(value: object) -> int:
    """A whole number; 0 where there is none."""
    return value if isinstance(value, int) else 0


def number(value: object) -> float:
    """A number; 0 where there is none."""
    return float(value) if isinstance(value, int | float) else 0.0


def mapping(value: object) -> Data:
    """An object; empty where there is none."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[Data]:
    """The objects of a list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def strings(value: object) -> list[str]:
    """The texts of a list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list | tuple) else []
