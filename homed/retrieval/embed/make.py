"""An embedder of what was chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from homed.memory.ports import Embedder
from homed.retrieval.embed import bundled
from homed.retrieval.embed.choice import Bundled, Off, Source, Tfidf
from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.hashing import fingerprint
from homed.retrieval.embed.local import LocalEmbedder, LocalModel
from homed.retrieval.embed.tfidf import TfidfEmbedder
from homed.retrieval.embed.worker import Opened, WorkerPorts

PATIENT = (5.0, 30.0, 120.0, 300.0)
"""Seconds before an endpoint is tried again that has not answered yet."""
PROMPT = 2.0
"""Seconds before a process is started again that has ended."""


@dataclass(frozen=True, slots=True)
class MakePorts:
    """What is needed; see ``current.EmbedPorts``.  ``baseline``: set by a person."""

    models: Path
    made: Path
    worker: WorkerPorts
    baseline: float | None
    know: Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Made:
    """An embedder that has a space once ``prepare`` returns.  ``patient``: it is waited for, however it fails."""

    embedder: Embedder | None
    prepare: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    patient: bool = False

    def pause(self, tries: int) -> float:
        """Seconds before it is prepared again, after so many failures."""
        return PATIENT[min(tries, len(PATIENT)) - 1] if self.patient else PROMPT


@asynccontextmanager
async def make(source: Source, ports: MakePorts) -> AsyncIterator[Made]:
    """The embedder, for the length of the block; it is not prepared yet."""
    if isinstance(source, Off):
        yield Made(None)
    elif isinstance(source, Tfidf):
        yield Made(TfidfEmbedder(ports.baseline))
    else:
        try:
            model = await trio.to_thread.run_sync(_model, source, ports)
        except Unfit as error:
            yield _failing(EmbedFailed(f"{error}.", lasting=True))
            return
        embedder = LocalEmbedder(model, ports.worker)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(embedder.run)
            yield Made(embedder, embedder.prepare)
            nursery.cancel_scope.cancel()


def _failing(error: EmbedFailed) -> Made:
    async def prepare() -> None:
        await trio.lowlevel.checkpoint()
        raise error

    return Made(None, prepare)


def _model(source: Source, ports: MakePorts) -> LocalModel:
    """What its child is to open.  ``Unfit``; blocks for the disk."""
    ports.worker.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if isinstance(source, Bundled):
        name = fingerprint("bundled", str(bundled.PREPARATION), files=bundled.files())
        known = Opened(bundled.DIMS, False, bundled.BASELINE)
        return LocalModel({"kind": "bundled"}, name, known, ports.baseline)
    raise Unfit(f"{type(source).__name__} is not there")
