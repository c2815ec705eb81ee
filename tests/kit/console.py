"""The memory console on a real store, with an embedder that knows words and vectors that are really searched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from homed.config.secrets import Secrets
from homed.events import Bus
from homed.identity.roles import Identity, Role
from homed.jobs.console.console import Console
from homed.jobs.console.ports import ConsolePorts, Folders
from homed.memory.ports import Embedder
from homed.redact import Redactor
from homed.retrieval.embed.current import Standing
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.rank import Ranker
from homed.retrieval.vectors import Vectors, todo
from homed.retrieval.vectors.todo import Made
from homed.settings.registry import Settings, open_settings
from homed.store.db import Store

NOW = 2_000.0


@dataclass
class InUse:
    """Which embedder there is."""

    current: Embedder | None
    standing: Standing


class Woken:
    """Vectors that are made when a test says so; counts how often somebody says that there is something to do."""

    trouble = ""

    def __init__(self) -> None:
        self.times = 0

    def wake(self) -> None:
        self.times += 1


@dataclass
class Desk:
    """The console and what it stands on."""

    store: Store
    settings: Settings
    bus: Bus
    console: Console
    embedder: FakeEmbedder
    woken: Woken
    known: list[str]

    async def vectorise(self) -> None:
        """Have a vector for everything that waits for one."""
        space = self.embedder.space
        number, _ = await self.store.write(lambda tx: todo.enter(tx, space))
        while True:
            found = await self.store.read(lambda tx: todo.next_(tx, space, number, 64, again=False))
            if not found.items:
                return
            texts = [source.text for source in found.sources]
            vectors = await self.embedder.embed(texts)
            made = [Made(one, [(0, vectors[at])]) for at, one in enumerate(found.sources)]
            await self.store.write(lambda tx: todo.keep(tx, space, number, made))  # noqa: B023 - awaited here
            await self.store.write(lambda tx: todo.strike_idle(tx, space, number, found.items))  # noqa: B023


def who(scope: str = "owner", peer: str = "webui:owner", role: Role = Role.OWNER) -> Identity:
    """Somebody who looks."""
    return Identity(peer, peer.partition(":")[0], "", role, scope)


GUEST = who("guest:qq:1", "qq:1", Role.GUEST)


@asynccontextmanager
async def open_desk(
    folder: Path, store: Store, *, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[Desk]:
    """One over this store."""
    async with open_settings(store, {}, Secrets(folder / "secrets.json")) as settings:
        embedder, vectors, woken, bus = FakeEmbedder(), Vectors(), Woken(), Bus(lambda: NOW)
        ranker, known = Ranker(lambda: embedder, vectors), list[str]()
        folders = Folders(folder, folder / "homed.db", folder / "vectors", folder / "media", folder / "backups")
        ports = ConsolePorts(
            store=store, settings=settings, redactor=Redactor(), bus=bus,
            embedder=InUse(embedder, Standing("bundled", "bundled", "ready")), dense=woken,
            folders=folders, know=known.extend, ranker=ranker, wall=lambda: NOW, transport=transport,
        )  # fmt: skip
        yield Desk(store, settings, bus, Console(ports), embedder, woken, known)
