"""``memory_open`` and ``memory_list``: one record with the words it comes from, and the newest there are.

What reads them is loaded when one is called: most conversations open nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, older, string
from homed.builtin.memory_recall import ALIASES, RECORDS, records_of, shown
from homed.builtin.ports import MemoryPorts
from homed.memory import inputs, speakers, stable
from homed.memory.records import shows_files
from homed.memory.temporary import reads
from homed.store.rows import Tx, dumps

if TYPE_CHECKING:  # loaded when it is used
    from homed.memory.opened import Opened, Said

CHARS, MOST_CHARS = 1600, 8000
"""Characters of a record's text, and as many of all its excerpts together."""

LEAST = 200
"""Characters of each excerpt at the least, as far as it has them."""

SOURCES, TOLD = 8, 5
"""Pieces of evidence, and tellings and citations, that are named."""

LIMIT, MOST = 20, 50


def memory_open(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        from homed.memory import opened

        most = args.get("maxChars")
        chars = most if isinstance(most, int) else CHARS

        def read(tx: Tx) -> tuple[Opened, Mapping[str, str]]:
            scopes = frozenset(reads(tx, context.scope))
            found = opened.for_turn(opened.open_(tx, opened.find(tx, scopes, str(args["id"]))))
            peers = [found.record.observed, *(one.event.peer for one in found.said if one.event is not None)]
            return found, speakers.names(tx, found.record.scope, peers)

        found, names = await ports.store.read(read)
        answer = _whole(found, context.peer, names, chars, history=args.get("history") is True)
        outside = found.record.untrusted or any(map(_of_strangers, found.said[:SOURCES]))
        return FromOutside(answer) if outside else answer

    properties = {
        "id": string("The eight digits behind id:, or a whole id."),
        "maxChars": number(1, MOST_CHARS, f"{CHARS}."),
        "history": {"type": "boolean", "description": "What it said before, too."},
    }
    return BuiltinTool(entry("memory_open", properties, ("id",), guest=True), run)


def memory_list(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        limit = args.get("limit")
        wanted = records_of(args, "record", "layer")
        most = limit if isinstance(limit, int) else LIMIT

        def read(tx: Tx) -> tuple[list[tuple[stable.Record, str]], Mapping[str, str]]:
            from homed.memory import browse

            found = _newest(tx, context, wanted, most)
            names = {p: n for scope in reads(tx, context.scope) for p, n in _names(tx, scope, found).items()}
            return [(record, browse.mark(tx, record)) for record in found], names

        listed, names = await ports.store.read(read)
        told = [shown(record, 0.0, mark, context.peer, names) for record, mark in listed]
        answer: dict[str, object] = {"records": told} if told else {"records": [], "note": NOTHING}
        return FromOutside(answer) if any(record.untrusted for record, _ in listed) else answer

    properties = {
        "record": {"enum": list(RECORDS)},
        "layer": older({"enum": ALIASES}),
        "limit": number(1, MOST, f"{LIMIT}."),
    }
    declared = entry("memory_list", properties, (), guest=False)
    return BuiltinTool(declared, run)


NOTHING = "Memory has no record of that kind yet."


def _newest(tx: Tx, context: CallContext, records: frozenset[str], most: int) -> list[stable.Record]:
    """The scopes and the project are hard filters, as in every other look."""
    return stable.select(
        tx,
        "scope IN (SELECT value FROM json_each(?)) AND record IN (SELECT value FROM json_each(?))"
        " AND status = 'active' AND (reach = 'user' OR project = ?) ORDER BY seq DESC LIMIT ?",
        (
            dumps(list(reads(tx, context.scope))), dumps(sorted(records)),
            inputs.project_of(tx, context.turn) or "\0", most,
        ),
    )  # fmt: skip


def _names(tx: Tx, scope: str, found: Sequence[stable.Record]) -> Mapping[str, str]:
    return speakers.names(tx, scope, [record.observed for record in found])


def _whole(found: Opened, peer: str, names: Mapping[str, str], chars: int, *, history: bool) -> dict[str, object]:
    record = found.record
    answer = shown(record, 0.0, found.mark, peer, names)
    answer["text"] = _cut(record.text, chars)
    answer |= {"status": record.status, "revision": record.revision, "importance": record.importance}
    if record.tags:
        answer["tags"] = [notes.neutral(tag) for tag in record.tags]
    for key, those in (("took_the_place_of", found.older), ("superseded_by", found.newer)):
        if those:
            answer[key] = [_line(one) for one in those]
    for key, those in (("members", found.members), ("part_of", found.capsules)):
        if those:
            answer[key] = [_line(one) for one in those[:SOURCES]]
    readable = any(one.event is not None or one.item.excerpt for one in found.said)
    sources = _sources(found, peer, names, chars) if readable else []
    answer["source"] = sources or found.source or "written by a person"
    if len(found.said) > SOURCES:
        answer["more_sources"] = len(found.said) - SOURCES
    if found.cited or found.told:
        answer["used"] = {
            "cited": len(found.cited), "told": len(found.told),
            "last": [{"turn": one.turn, "at": notes.day(one.at)} for one in found.told[:TOLD]],
        }  # fmt: skip
    if history:
        answer["history"] = [
            {"revision": one.revision, "text": _cut(one.text, chars), "why": notes.neutral(one.why),
             "at": notes.day(one.at)} for one in found.revisions
        ]  # fmt: skip
    return answer


def _sources(found: Opened, peer: str, names: Mapping[str, str], chars: int) -> list[dict[str, object]]:
    said = found.said[:SOURCES]
    each = max(LEAST, chars // len(said)) if said else chars
    return [_source(one, peer, names, each) for one in said]


def _source(one: Said, peer: str, names: Mapping[str, str], chars: int) -> dict[str, object]:
    """``hashOk``: null of a pointer, whose words are not said to be anywhere."""
    told: dict[str, Any] = {"event": one.item.event}
    if one.event is not None:
        title = notes.neutral(" ".join(one.title.split()))
        told |= {
            "conversation": title, "at": notes.day(one.event.created_at), "who": notes.who(one.event, peer, names),
        }  # fmt: skip
    verbatim = one.item.first is not None
    told |= {"excerpt" if verbatim else "around": _cut(one.text, chars), "hashOk": one.hash_ok}
    return told | ({"of_revision": one.upto} if one.upto else {})


def _line(record: stable.Record) -> str:
    return f"{notes.neutral(' '.join((record.title or record.text).split()))[:120]} (id:{record.shown_id})"


def _cut(text: str, chars: int) -> str:
    """Its beginning where it is longer; neutral, as everything that is told."""
    return notes.neutral(text if len(text) <= chars else f"{text[:chars].rstrip()}…")


def _of_strangers(one: Said) -> bool:
    return one.event is not None and (bool(one.event.data.get("untrusted")) or shows_files(one.event))
