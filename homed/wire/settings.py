"""The settings that a manifest declares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from homed.wire.fields import Reader

SETTING_TYPES = ("string", "text", "int", "float", "bool", "duration", "password", "select", "list")
_MOST = 2.0**53


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting of the plugin; its full key is ``plugin.NAME.KEY``.  ``options`` are the values of a ``select``.

    ``minimum`` and ``maximum`` bound int, float and duration (seconds); ``restart``: a change takes effect when the
    plugin starts again.
    """

    key: str
    type: str
    default: Any = None
    description: str = ""
    name: str = ""
    category: str = ""
    hidden: bool = False
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    restart: bool = False


def read_setting(part: Reader) -> SettingSpec:
    """One entry of ``settings``."""
    spec = SettingSpec(
        key=part.text("key", pattern=re.compile(r"[a-z][a-z0-9_.]{0,63}"), required=True),
        type=part.choice("type", SETTING_TYPES, ""),
        default=part.value("default", None),
        description=part.text("description"),
        name=part.text("name"),
        category=part.text("category"),
        hidden=part.flag("hidden"),
        options=part.names("options"),
        minimum=_bound(part, "minimum"),
        maximum=_bound(part, "maximum"),
        restart=part.flag("restart"),
    )
    if spec.type == "select" and not spec.options:
        part.wrong("options", "a select needs options")
    if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
        part.wrong("maximum", "is below the minimum")
    if spec.default is not None and spec.type and not fits(spec.type, spec.default, spec.options):
        part.wrong("default", f"{spec.default!r} is no {spec.type}")
    return spec


def _bound(part: Reader, key: str) -> float | None:
    if part.value(key, None) is None:
        return None
    return part.number(key, 0, low=-_MOST, high=_MOST)


def fits(type_: str, value: object, options: tuple[str, ...] = ()) -> bool:
    """Whether a value suits a setting of this type."""
    match type_:
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "list":
            return isinstance(value, list)
        case "duration":
            return isinstance(value, (int, float, str)) and not isinstance(value, bool)
        case "select":
            return isinstance(value, str) and value in options
        case _:
            return isinstance(value, str)
