"""A store with conversations in it, and a refill with an embedder that does as it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import trio
from numpy.typing import NDArray

from homed.errors import NotFound
from homed.events import Bus
from homed.memory import events, inputs, threads
from homed.memory.ports import Near
from homed.memory.records import Event, EventKind, Input, NewEvent, NewInput
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import Vectors
from homed.retrieval.vectors.refill import Refill, RefillPorts
from homed.store.db import Store, open_store
from homed.store.executors import InlineExecutor
from homed.store.rows import Tx

T = TypeVar("T")


class Poisoned(FakeEmbedder):
    """Cannot bear a word, and may take its time."""

    poison = "poison"
    seconds = 0.0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        await trio.sleep(self.seconds)
        if any(self.poison in text for text in texts):
            raise EmbedFailed("That text is too much.")
        return await super().embed(texts, query=query)


@dataclass
class Chosen:
    """The embedder in use; may be changed."""

    current: FakeEmbedder | None = None
    _changed: trio.Event = field(default_factory=trio.Event)

    async def wait_changed(self) -> None:
        await self._changed.wait()

    def use(self, embedder: FakeEmbedder | None) -> None:
        self.current = embedder
        self._changed.set()
        self._changed = trio.Event()


@dataclass
class Filled:
    """What a test works with."""

    store: Store
    bus: Bus
    chosen: Chosen
    refill: Refill
    ports: RefillPorts
    vectors: Vectors = field(default_factory=Vectors)
    pictures: dict[str, bytes] = field(default_factory=dict)
    stored: int = 0

    @property
    def embedder(self) -> FakeEmbedder:
        assert self.chosen.current is not None
        return self.chosen.current

    async def say(self, *texts: str, scope: str = "owner", **more: object) -> list[Event]:
        """Events, in one transaction."""
        return await self.store.write(lambda tx: [say(tx, text, scope, **more) for text in texts])

    async def find(self, text: str, *, scope: str = "owner", kind: str = "event", limit: int = 3) -> list[Near]:
        """What is near to a text, in the embedder's space."""
        vector, space = self.embedder.vector(text), self.embedder.space.fingerprint
        return await self.store.read(
            lambda tx: self.vectors.nearest(tx, scope=scope, vector=vector, space=space, kinds=[kind], limit=limit)
        )

    async def value(self, sql: str) -> object:
        """One value of the database."""
        return await self.store.read(lambda tx: tx.value(sql))

    async def have(self, kind: str = "event") -> list[int]:
        """Items that have a vector in the embedder's space."""
        rows = await self.store.read(
            lambda tx: tx.all(
                "SELECT DISTINCT item FROM vectors v JOIN vector_spaces s ON s.id = v.space"
                " WHERE s.fingerprint = ? AND kind = ? ORDER BY item",
                (self.embedder.space.fingerprint, kind),
            )
        )
        return [item for (item,) in rows]

    async def all_done(self) -> None:
        """Run until there is nothing left to do."""
        async with self.running():
            await self.refill.wait_done()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The refill at work."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.refill.keep)
            yield
            nursery.cancel_scope.cancel()


def say(tx: Tx, text: str, scope: str = "owner", **more: object) -> Event:
    """An event of the one conversation of this scope."""
    given = _turn(tx, scope)
    return events.append(tx, given, NewEvent(**{"kind": EventKind.USER, "text": text, **more}), at=1.0)  # type: ignore[arg-type]


def _turn(tx: Tx, scope: str) -> Input:
    found = tx.value("SELECT id FROM inputs WHERE scope = ? LIMIT 1", (scope,))
    if found is None:
        thread = threads.create(tx, scope=scope, channel="qq", title=scope, at=1.0)
        found = inputs.accept(tx, NewInput(thread.id, scope, "qq", "qq:a", "owner", "x"), at=1.0)[0].id
    return inputs.begin(tx, str(found), turn=f"turn_{scope}", at=1.0)


@asynccontextmanager
async def opened(
    folder: Path, *, embedder: FakeEmbedder | None = None, alter: Callable[[RefillPorts], RefillPorts] = lambda p: p
) -> AsyncIterator[Filled]:
    """Everything on this thread, so that a clock that jumps is no trouble."""
    bus, chosen = Bus(lambda: 1.0), Chosen(embedder)
    async with open_store(folder / "homed.db", executor=InlineExecutor()) as store:
        house: Filled

        async def picture(hash_: str) -> bytes:
            await trio.lowlevel.checkpoint()
            if hash_ not in house.pictures:
                raise NotFound("There is no such picture.")
            return house.pictures[hash_]

        def stored() -> None:
            house.stored += 1

        ports = alter(RefillPorts(store, chosen, bus, picture, stored, wall=lambda: 1000.0))
        house = Filled(store, bus, chosen, Refill(ports), ports)
        yield house


def cleaner(clean: Callable[[str, Sequence[str]], Sequence[str]]) -> Callable[[RefillPorts], RefillPorts]:
    """Ports with this cleaner."""

    async def cleaned(channel: str, texts: Sequence[str]) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        return clean(channel, texts)

    return lambda ports: replace(ports, clean=cleaned)
