"""How a tool of the kernel's own is declared; its text for the model is the .md file of its name beside this."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from homed.agent.catalogue import KERNEL
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.identity.permissions import READ


def entry(
    name: str,
    properties: Mapping[str, Any],
    required: tuple[str, ...],
    *,
    guest: bool,
    tool_class: str = READ,
) -> ToolEntry:
    """The declaration.  What such tools give back is never remembered again (B1); those that only read run side by
    side."""
    return ToolEntry(
        name, KERNEL, text_of(name), shape(properties, required), tool_class, guest=guest,
        parallel_safe=tool_class == READ, timeout=0.0, confirm=False, no_memory=True, untrusted=False,
        trust=Trust.PACKAGED,
    )  # fmt: skip


def shape(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON schema of an object of these."""
    return {
        "type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False,
    }  # fmt: skip


def string(description: str = "", *, most: int = 0) -> dict[str, Any]:
    """The schema of a text.  Every request carries the schemas, so what the tool itself checks is not in them."""
    said = {"description": description} if description else {}
    return {"type": "string", **({"maxLength": most} if most else {}), **said}


def number(least: int, most: int, description: str = "") -> dict[str, Any]:
    """The schema of a whole number."""
    return {
        "type": "integer", "minimum": least, "maximum": most,
        **({"description": description} if description else {}),
    }  # fmt: skip


def older(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a parameter by a name of before: it is taken, and no model is told of it."""
    return {**schema, "deprecated": True}


def text_of(name: str) -> str:
    """What the model is told of a tool."""
    return resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
