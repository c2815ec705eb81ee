"""Makes the vectors of what is new, and of all things when the embedder is another one, newest first."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import HomedError, Unavailable
from homed.events import AGENT_OUTPUT, MEMORY, PROGRESS, RAW_INPUT, TOOL_CALL, TURN, Bus, Notice
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory.ports import Embedder, Space
from homed.retrieval.embed.chunk import chunks
from homed.retrieval.vectors import todo
from homed.retrieval.vectors.texts import PICTURE, Source
from homed.retrieval.vectors.todo import Made
from homed.store.rows import Storage, Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

BATCH = 32
"""Items of one transaction: a kill costs no more than their vectors, some 200 ms of the bundled embedder."""

PIECES = 64
"""Texts of one call of the embedder: a question that comes meanwhile waits for no more than these."""

LOOK = 300.0
"""Seconds until the list is looked at though nobody said that there is something new, and failures are tried again."""

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
"""Seconds to leave an embedder alone that fails; twice as long each time."""

TELL = 1.0
"""Seconds of work before anybody is told of it, and between two notices."""

PROBE = "hello"
"""A text that any embedder can make a vector of: if not, it is the embedder that fails, not the text."""

_NAMED = 5
_WAKING = frozenset({RAW_INPUT, AGENT_OUTPUT, TOOL_CALL, TURN, MEMORY})

Clean = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]
"""The texts that came in by a channel, as its cleaner leaves them."""


class Current(Protocol):
    """The embedder in use."""

    @property
    def current(self) -> Embedder | None:
        """None: none yet, or none at all."""
        ...

    async def wait_changed(self) -> None:
        """Wait until it may be another one."""
        ...


async def uncleaned(channel: str, texts: Sequence[str]) -> Sequence[str]:
    """Where there are no cleaners."""
    del channel
    await trio.lowlevel.checkpoint()
    return texts


@dataclass(frozen=True, slots=True)
class RefillPorts:
    """What it needs.  ``picture``: the bytes of a file by its hash, or a smaller picture of it; ``stored``: called when
    vectors were, to have the indexes looked at."""

    store: Storage
    embedder: Current
    bus: Bus
    picture: Callable[[str], Awaitable[bytes]]
    stored: Callable[[], None]
    clean: Clean = uncleaned
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)


class Refill:
    """Its ``keep`` goes on for the life of the daemon.  Of the Trio thread."""

    def __init__(self, ports: RefillPorts) -> None:
        self._ports = ports
        self._store = ports.store
        self._wake = trio.Event()
        self._waiting: list[trio.Event] = []
        self.trouble = ""
        """Why no vectors are made at the moment; '' when they are, or nothing is to be made."""

    def wake(self) -> None:
        """Something was committed.  Never waits."""
        self._wake.set()

    def offer(self, notice: Notice) -> None:
        """As a reader of the notices: what they tell of was committed."""
        if notice.type in _WAKING:
            self.wake()

    async def wait_done(self) -> None:
        """Wait until everything that was committed before this call has its vector, or was tried in vain."""
        done = trio.Event()
        self._waiting.append(done)
        self.wake()
        await done.wait()

    async def keep(self) -> None:
        """Make what is to be made, whenever there is something, with whichever embedder there is.

        Nothing that fails here is an error: without its vector an item is found by its words.  Cancelled: what was not
        stored is made again at the next start.
        """
        while True:
            embedder = self._ports.embedder.current
            if embedder is None:
                self.trouble = ""
                await self._ports.embedder.wait_changed()
                continue
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_changed, embedder, embedder.space, nursery.cancel_scope)
                await self._with(embedder)
                nursery.cancel_scope.cancel()

    async def _until_changed(self, embedder: Embedder, space: Space, scope: trio.CancelScope) -> None:
        while self._ports.embedder.current is embedder and embedder.space == space:
            await self._ports.embedder.wait_changed()
        scope.cancel()

    async def _with(self, embedder: Embedder) -> None:
        """Work with this one until it is cancelled, however often something fails."""
        pause, again_at = FIRST_PAUSE, 0.0
        while True:
            filling = _Filling(self._ports, embedder, again_at)
            try:
                await filling.enter()
                while True:
                    self._wake, asked = trio.Event(), list(self._waiting)
                    await filling.all_there_is()
                    for one in asked:
                        self._waiting.remove(one)
                        one.set()
                    self.trouble, pause = "", FIRST_PAUSE
                    with trio.move_on_after(LOOK):
                        await self._wake.wait()
            except HomedError as error:
                again_at = filling.again_at
                if filling.kept:
                    pause = FIRST_PAUSE
                _log.warning("no vectors are made for %.0f s: %s", pause, error.message)
                self.trouble = error.message
            await trio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


class _Filling:
    """Fills one space with one embedder, until something fails that is not an item's own fault."""

    def __init__(self, ports: RefillPorts, embedder: Embedder, again_at: float) -> None:
        self._ports = ports
        self._store = ports.store
        self._embedder = embedder
        self._space = embedder.space
        self._number = 0
        self.again_at = again_at
        """When those that failed are tried again."""
        self.kept = 0

    async def enter(self) -> None:
        """Have everything on the list that has no vector in this space."""
        self._number, all_ = await self._store.write(lambda tx: todo.enter(tx, self._space))
        if not all_:
            return
        for kind in ("entity", "record", "event", *(["block"] if self._space.media else [])):
            below = 0 if kind == "block" else 1 << 62
            while below := await self._store.write(
                lambda tx, kind=kind, below=below: todo.enlist(tx, kind, self._number, below)  # type: ignore[misc]
            ):
                pass
        await self._store.write(lambda tx: todo.entered(tx, self._number, at=self._ports.wall()))
        if left := await self._store.read(todo.left):
            _log.info("%d vectors are to be made with the embedder in use; search goes on meanwhile", left)

    async def all_there_is(self) -> None:
        """Until the list is empty but for what is to be tried later; then other spaces' vectors are deleted."""
        told = _Told(self._ports.bus, self._store, self.kept)
        while await self._some(again=False):
            await told.progress(self.kept)
        if self.again_at <= trio.current_time():
            self.again_at = trio.current_time() + LOOK
            while await self._some(again=True):
                pass
        await told.end(self.kept)
        while await self._store.write(lambda tx: todo.delete_foreign(tx, self._number)):
            self._ports.stored()

    async def _some(self, *, again: bool) -> bool:
        """The next batch; False: there is none.  Each that failed before is tried once."""
        batch = await self._store.read(lambda tx: todo.next_(tx, self._space, self._number, BATCH, again=again))
        if not batch.items:
            return False
        wanted = {(source.kind, source.item) for source in batch.sources}
        idle = [one for one in batch.items if one not in wanted]
        if idle:
            await self._store.write(lambda tx: todo.strike_idle(tx, self._space, self._number, idle))
        if batch.sources:
            await self._fill(batch.sources)
        return not again

    async def _fill(self, sources: Sequence[Source]) -> None:
        """Make and store the vectors of these.  Raises HomedError when it is the embedder that fails."""
        failing: list[Source] = []
        down: HomedError | None = None
        try:
            made = await self._made(sources)
        except HomedError:
            await self._probe()  # a refusal for good, too, may be of one text alone
            made, failing, down = await self._one_by_one(sources)
        self._ports.failpoints.reach("refill.batch")
        count = await self._store.write(lambda tx: self._keep(tx, made, failing))
        self._ports.failpoints.reach("vectors.stored")
        self.kept += count
        self._ports.stored()
        if down is not None:
            self.again_at = trio.current_time() + LOOK
            raise down

    def _keep(self, tx: Tx, made: Sequence[Made], failing: Sequence[Source]) -> int:
        todo.failed(tx, failing)
        return todo.keep(tx, self._space, self._number, made)

    async def _probe(self) -> None:
        """Raises HomedError where the embedder makes no vector of anything."""
        self._units(await self._embedder.embed([PROBE]), 1)

    async def _one_by_one(self, sources: Sequence[Source]) -> tuple[list[Made], list[Source], HomedError | None]:
        """What was made, what failed, and why it stopped before the end: a text may take the embedder down with it, and
        those behind it are not at fault."""
        made: list[Made] = []
        failing: list[Source] = []
        down: HomedError | None = None
        why = ""
        for source in sources:
            try:
                made += await self._made([source])
            except HomedError as error:
                failing.append(source)
                why = error.message
                try:
                    await self._probe()
                except HomedError as error:
                    down = error
                    break
        if failing:
            named = ", ".join(f"{one.kind} {one.item}" for one in failing[:_NAMED])
            _log.warning("no vector of %d items (%s): %s", len(failing), named, why)
        return made, failing, down

    async def _made(self, sources: Sequence[Source]) -> list[Made]:
        texts = await texts_of(sources, self._ports.clean)
        pieces = [(at, part, piece) for at, text in enumerate(texts) for part, piece in enumerate(chunks(text))]
        found: defaultdict[int, list[tuple[int, NDArray[np.float32]]]] = defaultdict(list)
        for begin in range(0, len(pieces), PIECES):
            some = pieces[begin : begin + PIECES]
            vectors = self._units(await self._embedder.embed([piece for _, _, piece in some]), len(some))
            for (at, part, _), vector in zip(some, vectors, strict=True):
                if vector is not None:
                    found[at].append((part, vector))
        for at, source in enumerate(sources):
            if source.pictures:
                images = [await self._ports.picture(hash_) for _, hash_ in source.pictures]
                vectors = self._units(await self._embedder.embed_images(images), len(images))
                places = [PICTURE + place for place, _ in source.pictures]
                found[at] = [(p, v) for p, v in zip(places, vectors, strict=True) if v is not None]
        return [Made(source, found[at]) for at, source in enumerate(sources)]

    def _units(self, vectors: NDArray[np.float32], count: int) -> list[NDArray[np.float32] | None]:
        """Each with length 1; None for one that has no direction (a text that says nothing to the embedder)."""
        if vectors.shape != (count, self._space.dims):
            raise Unavailable("The embedder gave other vectors than it said.")
        made = np.asarray(vectors, np.float32)
        lengths = np.linalg.norm(made, axis=1)
        return [v / n if np.isfinite(n) and n > 1e-9 else None for v, n in zip(made, lengths, strict=True)]


