"""What the stable layer knows of what a turn is about: an index of it for the prompt, never the whole.

The names that are met in the input lead into the graph; the ranker finds what else is about it.  A fact that was
superseded, hidden or is doubted is not told as what holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from homed.agent import notes
from homed.memory import evidence, graph, speakers, stable
from homed.memory.stable import Record
from homed.memory.tokens import estimate_tokens
from homed.retrieval import met, saying
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.stable import Wanted
from homed.store.rows import Tx, dumps

FACTS = 8
"""Facts that are told at the most, the best; ``memory_recall`` gives the others."""

NAMES = 6
"""Names that the index names."""

KINDS = ("fact", "capsule")
"""Records that are told by themselves before others."""

SUMMARIES = 2
"""Summaries of turns that are told behind them: of what became no fact, they are all that still comes by itself."""

TOKENS = 450
"""Tokens of all facts and the index: about what 1 400 characters take."""

EACH = 120
"""Of one fact."""

SMALL_TOKENS = 60
"""Tokens of all facts for a model that is offered no tools; the notes get what they leave."""

EARLIER_TOKENS = 40
"""Tokens of a fact that was told in an earlier turn, whose answer stands behind it."""

LEAST = 12
"""Tokens below which a fact is not worth telling cut."""

LOOKED = 8
"""Summaries that are looked at for each that is told: the same may have been asked often."""

_SAME_TURN = (
    "SELECT v.record FROM evidence v JOIN events e ON e.id = v.event"
    " WHERE v.record IN (SELECT value FROM json_each(?1)) AND e.turn <> '' AND e.turn IN"
    " (SELECT f.turn FROM evidence w JOIN events f ON f.id = w.event"
    " WHERE w.record IN (SELECT value FROM json_each(?2)))"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A record that may be told.  ``mark``: where it comes from (source, pointer, manual, or ''); ``names``: of the
    member of a group that it is of, if it has one."""

    record: Record
    mark: str
    score: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """``facts``, the best first; ``names`` of the entities that are met or near, the met ones first; ``count``: facts
    there are in all; ``below``: that the question is too little about."""

    facts: tuple[Fact, ...] = ()
    names: tuple[str, ...] = ()
    count: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True)
class About:
    """What is asked of the stable layer of a scope.  ``without``: entities that the model has before it already;
    ``project``: that is worked in."""

    scope: str
    question: Question
    gate: float
    now: float
    without: frozenset[str] = field(default_factory=frozenset)
    project: str = ""

    def wanted(self, records: Iterable[str]) -> Wanted:
        """These records, for the ranker."""
        return Wanted(self.scope, frozenset(records), self.now, self.project)

    def within(self, record: Record) -> bool:
        """Whether it may be told there: everywhere, or in its own project."""
        return record.reach == "user" or (record.project == self.project != "")


def look(tx: Tx, ranker: Ranker, about: About) -> Known:
    """The best of what is known."""
    hits = ranker.records(tx, wanted=about.wanted(KINDS), query=about.question, limit=2 * FACTS)
    scores = {hit.id: hit.score for hit in hits if hit.score >= about.gate}
    named = [one for one in met.entities(tx, ranker, about.scope, about.question) if one not in about.without]
    reached = graph.recall(tx, scope=about.scope, names=named) if named else graph.Reached()
    asked = _records(tx, about.scope, scores)
    asked.sort(key=lambda one: -scores[one.id])
    found = {record.id: record for record in (*asked, *reached.facts) if not _names(record) & about.without}
    held = [record for record in found.values() if about.within(record)]
    facts = [_fact(tx, one, scores.get(one.id, 0.0)) for one in held[:FACTS]]
    turns = _summaries(tx, ranker, about, [fact.record.id for fact in facts])
    names = tuple(entity.name for entity in reached.vouched if entity.id not in about.without)
    below = sum(hit.score < about.gate for hit in hits)
    return Known((*facts, *turns), names, len(held) + len(turns), below)


def together(parts: Sequence[Known]) -> Known:
    """What several scopes know as one; a fact's score means the same in each."""
    facts = sorted((fact for part in parts for fact in part.facts), key=lambda fact: -fact.score)
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    left = len(facts) - FACTS
    return Known(
        tuple(facts[:FACTS]), names, sum(part.count for part in parts), sum(part.below for part in parts) + max(0, left)
    )


def by_ids(tx: Tx, scope: str, ids: Iterable[str]) -> dict[str, Fact]:
    """These records, so far as they still hold."""
    return {record.id: _fact(tx, record) for record in _records(tx, scope, ids)}


def _summaries(tx: Tx, ranker: Ranker, about: About, told: Sequence[str]) -> list[Fact]:
    """Those of turns that none of the facts that are told comes from.  What only asked the same counts half."""
    most = LOOKED * SUMMARIES + len(told)
    hits = ranker.records(tx, wanted=about.wanted(["summary"]), query=about.question, limit=most)
    near = {hit.id: hit.score for hit in hits if hit.score >= about.gate}
    asks = {one.id: saying.asking(one.text) for one in _records(tx, about.scope, near)}
    near = {id_: score * (1 - asks.get(id_, 0.0) / 2) for id_, score in near.items()}
    same = {id_ for (id_,) in tx.all(_SAME_TURN, (dumps(sorted(near)), dumps(list(told))))}
    found = [one for one in _records(tx, about.scope, near.keys() - same) if about.within(one)]
    found.sort(key=lambda one: -near[one.id])
    return [_fact(tx, one, near[one.id]) for one in found[:SUMMARIES]]


