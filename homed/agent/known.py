"""What the stable layer knows of what a turn is about: what may be told of it, and what is told whatever it is about.

The names that are met in the input lead into the graph; the ranker finds what else is about it, and the gate says how
much of that is.  What was superseded, hidden or is doubted is not told as what holds.  Which of it is told, and in how
much room, is `homed.agent.bands`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from homed.agent import bands, notes
from homed.agent.bands import Limits
from homed.agent.lines import Fact as Fact
from homed.agent.lines import whose as whose
from homed.memory import evidence, graph, origins, speakers, stable
from homed.memory.stable import Record
from homed.retrieval import met, saying
from homed.retrieval.asking import Question
from homed.retrieval.rank import Hit, Ranker
from homed.retrieval.stable import Wanted
from homed.store.rows import Tx, dumps

NAMES = 6
"""Names that the index names."""

KINDS = ("fact", "capsule")
"""Records of which the ranker is asked first: summaries stand behind those of them that come from the same turn."""

ASKING = 0.5
"""Share of a summary that asks from which on it is one of a question."""

LOOKED = 8
"""Summaries that are looked at for each that is told: the same may have been asked often."""

NEWEST = 24
"""Summaries that are looked at where the latest are told: those of turns in view are not."""

_SAME_TURN = (
    "SELECT v.record FROM evidence v JOIN events e ON e.id = v.event"
    " WHERE v.record IN (SELECT value FROM json_each(?1)) AND e.turn <> '' AND e.turn IN"
    " (SELECT f.turn FROM evidence w JOIN events f ON f.id = w.event"
    " WHERE w.record IN (SELECT value FROM json_each(?2)))"
)
_TURNS = (
    "SELECT v.record, e.thread, e.turn FROM evidence v JOIN events e ON e.id = v.event"
    " WHERE v.record IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class Known:
    """What may be told, no more of each kind than the limits say: ``facts`` the question led to, the best first;
    ``active`` what is told whatever it is, the weightiest first.

    ``names`` of the entities that are met or near, the met ones first; ``count``: records there are in all; ``below``:
    that the question is too little about; ``sunk``: the best of those, by id, with their relevance.
    """

    facts: tuple[Fact, ...] = ()
    active: tuple[Fact, ...] = ()
    names: tuple[str, ...] = ()
    count: int = 0
    below: int = 0
    sunk: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class About:
    """What is asked of the stable layer of a scope.  ``without``: entities that the model has before it already;
    ``project``: that is worked in; ``thread``: that it is asked in, ``seen``: turns whose events are in view;
    ``limits``: of what may be told, None for what is about the question alone."""

    scope: str
    question: Question
    gate: float
    now: float
    without: frozenset[str] = field(default_factory=frozenset)
    project: str = ""
    thread: str = ""
    seen: frozenset[str] = field(default_factory=frozenset)
    limits: Limits = field(default_factory=Limits)

    def wanted(self, records: Iterable[str]) -> Wanted:
        """These records, for the ranker."""
        return Wanted(self.scope, frozenset(records), self.now, self.project)

    def least(self, record: Record) -> float:
        """The relevance that it must have."""
        read = record.record == "summary" and record.extractor == "model"
        return max(self.gate, bands.READ) if read else self.gate

    def within(self, record: Record) -> bool:
        """Whether it may be told there: everywhere, or in its own project."""
        return record.reach == "user" or (record.project == self.project != "")


SUNK = 8
"""Records that were found and not told for their relevance of which the ledger knows."""


def look(tx: Tx, ranker: Ranker, about: About) -> Known:
    """The best of what is known.  A message that says little by itself is about what was last, unless something is
    surely meant; one that only says "go on" always is."""
    text = about.question.text
    found = Known() if bands.continues(text) else _about(tx, ranker, about)
    if bands.continues(text) or (bands.says_little(text) and not _tells(found)):
        found = Known(_latest(tx, about), below=found.below)
    chosen = bands.capped(found.facts, about.limits)
    active = bands.standing(_active(tx, about), chosen, about.limits) if about.limits.window else []
    marked = [tuple(_marked(tx, fact) for fact in some) for some in (chosen, active)]
    return replace(found, facts=marked[0], active=marked[1])


def together(parts: Sequence[Known]) -> Known:
    """What several scopes know as one; a record's score means the same in each."""
    facts = sorted((fact for part in parts for fact in part.facts), key=lambda fact: -fact.score)
    active = sorted((fact for part in parts for fact in part.active), key=lambda fact: _weight(fact.record))
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    sunk = {id_: relevance for part in parts for id_, relevance in part.sunk.items()}
    return Known(
        tuple(facts), tuple(active), names, sum(part.count for part in parts), sum(part.below for part in parts), sunk
    )