async def texts_of(sources: Sequence[Source], clean: Clean) -> list[str]:
    """The text of each, without what its channel puts around it; as it is when nothing would be left."""
    texts = [source.text for source in sources]
    channels: defaultdict[str, list[int]] = defaultdict(list)
    for at, source in enumerate(sources):
        if source.channel and source.text:
            channels[source.channel].append(at)
    for channel, places in channels.items():
        cleaned = await clean(channel, [texts[at] for at in places])
        for at, text in zip(places, cleaned, strict=True):
            texts[at] = text.strip() or texts[at]
    return [f"{text}\n\n{s.more}" if s.more else text for text, s in zip(texts, sources, strict=True)]


class _Told:
    """Tells how far it is, of work that takes more than a moment."""

    def __init__(self, bus: Bus, store: Storage, kept: int) -> None:
        self._bus = bus
        self._store = store
        self._next = trio.current_time() + TELL
        self._from = kept
        self._told = False

    async def progress(self, kept: int) -> None:
        """So many were made altogether."""
        if trio.current_time() >= self._next:
            self._next, self._told = trio.current_time() + TELL, True
            self._post(kept - self._from, await self._store.read(todo.left))

    async def end(self, kept: int) -> None:
        """There is no more."""
        if self._told:
            self._post(kept - self._from, 0)
        await trio.lowlevel.checkpoint()

    def _post(self, done: int, left: int) -> None:
        self._bus.post(PROGRESS, data={"what": "vectors", "done": done, "total": done + left})
