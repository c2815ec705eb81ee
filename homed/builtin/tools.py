"""Tools that need the kernel's own store or registry; their texts for the model are the .md files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import trio

from homed.agent.attached import NoMedia
from homed.agent.ports import BuiltinTool, CallContext, MediaPort
from homed.builtin.entries import entry
from homed.builtin.memory import memory_tools
from homed.builtin.ports import MemoryPorts
from homed.clock import WallClock, system_wall_clock
from homed.errors import NotFound, Unavailable
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory.events import NOT_REMOVED
from homed.memory.records import DRAFT
from homed.store.rows import Storage

FILES = "blk_"
"""What the ids of attachments begin with."""

READ_LENGTH = 6000
"""Characters that one ``result_read`` gives: in UTF-8 below the smallest sensible result limit."""


def builtin_tools(
    store: Storage,
    wall: WallClock = system_wall_clock,
    failpoints: Failpoints | None = None,
    media: MediaPort | None = None,
    memory: MemoryPorts | None = None,
) -> tuple[BuiltinTool, ...]:
    """Every tool of the kernel's own.  Those over memory use ``memory``, by default words alone on this store."""
    remembering = memory or MemoryPorts(store=store, wall=wall, failpoints=failpoints or NoFailpoints())
    return (_result_read(store, media or NoMedia()), _get_plugin_tools(), *memory_tools(remembering))


def _result_read(store: Storage, media: MediaPort) -> BuiltinTool:
    async def text_of(context: CallContext, wanted: str) -> str:
        if wanted.startswith(FILES):
            return await media.text(wanted, scope=context.scope, thread=context.thread)
        # the scope's own and no other's: an id is no key; and what is private to a turn stays in its conversation
        text = await store.read(
            lambda tx: tx.value(
                "SELECT text FROM events WHERE id = ? AND scope = ? AND (thread = ? OR no_memory = 0)"
                f" AND (kind <> 'note' OR data ->> 'code' IS NOT ?) AND {NOT_REMOVED}",
                (wanted, context.scope, context.thread, DRAFT),
            )
        )
        if not isinstance(text, str):
            raise NotFound(f"There is no text {wanted} here.")
        return text

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        offset, length = _int(args.get("offset"), 0), _int(args.get("length"), READ_LENGTH)
        text = await text_of(context, str(args["id"]))
        return {"text": text[offset : offset + length], "offset": offset, "of": len(text)}

    properties = {
        "id": {"type": "string", "description": "The id that the shortened text names."},
        "offset": {"type": "integer", "minimum": 0, "description": "Where to begin, in characters."},
        "length": {"type": "integer", "minimum": 1, "maximum": READ_LENGTH, "description": "Characters to read."},
    }
    # what it reads may have come from strangers in an earlier turn, so it taints this one
    return BuiltinTool(replace(entry("result_read", properties, ("id",), guest=True), untrusted=True), run)


def _get_plugin_tools() -> BuiltinTool:
    async def run(_: CallContext, _args: Mapping[str, object]) -> object:
        await trio.lowlevel.checkpoint()
        raise Unavailable("Only a turn can say which tools it may use.")  # ``Catalogue.run`` answers it there

    properties = {
        "plugin": {"type": "string", "description": "A name from the list of what is installed."},
        "tools": {"type": "array", "items": {"type": "string"}, "description": "Only these; all if left out."},
    }
    return BuiltinTool(entry("get_plugin_tools", properties, (), guest=False), run)


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
