"""Tools that need the kernel's own store or registry; their texts for the model are the .md files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import trio

from homed.agent import outputs
from homed.agent.catalogue import KERNEL
from homed.agent.ports import BuiltinTool, CallContext, RegistryPort
from homed.errors import NotFound
from homed.host.registry import Reserved, ToolEntry
from homed.host.states import Trust
from homed.store.rows import Storage

RESERVED = Reserved(frozenset({"result_read", "get_plugin_tools"}), (outputs.PREFIX,))
"""The names of the tools here and of those that outputs are: no plugin's tool may have one of them."""

READ_LENGTH = 6000
"""Characters that one ``result_read`` gives: in UTF-8 below the smallest sensible result limit."""


def builtin_tools(store: Storage, registry: RegistryPort) -> tuple[BuiltinTool, ...]:
    """Every tool of the kernel's own."""
    return (_result_read(store), _get_plugin_tools(registry))


def _entry(
    name: str, properties: Mapping[str, Any], required: tuple[str, ...], *, guest: bool, untrusted: bool = False
) -> ToolEntry:
    description = resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
    parameters = {
        "type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False,
    }  # fmt: skip
    return ToolEntry(
        name, KERNEL, description, parameters, "read", guest=guest, parallel_safe=True, timeout=0.0, confirm=False,
        no_memory=True, untrusted=untrusted, trust=Trust.PACKAGED,
    )  # fmt: skip


def _result_read(store: Storage) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        wanted, offset = str(args["id"]), _int(args.get("offset"), 0)
        length = _int(args.get("length"), READ_LENGTH)
        # only this conversation's own results: an id is no key to anybody else's
        text = await store.read(
            lambda tx: tx.value(
                "SELECT text FROM events WHERE id = ? AND thread = ? AND scope = ? AND kind = 'tool'",
                (wanted, context.thread, context.scope),
            )
        )
        if not isinstance(text, str):
            raise NotFound(f"There is no result {wanted} in this conversation.")
        return {"text": text[offset : offset + length], "offset": offset, "of": len(text)}

    properties = {
        "id": {"type": "string", "description": "The id that the shortened result names."},
        "offset": {"type": "integer", "minimum": 0, "description": "Where to begin, in characters."},
        "length": {"type": "integer", "minimum": 1, "maximum": READ_LENGTH, "description": "Characters to read."},
    }
    # what it reads may have come from strangers in an earlier turn, so it taints this one
    return BuiltinTool(_entry("result_read", properties, ("id",), guest=True, untrusted=True), run)


def _get_plugin_tools(registry: RegistryPort) -> BuiltinTool:
    async def run(_: CallContext, args: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        entries = list(registry.tools().values())
        plugin = args.get("plugin")
        if not plugin:
            return {"plugins": sorted({entry.plugin for entry in entries})}
        found = [entry for entry in entries if entry.plugin == plugin]
        if not found:
            raise NotFound(f"There is no plugin {plugin} with tools now.", hint="Call without a name to list them.")
        return [
            {"name": e.name, "description": e.description, "parameters": e.parameters, "class": e.tool_class}
            for e in found
        ]

    properties = {"plugin": {"type": "string", "description": "A plugin's name."}}
    return BuiltinTool(_entry("get_plugin_tools", properties, (), guest=False), run)


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
