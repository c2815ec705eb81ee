"""The job that archives what has cooled, once something lasting was made of it.

Mostly that was the pass that followed the turn (``homed.jobs.passing``).  What none has covered (turns of an earlier
release, and those that no model could be asked about then) is read here.  Never on the way to an answer: it gives way
to turns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from homed.clock import WallClock
from homed.config.definitions import DISTIL_ACCESSES, DISTIL_IDLE, EXTRACT_MAX_TRANSCRIPT
from homed.failpoints import Failpoints
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.jobs.making import Maker, ReaderPort, Rules, size
from homed.jobs.making import SettingsPort as MakingSettings
from homed.jobs.storing import Extracted, Keeping, Topics, store, unknown
from homed.memory import cooling
from homed.memory.cooling import Piece, Place, Rule
from homed.store.rows import Storage

NAME = "distil"

EVERY = 3600.0

BATCH = 100
"""Events that one look at what has cooled takes."""

GATHERED = 2
"""Part of a transcript's room from which on the small talk of a conversation is read without waiting for more of it."""


class SettingsPort(MakingSettings, Protocol):
    """What is read of the settings."""

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...


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

    @property
    def maker(self) -> Maker:
        """What makes it."""
        return Maker(
            store=self.store, settings=self.settings, reader=self.reader, rules=self.rules, topics=self.topics,
            asked=partial(self.failpoints.reach, "distil.asked"),
        )  # fmt: skip


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
        now = ports.wall()
        await ports.store.write(lambda tx: cooling.set_right(tx, now))
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
        maker = self.ports.maker
        if not maker.readable(piece):
            await self._do([piece], maker.without)
        elif not maker.small(piece):
            await self._do([piece], self._read)
        else:
            self.left.add(piece.turn)
            gathered = self.small.setdefault(piece.thread, [])
            gathered.append(piece)
            if sum(map(size, gathered)) * GATHERED >= self.ports.settings.int(EXTRACT_MAX_TRANSCRIPT):
                await self._do(self.small.pop(piece.thread), self._read)

    async def _do(self, pieces: Sequence[Piece], make: Callable[[Sequence[Piece]], Awaitable[Extracted]]) -> None:
        async def unit() -> None:
            await self._keep(pieces, await make(pieces))

        if not await self.run.unit(pieces[0].turn, unit):
            self.left.update(piece.turn for piece in pieces)

    async def _read(self, pieces: Sequence[Piece]) -> Extracted:
        return await self.ports.maker.with_model(self.run, pieces)

    async def _keep(self, pieces: Sequence[Piece], extracted: Extracted) -> None:
        ports, reach = self.ports, self.ports.failpoints.reach
        rule = self._rule()
        keeping = Keeping(at=rule.now, rule=rule, writing=partial(reach, "distil.writing"))
        stored = await ports.store.write(lambda tx: store(tx, pieces, extracted, keeping))
        reach("distil.done")
        self.run.made(stored.made)
        if stored.made:
            ports.stored()
        for gate, count in stored.drops.items():
            self.run.dropped(gate, count)
        if stored.changed:
            self.left.update(piece.turn for piece in pieces)


def _place(cursor: Mapping[str, object]) -> Place:
    sunk_at, seq = cursor.get("sunk_at"), cursor.get("seq")
    return Place(float(sunk_at), seq) if isinstance(sunk_at, (int, float)) and isinstance(seq, int) else Place()