def _fact(tx: Tx, record: Record, score: float = 0.0) -> Fact:
    mark = evidence.mark(tx, record)
    # what a turn was is nobody's words, however sure it is which turn it was
    names = speakers.names(tx, record.scope, [record.observed])
    return Fact(record, "pointer" if record.record == "summary" and mark == "source" else mark, score, names)


def write(known: Known, *, peer: str, tokens: int) -> tuple[list[str], tuple[Fact, ...]]:
    """Lines for the prompt in no more than ``tokens``, and which facts they tell.  Nothing when nothing fits."""
    lines, told, left = [], [], min(TOKENS, tokens)
    for fact in known.facts:
        text = line(fact, min(EACH, left), peer)
        if not text:
            break
        lines.append(text)
        told.append(fact)
        left -= estimate_tokens(text)
    index = _index(known, len(told))
    if index and estimate_tokens(index) <= left:
        lines.append(index)
    return lines, tuple(told)


def write_small(known: Known, *, peer: str, tokens: int) -> tuple[list[str], tuple[Fact, ...]]:
    """The same for a small model: what is known, and no more; only what is about its question."""
    lines, told, left = [], [], min(SMALL_TOKENS, tokens)
    for fact in known.facts:
        other = whose(fact.record, peer, fact.names)
        said = _asked(fact) if fact.record.record == "summary" else _said(fact)
        text = f"- Of {other}: {said}" if other else f"- {said}"
        if fact.score and (cost := estimate_tokens(text)) <= left:
            lines.append(text)
            told.append(fact)
            left -= cost
    return lines, tuple(told)


def whose(record: Record, peer: str, names: Mapping[str, str]) -> str:
    """Of whom a record is, where that is another member of a group than ``peer``, who speaks now: '' for all others.

    It says "the user" of whoever said it, and a group has many.  ``names``: of its members.
    """
    other = record.observed if speakers.is_group(record.scope) and record.observed != peer else ""
    return notes.speaker(other, names) if other else ""


def line(fact: Fact, tokens: int, peer: str) -> str:
    """One fact as it is told to a turn of ``peer``: what it is, whose, where it comes from, its words and its id; ''
    when that does not fit."""
    record, other = fact.record, whose(fact.record, peer, fact.names)
    what = "summary" if record.record == "summary" else record.kind
    outside = "from outside, not checked" if record.untrusted else ""
    marks = filter(None, [what, other and f"of {other}", fact.mark, outside])
    head, tail = f"- [{' · '.join(marks)}] ", f" (id:{record.shown_id})"
    text, room = _said(fact), tokens - estimate_tokens(head + tail)
    if room < LEAST:
        return ""
    if estimate_tokens(text) > room:
        text = _cut(text, room)
    return f"{head}{text}{tail}"


def _cut(text: str, room: int) -> str:
    words, shown = text.split(" "), ""
    if len(words) < 3:  # nothing to part at: a script without blanks
        words = list(text)
    between = " " if " " in text and len(words) == len(text.split(" ")) else ""
    for at in range(len(words), 0, -1):
        shown = f"{between.join(words[:at])}…"
        if estimate_tokens(shown) <= room:
            return shown
    return ""


def _said(fact: Fact) -> str:
    record = fact.record
    if record.record == "summary":
        parts = [notes.neutral(part) for part in record.text.split("\n") if part.strip() not in ("", "-")]
        return " → ".join(" ".join(part.split()) for part in parts)
    title = f"{record.title}: " if record.title else ""
    return " ".join(notes.neutral(f"{title}{record.text}").split())


def _asked(fact: Fact) -> str:
    """What the person said, of a turn: the first line of its summary.  Of a question it is the answer that counts."""
    first = fact.record.text.partition("\n")[0]
    return _said(fact) if saying.asking(first) else " ".join(notes.neutral(first).split())


def _index(known: Known, told: int) -> str:
    more = known.count - told
    if not known.names or more <= 0:
        return ""
    names = ", ".join(notes.neutral(name) for name in known.names[:NAMES])
    others = f" and {len(known.names) - NAMES} others" if len(known.names) > NAMES else ""
    return f"- {more} more facts are known, of {names}{others}: `memory_recall` gives them."


def _names(record: Record) -> frozenset[str]:
    return frozenset(filter(None, (record.subject, record.object_entity)))


def _records(tx: Tx, scope: str, ids: Iterable[str]) -> list[Record]:
    """Those of these that hold now, in any project."""
    return stable.select(
        tx, "id IN (SELECT value FROM json_each(?)) AND +scope = ? AND +status = 'active'", (dumps(sorted(ids)), scope)
    )


def ids_of(told: Mapping[str, object]) -> Sequence[str]:
    """The records that a ledger entry says were told."""
    listed = told.get("facts")
    return [str(id_) for id_ in listed] if isinstance(listed, list) else []
