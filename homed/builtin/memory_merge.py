"""``memory_merge`` and ``memory_block_merge``: two names that are one, or that never are."""

from __future__ import annotations

from collections.abc import Mapping

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext
from homed.builtin.entries import entry, number, string
from homed.builtin.ports import MemoryPorts
from homed.identity.permissions import WRITE
from homed.memory import entities, merges
from homed.store.rows import Tx

MOST_ROUNDS = 1000


def memory_merge(ports: MemoryPorts) -> BuiltinTool:
    """The tool.  A merge can be taken back by a person."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        def write(tx: Tx) -> dict[str, object]:
            keep, other = _two(tx, context, str(args["keep"]), str(args["other"]))
            done = merges.merge(tx, context.scope, keep.id, other.id, at=ports.wall())
            return {
                "kept": notes.neutral(keep.name),
                "merged": notes.neutral(other.name),
                "facts": done.facts,
                "known_twice": done.duplicates,
            }

        return await ports.store.write(write)

    properties = {"keep": string(), "other": string()}
    declared = entry("memory_merge", properties, ("keep", "other"), guest=False, tool_class=WRITE)
    return BuiltinTool(declared, run)


def memory_block_merge(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        given = args.get("rounds")
        rounds = given if isinstance(given, int) else merges.NEVER_ROUNDS

        def write(tx: Tx) -> dict[str, object]:
            one, two = _two(tx, context, str(args["first"]), str(args["second"]))
            merges.never(tx, context.scope, one.id, two.id, at=ports.wall(), rounds=rounds)
            return {"apart": [notes.neutral(one.name), notes.neutral(two.name)], "rounds": rounds}

        return await ports.store.write(write)

    properties = {
        "first": string(), "second": string(),
        "rounds": number(1, MOST_ROUNDS, f"For so many rounds of proposals; {merges.NEVER_ROUNDS}."),
    }  # fmt: skip
    declared = entry("memory_block_merge", properties, ("first", "second"), guest=False, tool_class=WRITE)
    return BuiltinTool(declared, run)


def _two(tx: Tx, context: CallContext, one: str, two: str) -> tuple[entities.Entity, entities.Entity]:
    """Both, by name; NotFound for one that is not there."""
    first = entities.must(tx, context.scope, one, peer=context.peer)
    return first, entities.must(tx, context.scope, two, peer=context.peer)
