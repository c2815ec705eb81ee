"""The pass: soon after a turn is over, what it was and what it told is made memory, by one question to a model.

Woken by the end of a turn, never on the way to an answer, and giving way to turns as heavy jobs do.  What is owed
stands in the database (``homed.memory.passes``), so nothing is lost at an exit: what still waits is recorded without a
model then, and a model makes that same record better once it can.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import trio

from homed.clock import WallClock
from homed.errors import StorageError
from homed.events import MEMORY, Bus
from homed.failpoints import Failpoints
from homed.jobs.due import Interval
from homed.jobs.job import Job, Later, Outage, Run
from homed.jobs.late import SETTLE, wakes
from homed.jobs.making import Maker, ReaderPort, Rules, SettingsPort, is_recorded
from homed.jobs.storing import Extracted, Keeping, Stored, Topics, store, summaries, told, unknown
from homed.memory import cooling, passes
from homed.memory.cooling import NONE, Piece
from homed.memory.passes import Owed
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

NAME = passes.JOB

EVERY = 3600.0
"""Seconds after which it looks again if nobody woke it."""

BATCH = 100
"""Turns that one look at what is owed takes."""

ENOUGH, IDLE, OLDEST = 512, 30.0, 120.0
"""The gate for the small talk of a conversation: so many tokens of it, or so many seconds since its last turn, or since
the oldest that waits."""

REST, LONGEST_REST = 60.0, 900.0
"""Seconds for which no model is asked after one could not be; doubled each time."""

LAST_WORDS = 1.5
"""Seconds that recording what still waits may take at an exit."""

LAST_BATCH = 20
"""Turns of one transaction there: some milliseconds each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPorts:
    """What the job touches."""

    store: Storage
    settings: SettingsPort
    wall: WallClock
    reader: ReaderPort
    rules: Rules
    bus: Bus
    failpoints: Failpoints
    stored: Callable[[], None] = lambda: None
    """Called when something was made: it has no vector yet."""
    topics: Topics = unknown


def passing(ports: PassPorts) -> Job:
    """The job."""
    resting = _Resting(ports.wall)
    return Job(NAME, lambda: Interval(EVERY), lambda run: _Passing(ports, run, resting).work(), heavy=True, wakes=wakes)


class _Resting:
    """For how long no model is asked, since one could not be."""

    def __init__(self, wall: WallClock) -> None:
        self._wall = wall
        self._until = 0.0
        self._failures = 0

    @property
    def left(self) -> float:
        """Seconds; 0: one may be asked."""
        left = self._until - self._wall()
        return left if 0 < left <= LONGEST_REST else 0.0  # of more the clock was put back: nobody rests for a year

    def begin(self) -> None:
        """It could not be."""
        self._failures += 1
        self._until = self._wall() + min(LONGEST_REST, REST * 2.0 ** min(self._failures - 1, 10))

    def end(self) -> None:
        """It could."""
        self._until, self._failures = 0.0, 0


@dataclass(slots=True)
class _Gathered:
    """The small talk of a conversation, oldest first; ``since`` as ``Owed.since``."""

    first: float
    since: float | None
    pieces: list[Piece] = field(default_factory=list)

    def wait(self, now: float) -> float:
        """Seconds until it is to be read; 0: now, also where it ended in what was the future before the clock was put
        back."""
        if sum(event.tokens for piece in self.pieces for event in piece.events) >= ENOUGH or self.first > now:
            return 0.0
        at = self.first + OLDEST if self.since is None else min(self.first + OLDEST, self.since + IDLE)
        return min(max(0.0, at - now), OLDEST)