def by_ids(tx: Tx, scope: str, ids: Iterable[str]) -> dict[str, Fact]:
    """These records, so far as they still hold."""
    return {record.id: _marked(tx, Fact(record, "")) for record in _records(tx, scope, ids)}


def index(known: Known, told: int) -> str:
    """A line that says how much more is known of the names that were met; '' where there is nothing to say."""
    more = known.count - told
    if not known.names or more <= 0:
        return ""
    names = ", ".join(notes.neutral(name) for name in known.names[:NAMES])
    others = f" and {len(known.names) - NAMES} others" if len(known.names) > NAMES else ""
    return f"- {more} more facts are known, of {names}{others}: `memory_recall` gives them."


def _about(tx: Tx, ranker: Ranker, about: About) -> Known:
    """What the question is about, and what the names in it lead to."""
    most = about.limits.facts + about.limits.capsules
    hits = ranker.records(tx, wanted=about.wanted(KINDS), query=about.question, limit=2 * most)
    near = {hit.id: hit for hit in hits if hit.relevance >= about.gate}
    named = [one for one in met.entities(tx, ranker, about.scope, about.question) if one not in about.without]
    reached = graph.recall(tx, scope=about.scope, names=named) if named else graph.Reached()
    asked = _records(tx, about.scope, near)
    asked.sort(key=lambda one: -near[one.id].score)
    led, met_ = _onward(reached, frozenset(named))
    found = {record.id: record for record in (*asked, *led) if not _names(record) & about.without}
    held = [record for record in found.values() if about.within(record)]
    facts = [_hit(one, near[one.id]) if one.id in near else Fact(one, "", why="graph") for one in held[: 2 * most]]
    told = [fact.record.id for fact in bands.capped(facts, about.limits)]
    turns = _summaries(tx, ranker, about, told)
    # stable: what a name led to stays as it came; what asks stands behind what states, however alike it is
    facts = sorted((*facts, *turns), key=lambda fact: (_asks(fact.record), -fact.score))
    names = tuple(entity.name for entity in reached.vouched if entity.id in met_ - about.without)
    below = [hit for hit in hits if hit.relevance < about.gate]
    sunk = {hit.id: hit.relevance for hit in below[:SUNK]}
    return Known(tuple(facts), (), names, len(held) + len(turns), len(below), sunk)


def _summaries(tx: Tx, ranker: Ranker, about: About, told: Sequence[str]) -> list[Fact]:
    """Those of turns that none of the facts that are told comes from, and of this conversation's that are out of view.
    What only asked the same counts half; what a model wrote of a turn that it has read, only what is clearly meant."""
    most = LOOKED * about.limits.summaries + len(told)
    hits = ranker.records(tx, wanted=about.wanted(["summary"]), query=about.question, limit=most)
    near = {hit.id: hit for hit in hits if hit.relevance >= about.gate}
    records = _records(tx, about.scope, near)
    near = {one.id: near[one.id] for one in records if near[one.id].relevance >= about.least(one)}
    asks = {one.id: saying.asking(one.text) for one in records}
    near = {id_: replace(hit, score=hit.score * (1 - asks[id_] / 2)) for id_, hit in near.items()}
    same = {id_ for (id_,) in tx.all(_SAME_TURN, (dumps(sorted(near)), dumps(list(told))))}
    rows = tx.all(_TURNS, (dumps(sorted(near)),))
    same |= {id_ for id_, thread, turn in rows if thread == about.thread and turn in about.seen}
    found = [one for one in _records(tx, about.scope, near.keys() - same) if about.within(one)]
    found.sort(key=lambda one: -near[one.id].score)
    return [_hit(one, near[one.id]) for one in found[: about.limits.summaries]]


def _asks(record: Record) -> bool:
    """Whether it is a summary of a question above all: what was asked is like the question that is asked again, but a
    fact answers it."""
    return record.record == "summary" and saying.asking(record.text) > ASKING


