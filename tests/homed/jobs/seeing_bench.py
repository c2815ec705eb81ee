"""Files of messages on a real store, and eyes that see what a test says."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import trio

from homed.agent.uploads import Piece, Uploads
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.eyes import Look
from homed.jobs.job import JobPorts, Run
from homed.jobs.seeing import SeeingPorts, see, seeing
from homed.memory import blocks, inputs, threads
from homed.memory.events import append
from homed.memory.records import EventKind, NewEvent, NewInput
from homed.redact import Redactor
from homed.retrieval import index
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles
from homed.store.rows import Row, Tx
from tests.homed.jobs.running import Turns
from tests.kit.builders import OWNER


@dataclass
class FakeEyes:
    """``found``: what is in a file of these bytes; anything else is a picture of itself.  ``asked``: how often."""

    found: dict[bytes, Look] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[tuple[bytes, str]] = field(default_factory=list)

    async def look(self, data: bytes, kind: str) -> Look:
        await trio.lowlevel.checkpoint()
        self.asked.append((data, kind))
        if self.error is not None:
            raise self.error
        return self.found.get(data, Look(b"small " + data[-8:]))


@dataclass
class Bench:
    store: Store
    files: MediaFiles
    uploads: Uploads
    eyes: FakeEyes
    ports: SeeingPorts
    settled: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    """Wait until all vectors are made, where any are."""

    async def say(
        self, text: str, *files: tuple[str, bytes], caption: str = "", no_memory: bool = False, withheld: bool = False
    ) -> int:
        """A message with files; the seq of its event."""
        taken = []
        for name, data in files:
            piece = Piece(data=data, name=name, caption=caption, last=True)
            taken.append((await self.uploads.receive(OWNER, piece))[0])

        def write(tx: Tx) -> int:
            thread = threads.create(tx, scope="owner", channel="cli", title=text, at=1.0)
            new = NewInput(thread.id, "owner", "cli", OWNER.peer, "owner", text, no_memory=no_memory)
            given, _ = inputs.accept(tx, new, at=1.0)
            blocks.take(tx, OWNER.peer, taken, given.id)
            begun = inputs.begin(tx, given.id, turn=f"turn_{given.id}", at=1.0)
            data = {"files": len(taken), **({"withheld": True} if withheld else {})}
            event = append(tx, begun, NewEvent(EventKind.USER, text, data), at=1.0)
            blocks.adopt(tx, event, given.id, at=1.0)
            index.catch_up(tx)
            return event.seq

        return await self.store.write(write)

    async def see(self) -> Run:
        """One run of the job."""
        zone = UTC
        made = JobPorts(store=self.store, wall=lambda: 1.0, zone=lambda: zone, turns=Turns())
        run = Run(seeing(self.ports), made, {})
        await see(run, self.ports)
        return run

    async def rows(self, sql: str, *values: object) -> list[Row]:
        return await self.store.read(lambda tx: tx.all(sql, values))  # type: ignore[arg-type]

    async def words(self, seq: int) -> str:
        """Of the files of an event."""
        return str((await self.rows("SELECT words FROM events WHERE seq = ?", seq))[0][0])

    async def states(self) -> list[str]:
        return [str(row[0]) for row in await self.rows("SELECT seen FROM blocks ORDER BY created_at, rowid")]

    def small(self) -> set[str]:
        """Hashes of the files that have a small picture."""
        return {path.name for path in self.files.root.glob("small-??/*")}


@asynccontextmanager
async def bench(folder: Path, failpoints: Failpoints | None = None) -> AsyncIterator[Bench]:
    async with open_store(folder / "homed.db") as store:
        files, redactor, eyes = MediaFiles(folder / "media"), Redactor(), FakeEyes()
        uploads = Uploads(store, files, redactor)
        await uploads.prepare()
        ports = SeeingPorts(
            store=store, files=files, keeper=uploads, eyes=eyes, redact=redactor.redact,
            failpoints=failpoints or NoFailpoints(),
        )  # fmt: skip
        yield Bench(store, files, uploads, eyes, ports)


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
