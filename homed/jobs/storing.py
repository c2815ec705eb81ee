"""What a pass found becomes memory, and what it was found in becomes evidence: in one transaction.

So whatever ends the daemon in between, an event is either in the cold layer and nothing was made of it, or archived
with all that was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from homed.failpoints import Failpoints
from homed.jobs.transcript import outline
from homed.memory import capsules, cooling, dedupe, evidence, facts, stable, tombstones
from homed.memory.blocked import secret_in
from homed.memory.capsules import NewCapsule
from homed.memory.cooling import Piece, Rule
from homed.memory.evidence import Evidence, Pointer
from homed.memory.facts import Put
from homed.memory.newfact import NewFact
from homed.memory.records import EventKind
from homed.memory.speakers import is_group
from homed.retrieval import index
from homed.store.rows import Tx, dumps


@dataclass(frozen=True, slots=True)
class Found:
    """A statement and where it stands."""

    fact: NewFact
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the turns of ``pieces`` were."""

    request: str
    actions: str
    outcome: str
    importance: int
    tags: tuple[str, ...]
    extractor: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """Its three parts, a line each."""
        return "\n".join(" ".join(part.split()) for part in (self.request, self.actions, self.outcome))


FALLBACK_IMPORTANCE = 3


Topics = Callable[[str, int], Sequence[str]]
"""At most so many words that say what a text is about; none where that is not known."""

TOPICS = 5
"""Words that a summary which nobody wrote is tagged with."""


def unknown(_text: str, _most: int) -> Sequence[str]:
    """``Topics`` where nothing is known of words."""
    return ()


def told(piece: Piece, topics: Topics = unknown) -> Summary:
    """The summary of a turn that nobody wrote.  Its tags are words of its own: where it is forgotten, they are."""
    found = outline(piece)
    tags = () if piece.foreign else tuple(topics(found.request, TOPICS))
    return Summary(found.request, found.actions, found.outcome, FALLBACK_IMPORTANCE, tags, "fallback", (piece,))


@dataclass(frozen=True, slots=True)
class Matter:
    """A capsule, and what it rests on."""

    capsule: NewCapsule
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a pass made of some turns; ``by`` is the mark that their events get."""

    by: str
    facts: tuple[Found, ...] = ()
    summaries: tuple[Summary, ...] = ()
    matters: tuple[Matter, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What came of it: records that are new or say more, what was dropped at which gate, and events archived."""

    made: int = 0
    drops: Mapping[str, int] = field(default_factory=dict)
    archived: int = 0


def store(tx: Tx, pieces: Sequence[Piece], extracted: Extracted, rule: Rule, failpoints: Failpoints) -> Stored:
    """Put the facts and summaries, mark the events, and archive what is still cool.

    If any event that was read is gone, private or covered by now, nothing at all is written, and ``changed`` says so:
    what was made of it may hold its words.
    """
    if not unchanged(tx, pieces):
        return Stored(drops={"changed": len(pieces)})
    made, drops = put_all(tx, extracted.facts, rule.now)
    for summary in extracted.summaries:
        why = _summarise(tx, summary, rule.now)
        made += not why
        drops[why] += bool(why)
    for matter in extracted.matters:
        gate = _gate(capsules.put_capsule(tx, matter.capsule, matter.evidence, at=rule.now))
        made += not gate
        drops[gate] += bool(gate)
    drops.pop("", None)
    if extracted.summaries or extracted.matters:
        index.catch_up(tx)
    for piece in pieces:
        cooling.cover(tx, piece.fresh, extracted.by)
    failpoints.reach("distil.writing")
    archived = sum(cooling.archive(tx, piece.turn, rule) for piece in pieces)
    return Stored(made, dict(drops), archived)


def put_all(tx: Tx, found: Sequence[Found], at: float) -> tuple[int, Counter[str]]:
    """Have these statements stored; how many are facts now, and at which gates the others stayed."""
    drops = Counter(_gate(facts.put(tx, one.fact, one.evidence, at=at)) for one in found)
    index.catch_up(tx)
    return drops.pop("", 0), drops


def _gate(put: Put) -> str:
    """At which gate a statement stayed: as refused (secret, forgotten, evidence, invalid), ``known``, or ``conflict``
    (kept for a person to decide, or as history); '' if it is a fact now."""
    if put.outcome == "refused":
        return put.why.partition(":")[0]
    return {"same": "known", "conflict": "conflict"}.get(put.outcome, "")


def unchanged(tx: Tx, pieces: Sequence[Piece]) -> bool:
    """Whether every event that was read is there as it was, and no other pass has covered it since."""
    read = {event.id for piece in pieces for event in piece.events}
    fresh = {id_ for piece in pieces for id_ in piece.fresh}
    rows = tx.all(
        "SELECT id, pass FROM events WHERE id IN (SELECT value FROM json_each(?)) AND no_memory = 0"
        " AND EXISTS (SELECT 1 FROM threads h WHERE h.id = events.thread AND h.scope <> '')",
        (dumps(sorted(read)),),
    )
    return len(rows) == len(read) and {id_ for id_, by in rows if by in cooling.OPEN} == fresh


def summarised(tx: Tx, piece: Piece) -> bool:
    """Whether a summary rests on this turn already."""
    ids = [event.id for event in piece.events]
    return bool(
        tx.value(
            "SELECT 1 FROM evidence v JOIN records r ON r.id = v.record"
            " WHERE v.event IN (SELECT value FROM json_each(?)) AND r.record = 'summary' LIMIT 1",
            (dumps(ids),),
        )
    )


def _summarise(tx: Tx, summary: Summary, at: float) -> str:
    """Store it; why not, else ''."""
    scope = summary.pieces[0].scope
    text = summary.text[: stable.LONGEST["summary"]]
    if not dedupe.normal(text):
        return "empty"
    if secret_in(text):
        return "secret"
    if tombstones.buried(tx, scope, text):
        return "forgotten"
    if any(summarised(tx, piece) for piece in summary.pieces):
        return "known"
    pointers = [Pointer(event.id) for piece in summary.pieces for event in piece.events if _spoken(event.kind)]
    kept, _ = evidence.usable(tx, scope, pointers)
    if not kept:
        return "evidence"
    record = stable.insert(
        tx,
        {
            "scope": scope, "record": "summary", "kind": "turn", "title": summary.request[:80], "text": text,
            "key": dedupe.key(text), "tags": dumps(list(summary.tags)), "importance": summary.importance,
            "observed": whose(summary.pieces),
            "untrusted": int(any(piece.tainted or piece.foreign for piece in summary.pieces)), "origin": "auto",
            "extractor": summary.extractor,
        },
        at=at,
    )  # fmt: skip
    evidence.add(tx, record, kept, at=at)
    stable.evict(tx, scope, "summary", at=at)
    return ""


def whose(pieces: Sequence[Piece]) -> str:
    """Of whom what these say of "the user" is, as ``NewFact.observed``: in a group the one who spoke; '' elsewhere, and
    for several."""
    if not is_group(pieces[0].scope):
        return ""
    said = (event.peer for piece in pieces for event in piece.events if event.kind is EventKind.USER)
    peers = {*(piece.peer for piece in pieces), *filter(None, said)}
    return peers.pop() if len(peers) == 1 else ""


def _spoken(kind: EventKind) -> bool:
    return kind in (EventKind.USER, EventKind.ASSISTANT)
