"""The vectors as the rest of the kernel has them: there from the start, empty until numpy is loaded.

Apart from the room ``vectors``, whose import takes 0.1 s that no start has to wait for.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import StorageError
from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory.ports import Near
from homed.store.rows import Storage, Tx

if TYPE_CHECKING:
    from homed.memory.ports import Embedder
    from homed.memory.ports import Vectors as Matrix
    from homed.retrieval.vectors import Counts, Vectors
    from homed.retrieval.vectors.keeper import Keeper
    from homed.retrieval.vectors.refill import Clean, Current, Refill
    from homed.retrieval.vectors.texts import Source

PROVIDES = ("index",)
NEEDS = ("store", "settings")
SLOW = True

INDEX = "index"


class UpPort(Protocol):
    """Who is told that a facility is up."""

    def up(self, *names: str) -> None:
        """They are up, for good."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DensePorts:
    """What it needs.  ``folder``: of the indexes; ``family``: what the marks of all our processes begin with;
    ``environment``: of the process that builds an index; ``hold``: returns when the start has time for this; ``off``:
    whether there is to be no embedder, so that nothing is made or looked for; asked again when ``embedder`` changes.

    ``picture`` and ``clean``: see `homed.retrieval.vectors.refill.RefillPorts`.
    """

    store: Storage
    folder: Path
    family: str
    environment: Mapping[str, str]
    embedder: Current
    bus: Bus
    picture: Callable[[str], Awaitable[bytes]]
    clean: Clean
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    off: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class _Parts:
    vectors: Vectors
    keeper: Keeper
    refill: Refill


class DenseIndex:
    """A ``Dense``; made by ``open_dense`` only.  Searches run on any thread, all else on the Trio thread."""

    def __init__(self, ports: DensePorts) -> None:
        self._ports = ports
        self._parts: _Parts | None = None
        self._up = trio.Event()
        self._needed = trio.Event()
        self._forced = trio.Event()

    def nearest(
        self, tx: Tx, *, scope: str, vector: Matrix, space: str, kinds: Collection[str], limit: int
    ) -> list[Near]:
        """See ``Dense``."""
        if self._parts is None:
            return []
        return self._parts.vectors.nearest(tx, scope=scope, vector=vector, space=space, kinds=kinds, limit=limit)

    def cosines(
        self, tx: Tx, *, scope: str, vector: Matrix, space: str, kind: str, items: Collection[int]
    ) -> Mapping[int, float]:
        """See ``Dense``."""
        if self._parts is None:
            return {}
        return self._parts.vectors.cosines(tx, scope=scope, vector=vector, space=space, kind=kind, items=items)

    def wake(self) -> None:
        """Something was committed that has no vector yet, or vectors were deleted.  Never waits."""
        self._needed.set()
        if self._parts is not None:
            self._parts.refill.wake()
            self._parts.keeper.wake()

    @property
    def trouble(self) -> str:
        """Why no vectors are made at the moment; '' when they are, or nothing is to be made."""
        return "" if self._parts is None else self._parts.refill.trouble

    async def counts(self) -> Counts:
        """How many vectors there are in the space of the embedder in use, of other spaces, waiting, and given up."""
        parts = await self._ready()
        embedder = self._ports.embedder.current
        space = "" if embedder is None else embedder.space.fingerprint
        return await self._ports.store.read(lambda tx: parts.vectors.counts(tx, space))

    async def retry(self) -> int:
        """Try those again that were given up; how many."""
        from homed.retrieval.vectors import todo

        parts = await self._ready()
        count = await self._ports.store.write(todo.retry)
        parts.refill.wake()
        return count

    async def wait_done(self) -> None:
        """Wait until all that was committed before has its vector; for ever where there is no embedder."""
        await (await self._ready()).refill.wait_done()

    async def forget_now(self, scope: str) -> int:
        """See ``Keeper.forget_now``: after it no file holds a vector of this scope that was deleted before."""
        return await (await self._ready()).keeper.forget_now(scope)

    @property
    def embedder(self) -> Embedder | None:
        """The one in use; None: none now."""
        return self._ports.embedder.current

    async def remake(self, folders: Collection[str]) -> int:
        """Throw away these indexes, by the names of their folders; made anew where they are due.  How many."""
        return await (await self._ready()).keeper.remake(folders)

    async def texts(self, sources: Sequence[Source]) -> Sequence[str]:
        """What the embedder is given of each of these."""
        from homed.retrieval.vectors.refill import texts_of

        return await texts_of(sources, self._ports.clean)

    async def _ready(self) -> _Parts:
        self._needed.set()
        self._forced.set()
        await self._up.wait()
        assert self._parts is not None
        return self._parts

    async def keep(self, facilities: UpPort | None) -> None:
        """Load everything beside the rest, once there is something to look for, then keep and fill until cancelled."""
        await self._ports.hold()
        empty = not await self._anything()
        early = empty or self._ports.off()
        if early:  # it is searched without what takes 15 MB
            self._say_up(facilities)
        if empty:
            await self._needed.wait()
        await self._wait_on()
        # numpy takes 0.1 s, which the loop cannot do without
        await trio.to_thread.run_sync(importlib.import_module, "homed.retrieval.vectors.keeper")
        parts = _made(self._ports)
        await parts.keeper.take_over()  # until then a search would have to read every row
        self._parts = parts
        self._up.set()
        if not early:
            self._say_up(facilities)
        self._ports.bus.add(parts.refill)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(parts.keeper.keep)
                nursery.start_soon(parts.refill.keep)
        finally:
            self._ports.bus.remove(parts.refill)

    async def _wait_on(self) -> None:
        """Return once there is, or may come, an embedder, or somebody wants what is stored to be gone."""
        while self._ports.off() and not self._forced.is_set():
            async with trio.open_nursery() as nursery:

                async def first(wait: Callable[[], Awaitable[None]]) -> None:
                    await wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(first, self._ports.embedder.wait_changed)
                nursery.start_soon(first, self._forced.wait)

    @staticmethod
    def _say_up(facilities: UpPort | None) -> None:
        if facilities is not None:
            facilities.up(INDEX)

    async def _anything(self) -> bool:
        """Whether there are vectors, or texts that wait for theirs."""
        try:
            found = await self._ports.store.read(
                lambda tx: tx.value("SELECT EXISTS (SELECT 1 FROM vectors) OR EXISTS (SELECT 1 FROM vector_todo)")
            )
        except StorageError:
            return True
        return bool(found)


def _made(ports: DensePorts) -> _Parts:
    from homed.retrieval.vectors import Vectors
    from homed.retrieval.vectors.keeper import Keeper
    from homed.retrieval.vectors.making import Bench, in_child
    from homed.retrieval.vectors.refill import Refill, RefillPorts

    vectors = Vectors()
    trees = in_child(ports.environment, f"{ports.family}:index")
    keeper = Keeper(vectors.parts, Bench(ports.store, ports.folder, trees, ports.failpoints))
    refill = Refill(
        RefillPorts(
            ports.store, ports.embedder, ports.bus, ports.picture, keeper.wake, clean=ports.clean, wall=ports.wall,
            failpoints=ports.failpoints,
        )
    )  # fmt: skip
    return _Parts(vectors, keeper, refill)


@asynccontextmanager
async def open_dense(ports: DensePorts, facilities: UpPort | None = None) -> AsyncIterator[DenseIndex]:
    """The vectors for the length of the block; no process of theirs is left then.  Returns at once."""
    dense = DenseIndex(ports)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dense.keep, facilities)
        yield dense
        nursery.cancel_scope.cancel()
