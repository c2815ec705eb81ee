"""What a pass found becomes memory, and what it was found in becomes evidence: in one transaction.

So whatever ends the daemon in between, either nothing was made of a turn, and a pass is owed to it, or all was, with
what was stopped on the way counted at its gates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from homed.jobs.transcript import outline
from homed.memory import capsules, cooling, dedupe, evidence, facts, hiding, passes, stable, tombstones
from homed.memory.blocked import cleaned
from homed.memory.capsules import NewCapsule
from homed.memory.cooling import Piece, Rule
from homed.memory.evidence import Evidence, Pointer
from homed.memory.facts import Put
from homed.memory.newfact import NewFact
from homed.memory.records import EventKind
from homed.memory.seen import seen
from homed.memory.speakers import is_group
from homed.memory.stable import Record
from homed.retrieval import index
from homed.store.rows import SqlValue, Tx, dumps


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
    """What a pass made of some turns; ``by`` is the mark that their events get, '' when there was no answer that can be
    used.  ``drops``: what was stopped before it came here, by gate.  ``shown``: texts of records, by id, that a model
    was shown: where one was forgotten or changed since, its answer may hold the words of before."""

    by: str
    facts: tuple[Found, ...] = ()
    summaries: tuple[Summary, ...] = ()
    matters: tuple[Matter, ...] = ()
    drops: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """A record that is new or says more: its kind, what became of it, and the events it rests on."""

    id: str
    record: str
    outcome: str
    events: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stored:
    """What came of it: records that are new or say more, what was dropped at which gate, and events archived."""

    kept: tuple[Kept, ...] = ()
    drops: Mapping[str, int] = field(default_factory=dict)
    archived: int = 0

    @property
    def made(self) -> int:
        """How many records."""
        return len(self.kept)

    @property
    def changed(self) -> bool:
        """Whether nothing at all was written, since what was read is not as it was."""
        return "changed" in self.drops


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How it is kept.  ``at``: now, UTC seconds; ``rule``: what has cooled by it goes to the archive, None: nothing;
    ``owed``: a pass is still owed to these turns, and their events are not covered; ``writing``: called before the end
    of the transaction."""

    at: float
    rule: Rule | None = None
    owed: bool = False
    writing: Callable[[], None] = lambda: None


def store(tx: Tx, pieces: Sequence[Piece], extracted: Extracted, keeping: Keeping) -> Stored:
    """Put the facts, summaries and capsules, mark the events, settle what was owed, and count at the gates.

    If any event that was read is gone, private or covered by now, or a record that was shown is not as it was, nothing
    at all is written, and ``changed`` says so: what was made of it may hold its words.
    """
    if not (unchanged(tx, pieces) and _as_shown(tx, extracted.shown)):
        return Stored(drops={"changed": len(pieces)})
    kept, drops = put_all(tx, extracted.facts, keeping.at)
    drops.update(extracted.drops)
    for summary in extracted.summaries:
        kept += _shown(tx, _summarise(tx, summary, keeping.at, drops), keeping.at, drops)
    for matter in extracted.matters:
        put = capsules.put_capsule(tx, matter.capsule, matter.evidence, at=keeping.at)
        kept += _shown(tx, _counted(put, "capsule", matter.evidence, drops), keeping.at, drops)
    if extracted.summaries or extracted.matters:
        index.catch_up(tx)
    turns = [piece.turn for piece in pieces]
    if keeping.owed:
        passes.told(tx, turns)
    else:
        for piece in pieces:
            cooling.cover(tx, piece.fresh, extracted.by)
        passes.settle(tx, turns)
    passes.count(tx, pieces[0].scope, drops, at=keeping.at)
    keeping.writing()
    archived = sum(cooling.archive(tx, turn, keeping.rule) for turn in turns) if keeping.rule is not None else 0
    return Stored(tuple(kept), dict(+drops), archived)


def put_all(tx: Tx, found: Sequence[Found], at: float) -> tuple[list[Kept], Counter[str]]:
    """Have these statements stored; those that are facts now or say more, and at which gates the others stayed."""
    drops: Counter[str] = Counter()
    kept: list[Kept] = []
    for one in found:
        kept += _counted(facts.put(tx, one.fact, one.evidence, at=at), "fact", one.evidence, drops)
    index.catch_up(tx)
    return kept, drops


def _counted(put: Put, record: str, rests: Sequence[Evidence], drops: Counter[str]) -> list[Kept]:
    if gate := _gate(put):
        drops[gate] += 1
        return []
    return [Kept(put.record, record, put.outcome, frozenset(piece.event for piece in rests))]


