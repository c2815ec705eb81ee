"""What a turn is told unasked, written out: facts, notes of events, and short what its conversation was told before.

Pure.  What is known has its own room in characters (`homed.agent.bands`), and all of it shares what memory may take of
the window; the newest message's own comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from homed.agent import bands, known, lines, notes
from homed.agent.bands import Placed, Plan
from homed.agent.known import Known
from homed.agent.lines import Fact
from homed.agent.reading import Found, Wanted
from homed.memory.injections import Line, Mode
from homed.memory.records import Event
from homed.memory.tokens import estimate_tokens
from homed.prompts.loader import load

SMALL_TOKENS = 60
"""Tokens of all facts for a model that is offered no tools; the notes get what they leave."""

SHARE = 3
"""Of what memory may take of the window, what is known takes no more than such a part."""

TRIES = 4
"""Plans that are made, each smaller, until one has no more tokens than that."""

ROUNDING = 2

NOBODY = ""
"""In the place of whoever speaks."""


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

    ``hits`` and ``plan`` are what the snapshot tells, ``lines`` the same for the ledger; ``again`` and ``again_facts``
    what the others do; ``tokens`` of all.
    """

    snapshot: str = ""
    hits: tuple[Event, ...] = ()
    plan: Plan = field(default_factory=Plan)
    lines: tuple[Line, ...] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    again: tuple[Event, ...] = ()
    again_facts: tuple[Fact, ...] = ()
    tokens: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Records that the snapshot tells."""
        return tuple(one.fact for one in self.plan.placed)

    @property
    def mode(self) -> Mode | None:
        """How it came to be told; None for nothing."""
        if not self.lines:
            return None
        return "hit" if self.hits and self.plan.mode == "background" else self.plan.mode

    @property
    def outside(self) -> frozenset[str]:
        """Whose words from outside are in what is told of the stable layer."""
        return frozenset().union(*(fact.outside for fact in (*self.facts, *self.again_facts)))


def tell(texts: Texts, wanted: Wanted, found: Found, *, peer: str) -> Told:
    """Write it.  A fact that a note of the last turns in view tells already, as it stands, is not told once more."""
    before = frozenset(key for keys in found.lately.values() for key in keys)
    snapshot = _snapshot(texts, wanted, found, peer, before)
    again = _earlier(texts, found, wanted.budget.memory - snapshot.tokens)
    shown = {fact.record.id for fact in again.again_facts}
    stands = frozenset(key for key in before if key[0] in shown)
    if before - stands:  # no room for them there: then here
        snapshot = _snapshot(texts, wanted, found, peer, stands, spent=again.tokens)
    return replace(
        snapshot, earlier=again.earlier, again=again.again, again_facts=again.again_facts,
        tokens=snapshot.tokens + again.tokens,
    )  # fmt: skip


def _snapshot(
    texts: Texts, wanted: Wanted, found: Found, peer: str, shown: frozenset[tuple[str, int]], spent: int = 0
) -> Told:
    events, template = [event for event, _ in found.hits], texts.snapshot_small if wanted.small else texts.snapshot
    left = max(0, wanted.budget.memory - spent - _heading(template))
    if wanted.small:
        left = min(notes.SMALL_TOKENS, left)
        plan, more = _small(found.known, peer, left), ""
        left -= _tokens(plan)
        written = notes.write_small(events, peer=peer, tokens=left, names=found.names)
    else:
        plan, more = _planned(template, wanted, found.known, peer, shown, left // SHARE)
        left -= _tokens(plan) + estimate_tokens(more)
        written = notes.write(events, found.places, peer=peer, tokens=left, names=found.names)
    if not (plan.placed or written):
        return Told(plan=plan)
    told = [one.text for one in plan.placed] + [more] * bool(more) + [text for _, text in written]
    text = notes.snapshot(template, told)
    scores, by_id = {event.id: score for event, score in found.hits}, dict(written)
    said = tuple(event for event in events if event.id in by_id)
    noted = tuple(_noted(event.id, by_id[event.id], scores[event.id]) for event in said)
    return Told(text, said, plan, (*(one.line for one in plan.placed), *noted), tokens=estimate_tokens(text))


def _planned(
    template: str, wanted: Wanted, what: Known, peer: str, shown: frozenset[tuple[str, int]], tokens: int
) -> tuple[Plan, str]:
    """What is told of what is known, and the line that says how much more there is, in no more than so many tokens."""
    limits = wanted.telling
    if limits is None or not (what.facts or what.active):
        return Plan(), ""

    def write(fact: Fact, chars: int) -> lines.Written | None:
        return lines.line(fact, chars, peer)

    room = most = limits.chars - len(notes.snapshot(template, [])) - 1
    for _ in range(TRIES):
        plan = bands.plan(what.facts, what.active, limits, room, write, shown)
        if (taken := _tokens(plan)) <= tokens:
            break
        room = min(room - 1, plan.chars * tokens // taken)
    else:
        return Plan(cut=len(what.facts)), ""
    stands = sum(fact.key in shown for fact in what.facts)
    more = known.index(what, len([one for one in plan.placed if one.fact.why != "active"]) + stands)
    fits = plan.placed and plan.chars + len(more) < most and taken + estimate_tokens(more) <= tokens
    return plan, more if fits else ""


def _small(what: Known, peer: str, tokens: int) -> Plan:
    """For a small model: what its question is about, in few words, without marks."""
    placed, left, cut = [], min(SMALL_TOKENS, tokens), 0
    for fact in what.facts:
        if fact.why != "hit" or not fact.score:
            continue
        text = lines.small(fact, peer)
        if (cost := estimate_tokens(text)) <= left:
            placed.append(Placed(replace(fact, mark=""), "working", text, shortened=False))
            left -= cost
        else:
            cut += 1
    return Plan(tuple(placed), cut)


def _noted(event: str, text: str, score: float) -> Line:
    """A note of an event, for the ledger."""
    band = bands.band_of(score)
    return Line(event, "event", 0, band, "cold", score, score, "", len(text), notes.is_cut(text))


def _earlier(texts: Texts, found: Found, left: int) -> Told:
    """What was told with earlier messages of this conversation, in short, the newest first.

    As for ``NOBODY``: in a group, where the speakers change, everybody has a name there, and what stands stays.
    """
    made: dict[str, str] = {}
    again: list[Event] = []
    facts: list[Fact] = []
    spent, heading = 0, _heading(texts.snapshot_earlier)
    for turn in reversed(found.earlier):
        room = left - spent - heading
        told, shown = _in_short(found.facts.get(turn, ()), room)
        events, limit = found.earlier[turn], notes.EARLIER_TOKENS
        tokens = room - sum(map(estimate_tokens, told))
        written = notes.write(events, found.places, peer=NOBODY, tokens=tokens, each=limit, names=found.names)
        if told or written:
            made[turn] = notes.snapshot(texts.snapshot_earlier, [*told, *(text for _, text in written)])
            spent += estimate_tokens(made[turn])
            again += events
            facts += shown
    return Told(earlier=made, again=tuple(again), again_facts=tuple(facts), tokens=spent)


def _in_short(facts: Sequence[Fact], left: int) -> tuple[list[str], list[Fact]]:
    told: list[str] = []
    shown: list[Fact] = []
    for fact in facts:
        text = lines.in_short(fact, NOBODY)
        if text and (cost := estimate_tokens(text)) <= left:
            told.append(text)
            shown.append(fact)
            left -= cost
    return told, shown


def _heading(template: str) -> int:
    """Tokens of a message without any notes, and what an estimate of the whole may have over that of its parts."""
    return estimate_tokens(notes.snapshot(template, [])) + ROUNDING


def _tokens(plan: Plan) -> int:
    return sum(estimate_tokens(one.text) for one in plan.placed)
