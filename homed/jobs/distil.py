"""The job that makes lasting memory of what has cooled: facts and a summary of each turn, and then its archive.

With a model, or with rules alone.  Never on the way to an answer: it gives way to turns, and what it makes is there
when it is there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import trio

from homed.clock import WallClock
from homed.config.definitions import DISTIL_ACCESSES, DISTIL_IDLE, EXTRACT_MAX_TRANSCRIPT, EXTRACT_MIN_TURN
from homed.failpoints import Failpoints
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.jobs.storing import Extracted, Found, Stored, Topics, store, told, unknown
from homed.jobs.transcript import Transcript, transcript
from homed.memory import cooling
from homed.memory.cooling import NONE, RULES, Piece, Place, Rule
from homed.memory.records import Event, EventKind
from homed.store.rows import Storage

log = logging.getLogger(__name__)

NAME = "distil"

EVERY = 3600.0

BATCH = 100
"""Events that one look at what has cooled takes."""

GATHERED = 2
"""Part of a transcript's room from which on the small talk of a conversation is read without waiting for more of it."""


class SettingsPort(Protocol):
    """What is read of the settings."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...


class ReaderPort(Protocol):
    """Makes something of a transcript with a model: ``homed.jobs.extract.Extractor``."""

    def ready(self) -> bool:
        """Whether there is a model to ask."""
        ...

    async def read(self, run: Run, script: Transcript) -> Extracted | None:
        """What it found; None when it answered nothing that can be used."""
        ...


Rules = Callable[[Event], Sequence[Found]]
"""What the rules find in a message of a person's; called in a thread."""


def by_rules(event: Event) -> list[Found]:
    """The rules of this release.  Blocks, the first time for a while: so many patterns are no matter of a start."""
    from homed.memory.distil.sources import facts_of

    return [Found(fact, (span,)) for fact, span in facts_of(event)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilPorts:
    """What the job touches."""

    store: Storage
    settings: SettingsPort
    wall: WallClock
    reader: ReaderPort
    rules: Rules
    failpoints: Failpoints
    stored: Callable[[], None] = lambda: None
    """Called when something was made: it has no vector yet."""
    topics: Topics = unknown


def distil(ports: DistilPorts) -> Job:
    """The job."""
    return Job(NAME, lambda: Interval(EVERY), lambda run: _Distilling(ports, run).work(), heavy=True)


@dataclass(slots=True)
class _Distilling:
    """One run."""

    ports: DistilPorts
    run: Run
    small: dict[str, list[Piece]] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)

    async def work(self) -> None:
        """Turn by turn, in the order of cooling.  Cut off anywhere: what is stored is whole, the rest as it was."""
        ports, place = self.ports, _place(self.run.cursor)
        while True:
            rule = self._rule()
            turns, after = await ports.store.read(partial(cooling.cooled, rule=rule, after=place, limit=BATCH))
            for turn in turns:
                piece = await ports.store.read(partial(cooling.piece, turn=turn, rule=rule))
                if piece is not None and turn not in self.left:
                    self.run.seen()
                    await self._take(piece)
            if after is None:
                break
            place = after
            self.run.note(sunk_at=place.sunk_at, seq=place.seq)
        for pieces in self.small.values():
            await self._do(pieces, self._read)
        self.small = {}

    def _rule(self) -> Rule:
        settings = self.ports.settings
        return Rule(self.ports.wall(), settings.float(DISTIL_IDLE), settings.int(DISTIL_ACCESSES))

    async def _take(self, piece: Piece) -> None:
        if not piece.unread or piece.foreign or not self.ports.reader.ready():
            await self._do([piece], self._by_rules)
        elif _size(piece) >= self.ports.settings.int(EXTRACT_MIN_TURN):
            await self._do([piece], self._read)
        else:
            self.left.add(piece.turn)
            gathered = self.small.setdefault(piece.thread, [])
            gathered.append(piece)
            if sum(map(_size, gathered)) * GATHERED >= self.ports.settings.int(EXTRACT_MAX_TRANSCRIPT):
                await self._do(self.small.pop(piece.thread), self._read)

    async def _do(self, pieces: Sequence[Piece], read: Callable[[Sequence[Piece]], Awaitable[Extracted]]) -> None:
        async def unit() -> None:
            await self._keep(pieces, await read(pieces))

        if not await self.run.unit(pieces[0].turn, unit):
            self.left.update(piece.turn for piece in pieces)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _read(self, pieces: Sequence[Piece]) -> Extracted:
        """With the model; with rules where there is too little for one, or where its answer cannot be used."""
        settings = self.ports.settings
        if sum(len(piece.said.strip()) for piece in pieces) < min(settings.int(EXTRACT_MIN_TURN), _LEAST):
            return await self._by_rules(pieces)
        found = await self.ports.reader.read(self.run, transcript(pieces, settings.int(EXTRACT_MAX_TRANSCRIPT)))
        self.ports.failpoints.reach("distil.asked")
        return await self._by_rules(pieces) if found is None else found

    async def _by_rules(self, pieces: Sequence[Piece]) -> Extracted:
        """What rules find in what no pass has read, and of each turn that is more than small talk what it was."""
        least = self.ports.settings.int(EXTRACT_MIN_TURN)
        found: list[Found] = []
        for piece in pieces:
            for event in () if piece.foreign else piece.events:
                if event.kind is EventKind.USER and event.id in piece.fresh:
                    found += await trio.to_thread.run_sync(self.ports.rules, event)
        summaries = [told(piece, self.ports.topics) for piece in pieces if _size(piece) >= least]
        return Extracted(RULES if found or summaries else NONE, tuple(found), tuple(summaries))

    # -- keeping ---------------------------------------------------------------------------------------------------

    async def _keep(self, pieces: Sequence[Piece], extracted: Extracted) -> None:
        ports, rule, points = self.ports, self._rule(), self.ports.failpoints
        stored: Stored = await self.ports.store.write(lambda tx: store(tx, pieces, extracted, rule, points))
        points.reach("distil.done")
        self.run.made(stored.made)
        if stored.made:
            ports.stored()
        for gate, count in stored.drops.items():
            self.run.dropped(gate, count)
        if "changed" in stored.drops:
            self.left.update(piece.turn for piece in pieces)


_LEAST = 12
"""Characters of what a person said below which no model is asked, also of several turns: "ok", "thanks"."""


def _size(piece: Piece) -> int:
    return sum(len(event.text.strip()) for event in piece.events if _spoken(event))


def _spoken(event: Event) -> bool:
    return event.kind in (EventKind.USER, EventKind.ASSISTANT)


def _place(cursor: Mapping[str, object]) -> Place:
    sunk_at, seq = cursor.get("sunk_at"), cursor.get("seq")
    return Place(float(sunk_at), seq) if isinstance(sunk_at, (int, float)) and isinstance(seq, int) else Place()