@dataclass(slots=True)
class _Passing:
    """One run: each turn that waits is tried once."""

    ports: PassPorts
    run: Run
    resting: _Resting
    small: dict[str, _Gathered] = field(default_factory=dict)
    untold: set[str] = field(default_factory=set)
    stopped: Outage | Later | None = None
    waits: list[float] = field(default_factory=list)

    async def work(self) -> None:
        """Oldest first.  Cut off anywhere: what is stored is whole, the rest is owed still.

        Raises ``Outage`` and ``Later`` as the model does, once everything is recorded without it.
        """
        place = (-1.0, "")
        while batch := await self.ports.store.read(partial(passes.owed, after=place, limit=BATCH)):
            for one in batch:
                place = (one.at, one.turn)
                await self._take(one)
        for gathered in self.small.values():
            await self._when_ripe(gathered)
        if self.waits:
            self.run.again(min(self.waits))
        if self.stopped is not None:
            raise self.stopped

    async def _take(self, owed: Owed) -> None:
        piece = await self.ports.store.read(lambda tx: cooling.remembered(tx, owed.turn))
        if piece is None:  # private, forgotten, an agent's that was made
            await self.ports.store.write(lambda tx: passes.settle(tx, [owed.turn]))
            return
        self.run.seen()
        if not owed.told:
            self.untold.add(owed.turn)
        maker = self._maker()
        if not maker.readable(piece):
            await self._do([piece], maker.without)
        elif not maker.small(piece):
            await self._ask([piece])
        else:
            gathered = self.small.setdefault(piece.thread, _Gathered(owed.at, owed.since))
            gathered.pieces.append(piece)

    def _maker(self) -> Maker:
        ports = self.ports
        return Maker(
            store=ports.store, settings=ports.settings, reader=ports.reader, rules=ports.rules, topics=ports.topics,
            asked=partial(ports.failpoints.reach, "pass.asked"),
        )  # fmt: skip

    async def _when_ripe(self, gathered: _Gathered) -> None:
        if wait := gathered.wait(self.ports.wall()):
            self.waits.append(wait)
            return
        chunk: list[Piece] = []
        for piece in gathered.pieces:
            chunk.append(piece)
            if sum(event.tokens for one in chunk for event in one.events) >= ENOUGH:
                await self._ask(chunk)
                chunk = []
        if chunk:
            await self._ask(chunk)

    # -- one unit --------------------------------------------------------------------------------------------------

    async def _ask(self, pieces: Sequence[Piece]) -> None:
        """Have a model read it; where none can now, record it without, for one to read later."""
        if self.resting.left:
            await self._tell(pieces)
            self.waits.append(self.resting.left)
            return
        maker = self._maker()
        try:
            done = await self._do(pieces, lambda these: maker.with_model(self.run, these))
        except (Outage, Later) as error:
            self.resting.begin()
            self.stopped = error
            await self._tell(pieces)
            self.waits.append(self.resting.left)
            return
        if done:
            self.resting.end()
            return
        await self._tell(pieces)
        if not await self.ports.store.write(lambda tx: _count_held(tx, pieces[0], self.ports.wall())):
            self.waits.append(REST)

    async def _do(self, pieces: Sequence[Piece], make: Callable[[Sequence[Piece]], Awaitable[Extracted]]) -> bool:
        async def unit() -> None:
            await self._keep(pieces, await make(pieces))

        return await self.run.unit(pieces[0].turn, unit)

    async def _tell(self, pieces: Sequence[Piece]) -> None:
        """Record it without a model, once; it stays owed."""
        untold = [piece for piece in pieces if piece.turn in self.untold]
        if untold:
            await self._keep(untold, await self._maker().without(untold), owed=True)
            self.untold.difference_update(piece.turn for piece in untold)

    async def _keep(self, pieces: Sequence[Piece], extracted: Extracted, *, owed: bool = False) -> None:
        ports, reach = self.ports, self.ports.failpoints.reach
        keeping = Keeping(at=ports.wall(), owed=owed, writing=partial(reach, "pass.writing"))
        stored = await ports.store.write(lambda tx: store(tx, pieces, extracted, keeping))
        reach("pass.told" if owed else "pass.done")
        self.run.made(stored.made)
        if stored.made:
            ports.stored()
        for gate, count in stored.drops.items():
            self.run.dropped(gate, count)
        if stored.changed:
            self.waits.append(SETTLE)
            return
        announce(ports.bus, pieces, stored, "told" if owed else "done")


def _count_held(tx: Tx, piece: Piece, at: float) -> bool:
    """Whether its turn went into quarantine; counted: what is there already is not tried."""
    held = passes.held(tx, piece.turn)
    if held:
        passes.count(tx, piece.scope, {"quarantine": 1}, at=at)
    return held


def announce(bus: Bus, pieces: Sequence[Piece], stored: Stored, state: str) -> None:
    """Tell of each turn what was really written of it (fault B9): ids by kind of record, none where nothing was.

    ``state``: ``told`` while a model is still to read it, else ``done``.
    """
    for piece in pieces:
        own = {event.id for event in piece.events}
        records: dict[str, list[str]] = {}
        for kept in stored.kept:
            if kept.events & own:
                records.setdefault(kept.record, []).append(kept.id)
        data: Mapping[str, object] = {
            "what": "written", "state": state, "made": sum(map(len, records.values())), "records": records,
        }  # fmt: skip
        bus.post(MEMORY, thread=piece.thread, turn=piece.turn, scope=piece.scope, data=data)


# -- at an exit ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPorts:
    """What recording at an exit touches."""

    store: Storage
    settings: SettingsPort
    wall: WallClock
    failpoints: Failpoints
    topics: Topics = unknown


async def last_words(ports: LastPorts, *, within: float = LAST_WORDS) -> int:
    """Record what still waits without a model, for no more than ``within`` seconds; how many turns.

    A model is still to read them, at the next start.  Cancelled or out of time, a whole batch is recorded or none of
    it; nothing is lost.
    """
    count, place = 0, (-1.0, "")
    with trio.move_on_after(within):
        try:
            while batch := await ports.store.read(partial(passes.owed, after=place, limit=LAST_BATCH)):
                place = (batch[-1].at, batch[-1].turn)
                turns = [one.turn for one in batch if not one.told]
                count += await ports.store.write(lambda tx: _told_at_the_end(tx, ports, turns))  # noqa: B023 - awaited
                ports.failpoints.reach("pass.told")
        except StorageError as error:
            log.warning("what was said last is recorded at the next start: %s", error.message)
    return count


def _told_at_the_end(tx: Tx, ports: LastPorts, turns: Sequence[str]) -> int:
    count = 0
    for turn in turns:
        piece = cooling.remembered(tx, turn)
        if piece is None or not is_recorded(piece, ports.settings) or summaries(tx, [piece]):
            continue
        extracted = Extracted(NONE, summaries=(told(piece, ports.topics),))
        count += store(tx, [piece], extracted, Keeping(at=ports.wall(), owed=True)).made
    return count