def _active(tx: Tx, about: About) -> list[Fact]:
    """The Active Window, as far as anything may stand there: the weightiest first."""
    limits = about.limits
    found = stable.select(
        tx,
        "scope = ? AND status = 'active' AND importance >= ? AND record IN ('fact', 'capsule') AND untrusted = 0"
        " AND (reach = 'user' OR project = ?) AND (record = 'capsule' OR importance >= ?"
        " OR kind IN (SELECT value FROM json_each(?)))"
        " ORDER BY importance DESC, cited DESC, updated_at DESC, id LIMIT ?",
        (
            about.scope, limits.importance, about.project, bands.ANY_KIND, dumps(list(bands.LASTING)),
            limits.window_items + limits.facts + limits.capsules,
        ),
    )  # fmt: skip
    held = [record for record in found if about.within(record) and not _names(record) & about.without]
    return [Fact(record, "", why="active") for record in held]


def _latest(tx: Tx, about: About) -> tuple[Fact, ...]:
    """What was last: summaries of this conversation's turns that are out of view, then of the project's; then the
    weightiest wholes.  Nothing made of strangers' words: nobody asked for it."""
    newest = stable.select(
        tx,
        "scope = ? AND record = 'summary' AND status = 'active' AND +untrusted = 0 AND (+reach = 'user' OR project = ?)"
        " ORDER BY seq DESC LIMIT ?",
        (about.scope, about.project, NEWEST),
    )
    rows = tx.all(_TURNS, (dumps([record.id for record in newest]),))
    threads = {record: thread for record, thread, _ in rows}
    seen = {record for record, _, turn in rows if turn in about.seen}
    held = [record for record in newest if record.id not in seen and about.within(record)]
    held.sort(key=lambda record: threads.get(record.id) != about.thread)
    wholes = stable.select(
        tx,
        "scope = ? AND record = 'capsule' AND status = 'active' AND +untrusted = 0 AND (+reach = 'user' OR project = ?)"
        " ORDER BY importance DESC, updated_at DESC, id LIMIT ?",
        (about.scope, about.project, about.limits.capsules),
    )
    chosen = (*held[: about.limits.summaries], *filter(about.within, wholes))
    return tuple(Fact(record, "", why="latest") for record in chosen)


PROPER = ("person", "place", "organisation", "project")
"""What has a name of its own: what is said of others with it is told where it is named.  A thing is a word."""


def _onward(reached: graph.Reached, named: frozenset[str]) -> tuple[list[Record], frozenset[str]]:
    """The facts that the names lead to, and whom: what is said of them, and of what that leads to.

    Never back by way of what they are said of: whoever asks how tea is made need not be told all about everybody who
    drinks it.
    """
    proper = {entity.id for entity in reached.entities if entity.type in PROPER} & named
    kept, met_ = [], set(named)
    for fact in reached.facts:  # of the nearest first
        if fact.subject in met_:
            kept.append(fact)
            met_ |= {fact.object_entity} if fact.object_entity else set()
        elif fact.object_entity in proper:
            kept.append(fact)
    return kept, frozenset(met_)


def _tells(found: Known) -> bool:
    """Whether a message of a word or two means something after all: what it is surely about, or a name it holds."""
    return any(one.relevance >= bands.SURE or one.why == "graph" for one in found.facts)


def _hit(record: Record, hit: Hit) -> Fact:
    return Fact(record, "", hit.score, relevance=hit.relevance, parts=hit.parts)


def _marked(tx: Tx, fact: Fact) -> Fact:
    """With where it comes from, and whose words from outside are in it: both are looked up in its evidence."""
    record, mark = fact.record, evidence.mark(tx, fact.record)
    # what a turn was is nobody's words, however sure it is which turn it was
    mark = "pointer" if record.record == "summary" and mark == "source" else mark
    names, outside = speakers.names(tx, record.scope, [record.observed]), origins.of_record(tx, record)
    return replace(fact, mark=mark, names=names, origins=outside)


def _weight(record: Record) -> tuple[float, ...]:
    return (-record.importance, -record.cited, -record.updated_at)


def _names(record: Record) -> frozenset[str]:
    return frozenset(filter(None, (record.subject, record.object_entity)))


def _records(tx: Tx, scope: str, ids: Iterable[str]) -> list[Record]:
    """Those of these that hold now, in any project."""
    return stable.select(
        tx, "id IN (SELECT value FROM json_each(?)) AND +scope = ? AND +status = 'active'", (dumps(sorted(ids)), scope)
    )
