"""What a turn is told unasked, written out: facts, notes of events, and short what its conversation was told before.

Pure.  All of it shares what memory may take of the window; the newest message's own comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from homed.agent import known, notes
from homed.agent.known import Fact, Known
from homed.agent.reading import Found, Wanted
from homed.memory.records import Event
from homed.memory.tokens import estimate_tokens
from homed.prompts.loader import load


@dataclass(frozen=True, slots=True)
class Texts:
    """The prompt texts of this room."""

    snapshot: str
    snapshot_small: str
    snapshot_earlier: str


def load_texts() -> Texts:
    """Read them from the package."""
    return Texts(*(load(field.name) for field in fields(Texts)))


@dataclass(frozen=True, slots=True)
class Told:
    """``snapshot``: the message before the input, '' for none; ``earlier``: those of earlier turns, by turn.

    ``hits`` and ``facts`` are what the snapshot tells, ``again`` and ``again_facts`` what the others do; ``tokens`` of
    all.
    """

    snapshot: str = ""
    hits: tuple[Event, ...] = ()
    facts: tuple[Fact, ...] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    again: tuple[Event, ...] = ()
    again_facts: tuple[Fact, ...] = ()
    tokens: int = 0

    @property
    def untrusted(self) -> bool:
        """Whether a fact made of words of strangers is told."""
        return any(fact.record.untrusted for fact in (*self.facts, *self.again_facts))


def tell(texts: Texts, wanted: Wanted, found: Found, *, peer: str) -> Told:
    """Write it.  A fact that an earlier note in view tells already is not told once more."""
    before = {fact.record.id for told in found.facts.values() for fact in told}
    snapshot = _snapshot(texts, wanted, found, peer, before)
    again = _earlier(texts, found, peer, wanted.budget.memory - snapshot.tokens)
    shown = {fact.record.id for fact in again.again_facts}
    if before - shown:  # no room for them there: then here
        snapshot = _snapshot(texts, wanted, found, peer, shown, spent=again.tokens)
    return Told(
        snapshot.snapshot, snapshot.hits, snapshot.facts, again.earlier, again.again, again.again_facts,
        snapshot.tokens + again.tokens,
    )  # fmt: skip


def _snapshot(texts: Texts, wanted: Wanted, found: Found, peer: str, without: Collection[str], spent: int = 0) -> Told:
    events, left = [event for event, _ in found.hits], wanted.budget.memory - spent
    if wanted.small:
        left = min(notes.SMALL_TOKENS, left)
        lines, facts = known.write_small(found.known, peer=peer, tokens=left)
        left -= sum(map(estimate_tokens, lines))
        written, template = notes.write_small(events, peer=peer, tokens=left, names=found.names), texts.snapshot_small
    else:
        lines, facts = known.write(_but(found.known, without), peer=peer, tokens=left // 3)
        left -= sum(map(estimate_tokens, lines))
        written, template = notes.write(events, found.places, peer=peer, tokens=left, names=found.names), texts.snapshot
    if not (lines or written):
        return Told()
    text = notes.snapshot(template, [*lines, *(text for _, text in written)])
    told = {id_ for id_, _ in written}
    return Told(text, tuple(e for e in events if e.id in told), facts, tokens=estimate_tokens(text))


def _earlier(texts: Texts, found: Found, peer: str, left: int) -> Told:
    """What was told with earlier messages of this conversation, in short, the newest first."""
    made: dict[str, str] = {}
    again: list[Event] = []
    facts: list[Fact] = []
    spent = 0
    for turn in reversed(found.earlier):
        lines, told = _in_short(found.facts.get(turn, ()), left - spent, peer)
        events, limit = found.earlier[turn], notes.EARLIER_TOKENS
        tokens = min(limit * len(events), left - spent - sum(map(estimate_tokens, lines)))
        written = notes.write(events, found.places, peer=peer, tokens=tokens, each=limit, names=found.names)
        if lines or written:
            made[turn] = notes.snapshot(texts.snapshot_earlier, [*lines, *(text for _, text in written)])
            spent += estimate_tokens(made[turn])
            again += events
            facts += told
    return Told(earlier=made, again=tuple(again), again_facts=tuple(facts), tokens=spent)


def _in_short(facts: Collection[Fact], left: int, peer: str) -> tuple[list[str], list[Fact]]:
    lines: list[str] = []
    told: list[Fact] = []
    for fact in facts:
        text = known.line(fact, min(known.EARLIER_TOKENS, left), peer)
        if text:
            lines.append(text)
            told.append(fact)
            left -= estimate_tokens(text)
    return lines, told


def _but(what: Known, without: Collection[str]) -> Known:
    left = tuple(fact for fact in what.facts if fact.record.id not in without)
    return Known(left, what.names, what.count - (len(what.facts) - len(left)), what.below)
