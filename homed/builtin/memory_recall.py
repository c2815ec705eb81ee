"""``memory_recall``: what is known, by the one ranker and along the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from homed.agent import known, notes
from homed.agent.asking import asked
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, older, string
from homed.builtin.ports import MemoryPorts
from homed.memory import evidence, graph, inputs, speakers, stable
from homed.memory.entities import Entity
from homed.memory.stable import Record
from homed.memory.temporary import reads
from homed.retrieval import met
from homed.retrieval.asking import Question
from homed.retrieval.stable import Wanted
from homed.store.rows import Tx, dumps

LIMIT, MOST = 8, 20
DEPTH, DEEPEST = 2, 3
RELATED = 12
"""Entities that are named beside the records."""

NOT_FOUND = (
    "Nothing that is known matches. That does not mean that it does not exist or was never said: try other words, or"
    " `coldcontext_query`; if you still find nothing, say that you have no record of it, not that it is untrue."
)
ABSENT = "Memory has no record of {words} at all."
RECORDS = ("summary", "fact", "capsule")
LAYERS = {"l1": "summary", "l2": "fact", "l3": "capsule"}
"""What the system that this memory follows calls them; taken, and told to nobody."""
ALIASES = [*RECORDS, *LAYERS, *map(str.upper, LAYERS)]


@dataclass(frozen=True, slots=True)
class _Asked:
    records: frozenset[str]
    depth: int
    recent: bool
    limit: int


@dataclass(frozen=True, slots=True)
class _Found:
    """``records`` with their relevance and mark; ``near``: entities that are named or close; ``absent``: exact symbols
    asked for that stand nowhere; ``names``: of the members of a group that the records are of."""

    records: list[tuple[Record, float, str]]
    near: list[Entity]
    absent: list[str]
    names: Mapping[str, str]


def memory_recall(ports: MemoryPorts) -> BuiltinTool:
    """The tool."""

    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        query, wanted = str(args["query"]), _wanted(args)
        question = await asked(ports.ranker, query)
        found = await ports.store.read(lambda tx: _look(tx, ports, context, question, wanted))
        ports.explicit.saw(context.scope, context.turn, [entity.id for entity in found.near])
        answer = _answer(found, context.peer)
        outside = any(record.untrusted for record, _, _ in found.records)
        return FromOutside(answer) if outside else answer

    properties = {
        "query": string(),
        "records": {"type": "array", "items": {"enum": list(RECORDS)}},
        "layers": older({"type": "array", "items": {"enum": ALIASES}}),
        "depth": number(0, DEEPEST, f"Steps along the graph; {DEPTH}."),
        "sort": {"enum": ["relevance", "recent"]},
        "limit": number(1, MOST, f"{LIMIT}."),
    }
    return BuiltinTool(entry("memory_recall", properties, ("query",), guest=True), run)


def _wanted(args: Mapping[str, object]) -> _Asked:
    depth, limit = args.get("depth"), args.get("limit")
    return _Asked(
        records_of(args, "records", "layers"), depth if isinstance(depth, int) else DEPTH, args.get("sort") == "recent",
        limit if isinstance(limit, int) else LIMIT,
    )  # fmt: skip


def records_of(args: Mapping[str, object], *names: str) -> frozenset[str]:
    """The kinds of records that one of these parameters names, by either of their names; all where none does."""
    given = next((args[name] for name in names if args.get(name)), [])
    listed = given if isinstance(given, list) else [given]
    return frozenset(LAYERS.get(str(one).lower(), str(one)) for one in listed) or frozenset(RECORDS)


def _look(tx: Tx, ports: MemoryPorts, context: CallContext, question: Question, wanted: _Asked) -> _Found:
    """Of the scopes that may be read only, before any ranking: what is about the question, then what the graph says of
    whom it names."""
    parts = [_look_in(tx, ports, scope, context, question, wanted) for scope in reads(tx, context.scope)]
    return parts[0] if len(parts) == 1 else _together(parts, wanted)


def _together(parts: Sequence[_Found], wanted: _Asked) -> _Found:
    """Of an agent that an agent made: what it kept itself, and what its maker knows."""
    found = [one for part in parts for one in part.records]
    found.sort(key=lambda one: -(one[0].updated_at if wanted.recent else one[1]))
    absent = [word for word in parts[0].absent if all(word in part.absent for part in parts)]
    names = {peer: name for part in parts for peer, name in part.names.items()}
    return _Found(found[: wanted.limit], [one for part in parts for one in part.near][:RELATED], absent, names)


def _look_in(
    tx: Tx, ports: MemoryPorts, scope: str, context: CallContext, question: Question, wanted: _Asked
) -> _Found:
    project = inputs.project_of(tx, context.turn)
    asked_for = Wanted(scope, wanted.records, ports.wall(), project)
    hits = ports.ranker.records(tx, wanted=asked_for, query=question, limit=wanted.limit)
    scores = {hit.id: hit.score for hit in hits}
    named = met.entities(tx, ports.ranker, scope, question)
    depth = wanted.depth
    reached = graph.recall(tx, scope=scope, names=named, depth=depth) if named else graph.Reached()
    held = {record.id: record for record in _records(tx, scope, scores)}
    found = [held[id_] for id_ in scores if id_ in held]
    if "fact" in wanted.records:
        found += [record for record in reached.facts if record.id not in scores and record.project in ("", project)]
    if wanted.recent:
        found.sort(key=lambda record: -record.updated_at)
    told = [(record, scores.get(record.id, 0.0), evidence.mark(tx, record)) for record in found[: wanted.limit]]
    absent = ports.ranker.absent(tx, scope=scope, query=question.text)
    names = speakers.names(tx, scope, [record.observed for record, _, _ in told])
    return _Found(told, list(reached.vouched[:RELATED]), absent, names)


def _records(tx: Tx, scope: str, ids: Collection[str]) -> list[Record]:
    return stable.select(
        tx, "id IN (SELECT value FROM json_each(?)) AND +scope = ? AND +status = 'active'", (dumps(sorted(ids)), scope)
    )


def _answer(found: _Found, peer: str) -> dict[str, object]:
    absent = {"absent": ABSENT.format(words=", ".join(map(notes.neutral, found.absent)))} if found.absent else {}
    if not found.records:
        return {"found": [], "note": NOT_FOUND, **absent}
    near = {"related": [f"{notes.neutral(one.name)} ({one.type})" for one in found.near]} if found.near else {}
    return {"found": [shown(*one, peer, found.names) for one in found.records], **near, **absent}


def shown(record: Record, score: float, mark: str, peer: str, names: Mapping[str, str]) -> dict[str, object]:
    """A record as a tool shows it to a turn of ``peer``; ``names``: of a group's members."""
    other = known.whose(record, peer, names)
    title = {"title": notes.neutral(record.title)} if record.title else {}
    doubt = {"untrusted": True} if record.untrusted else {}
    return {
        "id": record.shown_id, "record": record.record, "kind": record.kind, **title,
        **({"of": other} if other else {}),
        "text": notes.neutral(record.text), "evidence": mark or "none", "confidence": record.confidence_word,
        "at": datetime.fromtimestamp(record.updated_at).astimezone().strftime("%Y-%m-%d"),
        **({"score": round(score, 2)} if score else {}), **doubt,
    }  # fmt: skip
