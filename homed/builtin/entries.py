"""How a tool of the kernel's own is declared; its text for the model is the .md file of its name beside this."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from homed.agent.catalogue import KERNEL
from homed.host.registry import ToolEntry
from homed.host.states import Trust


def entry(
    name: str, properties: Mapping[str, Any], required: tuple[str, ...], *, guest: bool, untrusted: bool = False
) -> ToolEntry:
    """The declaration.  Such tools only read, and what they give back is never remembered again (B1)."""
    description = resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
    parameters = {
        "type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False,
    }  # fmt: skip
    return ToolEntry(
        name, KERNEL, description, parameters, "read", guest=guest, parallel_safe=True, timeout=0.0, confirm=False,
        no_memory=True, untrusted=untrusted, trust=Trust.PACKAGED,
    )  # fmt: skip
