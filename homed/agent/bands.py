"""What of what is known a turn is told unasked, and in which order: the gate is passed, the rest is room.  Pure.

What is found goes into three bands: IMMEDIATE (the question is about it, or it is among the two best), WORKING (the
other hits) and BACKGROUND (the Active Window, which no question asks for, and wholes that are only near).  The Active
Window's room is kept first; of the rest IMMEDIATE has 60 % and WORKING 40 %, and what one leaves the next may fill.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from homed.agent.lines import Fact, Written
from homed.memory import amount
from homed.memory.injections import Band, Line, Mode

SURE = 0.45
"""Relevance from which on a hit is IMMEDIATE."""

READ = 0.30
"""Relevance from which on it is told what a turn was that a model has read: what mattered in it is told as a fact, and
what is left is mostly what was asked and answered in passing.  What was said in it word for word, from ``SURE`` on."""

FIRST = 2
"""The best hits are IMMEDIATE whatever their relevance."""

IMMEDIATE_SHARE = 0.6

LASTING = ("preference", "decision", "convention", "todo", "correction")
"""Kinds of facts that may stand in the Active Window; from ``ANY_KIND`` on, of any kind."""

ANY_KIND = 8
"""Importance of a fact that may stand there whatever its kind."""

CONTINUES = frozenset({
    "continue", "go on", "go ahead", "carry on", "keep going", "proceed", "next", "ok", "okay", "yes", "yeah", "yep",
    "sure", "then", "and then", "right", "more", "please",
    "继续", "接着", "接着说", "继续说", "继续吧", "好", "好的", "好吧", "好啊", "嗯", "嗯嗯", "行", "可以", "是",
    "是的", "对", "对的", "然后", "然后呢", "还有呢", "下一步", "下一个", "往下", "往下说",
    "пожалуйста",
    "дальше", "продолжай", "продолжайте", "продолжи", "да", "ага", "ок", "окей", "хорошо", "ладно", "ещё", "еще", "и",
    "и что", "потом", "а потом", "конечно",
})  # fmt: skip
"""What only says that it is to go on: no word of it is what it is about."""

LONGEST = 48
"""Characters of what may still only say that."""

FEW_WORDS = 2
"""Words below which a message says little by itself: four characters of Chinese are as many."""

_WORD = re.compile(r"[\w'’]+")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")

Write = Callable[[Fact, int], Written | None]
"""A record as a line of no more than so many characters; None where it cannot be told in so few."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be told: characters of all of it with its heading, records of each kind, and the Active Window's own.

    ``window``: whether there is one; ``importance``: from which on a record may stand in it.
    """

    chars: int = 1400
    summaries: int = 2
    facts: int = 5
    capsules: int = 3
    window: bool = True
    window_items: int = 2
    window_chars: int = 420
    importance: int = 7

    def of(self, record: str) -> int:
        """How many of a kind of record."""
        return {"summary": self.summaries, "fact": self.facts, "capsule": self.capsules}[record]


@dataclass(frozen=True, slots=True)
class Placed:
    """A line that is told; ``text`` whole, with its mark and id."""

    fact: Fact
    band: Band
    text: str
    shortened: bool

    @property
    def line(self) -> Line:
        """For the ledger."""
        fact, record = self.fact, self.fact.record
        return Line(
            record.id, record.record, record.revision, self.band, fact.why, fact.score, fact.relevance, fact.mark,
            len(self.text), self.shortened,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """Lines in the order they are told, and how many there was no room for.  ``chars``: of all of them with a line's
    end each."""

    placed: tuple[Placed, ...] = ()
    cut: int = 0

    @property
    def chars(self) -> int:
        """What they take."""
        return sum(len(one.text) + 1 for one in self.placed)

    @property
    def mode(self) -> Mode:
        """How they came: by the question, whatever the question, or by what was last."""
        whys = {one.fact.why for one in self.placed}
        return "snapshot" if "latest" in whys else "hit" if whys - {"active"} else "background"


def plan(
    hits: Sequence[Fact],
    active: Sequence[Fact],
    limits: Limits,
    room: int,
    write: Write,
    shown: frozenset[tuple[str, int]] = frozenset(),
) -> Plan:
    """Lay these out in no more than ``room`` characters: ``hits``, best first; ``active``, weightiest first.

    ``shown``: what stands before the model already, by id and revision: it is not told again, and takes its place
    among what may be told, or each message would bring what is a little worse.
    """
    chosen = capped(hits, limits)
    filling = _Filling(write)
    stands = _new(standing(active, chosen, limits), shown)
    reserved = filling.fill(stands, "background", min(room, limits.window_chars), strict=False)
    left = room - _chars(reserved)
    bands = _banded(_new(chosen, shown))
    lower = sum(_full(one, write) for one in (*bands["working"], *bands["background"]))
    immediate = filling.fill(bands["immediate"], "immediate", left - min(lower, round(left * (1 - IMMEDIATE_SHARE))))
    left -= _chars(immediate)
    working = filling.fill(bands["working"], "working", left)
    wholes = filling.fill(bands["background"], "background", left - _chars(working))
    return Plan((*immediate, *working, *reserved, *wholes), filling.cut)


def capped(hits: Sequence[Fact], limits: Limits) -> list[Fact]:
    """The first of each kind of record, each once, as many as may be told."""
    counts: dict[str, int] = {}
    ids: set[str] = set()
    chosen = []
    for fact in hits:
        kind = fact.record.record
        if fact.record.id not in ids and counts.get(kind, 0) < limits.of(kind):
            ids.add(fact.record.id)
            counts[kind] = counts.get(kind, 0) + 1
            chosen.append(fact)
    return chosen


def standing(active: Sequence[Fact], chosen: Sequence[Fact], limits: Limits) -> list[Fact]:
    """The Active Window: the weightiest of these that are not chosen anyway."""
    taken = {fact.record.id for fact in chosen}
    found = {fact.record.id: fact for fact in reversed(active) if fact.record.id not in taken}
    stand = [fact for fact in reversed(found.values()) if _may_stand(fact, limits)]
    return stand[: limits.window_items] if limits.window else []


def _may_stand(fact: Fact, limits: Limits) -> bool:
    """What strangers said never does, for nobody asked for it."""
    record = fact.record
    if record.importance < limits.importance or record.untrusted or record.record == "summary":
        return False
    return record.record == "capsule" or record.kind in LASTING or record.importance >= ANY_KIND


def band_of(relevance: float) -> Band:
    """Of something that is told beside the records."""
    return "immediate" if relevance >= SURE else "working"


def continues(text: str) -> bool:
    """Whether a message only says that it is to go on, in one such word or several."""
    said = " ".join(_WORD.findall(amount.bare(text)))
    ends = {0}
    for at in range(len(said) if len(said) <= LONGEST else 0):
        if at in ends:
            ends |= {_past(said, at + len(one)) for one in CONTINUES if said.startswith(one, at)}
    return said != "" and len(said) in ends


def _past(said: str, end: int) -> int:
    """Where the next word begins, of one that ends there; -1 where none ends."""
    if end == len(said) or (_HAN.match(said[end - 1]) and _HAN.match(said[end])):
        return end
    return end + 1 if said[end] == " " else -1


def says_little(text: str) -> bool:
    """Whether a message is too short to say what it is about."""
    return amount.words(text) < FEW_WORDS


def _new(facts: Sequence[Fact], shown: frozenset[tuple[str, int]]) -> list[Fact]:
    return [fact for fact in facts if fact.key not in shown]


def _banded(hits: Sequence[Fact]) -> dict[Band, list[Fact]]:
    bands: dict[Band, list[Fact]] = {"immediate": [], "working": [], "background": []}
    for at, fact in enumerate(hits):
        if fact.relevance >= SURE or at < FIRST:
            bands["immediate"].append(fact)
        else:
            bands["background" if fact.record.record == "capsule" else "working"].append(fact)
    return bands


def _full(fact: Fact, write: Write) -> int:
    whole = write(fact, 1 << 30)
    return len(whole.text) + 1 if whole else 0


def _chars(placed: Sequence[Placed]) -> int:
    return sum(len(one.text) + 1 for one in placed)


@dataclass(slots=True)
class _Filling:
    """Fills bands, and counts what had no room."""

    write: Write
    cut: int = 0

    def fill(self, facts: Sequence[Fact], band: Band, room: int, *, strict: bool = True) -> list[Placed]:
        """As many of these as ``room`` characters take, in their order.  Not ``strict``: what has no room is none that
        was looked for."""
        placed: list[Placed] = []
        for fact in facts:
            written = self.write(fact, room - 1)
            if written is None:
                self.cut += strict
                continue
            placed.append(Placed(fact, band, written.text, written.shortened))
            room -= len(written.text) + 1
        return placed
