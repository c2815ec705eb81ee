"""``memory_injections``, ``memory_stats``, ``memory_doctor``: what was told, how much there is, whether it stands.

What they read with is loaded when one is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number
from homed.builtin.ports import MemoryPorts
from homed.errors import Unavailable
from homed.memory.temporary import reads
from homed.redact import redact
from homed.store.rows import Tx, dumps

if TYPE_CHECKING:  # loaded when it is used
    from homed.memory.injections import Injection, Line

LIMIT, MOST = 20, 50
QUERY = 200
"""Characters of a question."""
IDS = 10
"""Ids that a finding names."""

NOTHING = "Nothing was told to any turn yet."


def memory_injections(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        limit = args.get("limit")
        most = limit if isinstance(limit, int) else LIMIT

        def read(tx: Tx) -> tuple[list[dict[str, object]], bool]:
            from homed.memory import injections

            found = injections.of_scopes(tx, reads(tx, context.scope), limit=most)
            open_, outside = _open(tx, found, context.thread)
            asked = injections.questions(tx, open_)
            gone = injections.gone(tx, {line.id for one in found for line in one.lines})
            return [_row(one, asked.get(one.turn, ""), gone) for one in found], outside

        rows, outside = await ports.store.read(read)
        answer: dict[str, object] = {"injections": rows} if rows else {"injections": [], "note": NOTHING}
        return FromOutside(answer) if outside else answer

    return BuiltinTool(entry("memory_injections", {"limit": number(1, MOST, f"{LIMIT}.")}, (), guest=False), run)


def _open(tx: Tx, found: list[Injection], thread: str) -> tuple[set[str], bool]:
    """Turns whose question may be told here, and whether one of them is a stranger's: what is private to a turn stays
    in its conversation."""
    turns = {one.turn for one in found}
    rows = tx.all(
        "SELECT t.id, i.untrusted FROM turns t JOIN inputs i ON i.id = t.input"
        " WHERE t.id IN (SELECT value FROM json_each(?)) AND (i.thread = ? OR i.no_memory = 0)",
        (dumps(sorted(turns)), thread),
    )
    return {str(turn) for turn, _ in rows}, any(untrusted for _, untrusted in rows)


def _row(one: Injection, question: str, gone: set[str]) -> dict[str, object]:
    query = " ".join(notes.neutral(redact(question[: 4 * QUERY])).split())[:QUERY]
    left = {"below": one.below, "cut": one.cut, "late": list(one.late)}
    return {
        "at": notes.day(one.at), "turn": one.turn, "thread": one.thread, "query": query, "mode": one.mode,
        "chars": one.chars, "ms": round(one.ms), **{key: value for key, value in left.items() if value},
        "told": [_line(line, gone) for line in one.lines],
    }  # fmt: skip


def _line(line: Line, gone: set[str]) -> str:
    deleted = " (deleted)" if line.id in gone else ""
    mark = f" · {line.evidence}" if line.evidence else ""
    return f"{line.record} id:{line.id[-8:]}@{line.revision} · {line.band} · {line.score:.2f}{mark}{deleted}"


def memory_stats(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, _: Mapping[str, object]) -> object:
        def read(tx: Tx) -> dict[str, object]:
            from homed.memory import figures

            scopes = reads(tx, context.scope)
            return {
                "records": figures.records(tx, scopes), "events": figures.layers(tx, scopes),
                "graph": figures.graph(tx, scopes), "used": figures.use(tx, scopes, ports.wall()),
                "passes": figures.passes(tx, scopes),
            }  # fmt: skip

        found = await ports.store.read(read)
        return {**found, "thresholds": dict(ports.thresholds())}

    return BuiltinTool(entry("memory_stats", {}, (), guest=False), run)


def memory_doctor(ports: MemoryPorts) -> BuiltinTool:
    """The tool.  It looks at all of memory, other people's too, though it tells no word of it: for owners."""

    async def run(_: CallContext, args: Mapping[str, object]) -> object:
        if (doctor := ports.doctor()) is None:
            raise Unavailable("There is no health check here.", hint="`homed memory doctor` runs it.")
        report = await doctor.examine(deep=args.get("deep") is True)
        found = report.wire()
        wrong = [
            {
                "id": one.id, "status": one.status.value, "found": one.evidence,
                **({"fix": one.fix} if one.fix else {}), **({"ids": list(one.ids[:IDS])} if one.ids else {}),
            }
            for one in report.wrong()
        ]  # fmt: skip
        kept = ("clean", "counts", "read", "deep", "ms")
        return {**{key: found[key] for key in kept}, "wrong": wrong}

    return BuiltinTool(entry("memory_doctor", {"deep": {"type": "boolean"}}, (), guest=False), run, owner=True)