def _shown(tx: Tx, kept: Sequence[Kept], at: float, drops: Counter[str]) -> list[Kept]:
    """Those that say more than what a person has hidden of these turns meanwhile, without that."""
    found = [(one, stable.get(tx, one.id)) for one in kept]
    shown = [one for one, record in found if record is not None and not hiding.withheld(tx, record, at=at)]
    drops["forgotten"] += len(kept) - len(shown)
    return shown


def _gate(put: Put) -> str:
    """At which gate it stayed; '' if it is a record now, or says more.

    As refused (secret, forgotten, evidence, invalid), ``tainted`` (strangers' words, of what a person said already),
    ``manual`` (a person wrote it, and it is theirs to change), ``known``, or ``conflict`` (kept for a person to decide,
    or as history).
    """
    if put.outcome == "refused":
        return put.why.partition(":")[0]
    if put.outcome == "same":
        return {"untrusted": "tainted", "manual": "manual"}.get(put.why, "known")
    return "conflict" if put.outcome == "conflict" else ""


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


def _as_shown(tx: Tx, shown: Mapping[str, str]) -> bool:
    """Whether these records say what they said, and none was hidden."""
    if not shown:
        return True
    rows = tx.all(
        "SELECT id, text FROM records WHERE status <> 'hidden' AND id IN (SELECT value FROM json_each(?))",
        (dumps(sorted(shown)),),
    )
    return {str(id_): str(text) for id_, text in rows} == shown


def summaries(tx: Tx, pieces: Sequence[Piece]) -> list[Record]:
    """Those that rest on these turns already, oldest first."""
    ids = [event.id for piece in pieces for event in piece.events]
    return stable.select(
        tx,
        "record = 'summary' AND id IN (SELECT v.record FROM evidence v"
        " WHERE v.event IN (SELECT value FROM json_each(?))) ORDER BY seq",
        (dumps(ids),),
    )


def _summarise(tx: Tx, summary: Summary, at: float, drops: Counter[str]) -> list[Kept]:
    """Store it, or have it say better what the one without a model says: a turn has one summary."""
    scope = summary.pieces[0].scope
    said = seen(summary.text)
    text = cleaned(said)[: stable.LONGEST["summary"]]
    pointers = [Pointer(event.id) for piece in summary.pieces for event in piece.events if _spoken(event.kind)]
    rests, _ = evidence.usable(tx, scope, pointers)
    known = summaries(tx, summary.pieces)
    better = len(known) == 1 and _improves(known[0], summary)
    why = (
        "empty" if not dedupe.normal(text) else "forgotten" if tombstones.buried(tx, scope, text)
        else "known" if known and not better else "" if rests else "evidence"
    )  # fmt: skip
    if why:
        drops[why] += 1
        return []
    drops["redacted"] += text != said[: stable.LONGEST["summary"]]
    values = _columns(summary, text)
    if better:
        record, outcome = known[0].id, "improved"
        stable.revise(tx, known[0], values, why=summary.extractor, at=at)
    else:
        fixed = {"scope": scope, "record": "summary", "kind": "turn", "origin": "auto"}
        record, outcome = stable.insert(tx, {**fixed, **values}, at=at), "new"
    evidence.add(tx, record, rests, at=at)
    stable.evict(tx, scope, "summary", at=at)
    return [Kept(record, "summary", outcome, frozenset(pointer.event for pointer in pointers))]


def _improves(known: Record, summary: Summary) -> bool:
    """Whether one that a model wrote may take the place of what was put together without one."""
    return (known.extractor, known.origin, known.status) == ("fallback", "auto", "active") and (
        summary.extractor == "model"
    )


def _columns(summary: Summary, text: str) -> dict[str, SqlValue]:
    project = project_of(summary.pieces)
    return {
        "title": cleaned(" ".join(seen(summary.request).split()))[:80], "text": text, "key": dedupe.key(text),
        "tags": dumps([tag for tag in map(seen, summary.tags) if tag == cleaned(tag)]),
        "importance": summary.importance,
        "observed": whose(summary.pieces), "reach": "project" if project else "user", "project": project,
        "untrusted": int(any(piece.tainted or piece.foreign for piece in summary.pieces)),
        "extractor": summary.extractor,
    }  # fmt: skip


def project_of(pieces: Sequence[Piece]) -> str:
    """The key of the project that all of these were said in; '' for none, and for several."""
    found = {piece.project for piece in pieces}
    return found.pop() if len(found) == 1 else ""


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
