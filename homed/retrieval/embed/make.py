"""An embedder of what was chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from homed.config.secrets import key_of
from homed.errors import ConfigError
from homed.loading import load
from homed.memory.ports import Embedder
from homed.retrieval.embed import bundled, wordfile
from homed.retrieval.embed.choice import Bundled, Endpoint, Folder, Off, Source, Static, Tfidf
from homed.retrieval.embed.encoders import Unfit
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.files import model_files
from homed.retrieval.embed.hashing import fingerprint
from homed.retrieval.embed.local import LocalEmbedder, LocalModel
from homed.retrieval.embed.tfidf import TfidfEmbedder
from homed.retrieval.embed.till import Till
from homed.retrieval.embed.worker import Opened, WorkerPorts

if TYPE_CHECKING:  # loaded where an endpoint is set
    import httpx2

PATIENT = (5.0, 30.0, 120.0, 300.0)
"""Seconds before an endpoint is tried again that has not answered yet."""
FOLDER_PREPARATION = "1"
STATIC_PREPARATION = "1"
"""Of what is done to texts and images before a model sees them; another one is another space."""

PROMPT = 2.0
"""Seconds before a process is started again that has ended."""

_ENDPOINT = "Set core.memory.embedding_base_url and core.memory.embedding_model."


@dataclass(frozen=True, slots=True)
class MakePorts:
    """What is needed; see ``current.EmbedPorts``.  ``baseline``: set by a person."""

    models: Path
    made: Path
    worker: WorkerPorts
    baseline: float | None
    know: Callable[[Sequence[str]], None]
    transport: httpx2.AsyncBaseTransport | None = None
    hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    till: Till | None = None


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
    match source:
        case Off():
            yield Made(None)
        case Tfidf():
            yield Made(TfidfEmbedder(ports.baseline))
        case Endpoint():
            async with _remote(source, ports) as made:
                yield made
        case _:
            async with _local(source, ports) as made:
                yield made


@asynccontextmanager
async def _remote(source: Endpoint, ports: MakePorts) -> AsyncIterator[Made]:
    if not (source.base_url and source.model):
        yield _failing("The embedding endpoint has no address or no model yet", _ENDPOINT)
        return
    try:
        whole = source
        if source.key_file and not source.key:
            whole = replace(source, key=await trio.to_thread.run_sync(key_of, source.key_file))
    except ConfigError as error:
        yield _failing(error.message, error.hint)
        return
    ports.know([whole.key] if whole.key else [])
    await load("homed.retrieval.embed.remote")
    from homed.net import open_http
    from homed.retrieval.embed.remote import RemoteEmbedder

    async with open_http(ports.transport) as http:
        embedder = RemoteEmbedder(whole, http, baseline=ports.baseline, till=ports.till)
        yield Made(embedder, embedder.prepare, patient=True)


@asynccontextmanager
async def _local(source: Bundled | Folder | Static, ports: MakePorts) -> AsyncIterator[Made]:
    try:
        model = await trio.to_thread.run_sync(_model, source, ports)
    except Unfit as error:
        yield _failing(f"{error}", "")
        return
    embedder = LocalEmbedder(model, ports.worker)

    async def prepare() -> None:
        if model.known is None:  # a whole core for seconds
            await ports.hold()
        await embedder.prepare()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(embedder.run)
        yield Made(embedder, prepare)
        nursery.cancel_scope.cancel()


def _failing(why: str, hint: str) -> Made:
    async def prepare() -> None:
        await trio.lowlevel.checkpoint()
        raise EmbedFailed(f"{why.rstrip('.')}.", hint=hint, lasting=True)

    return Made(None, prepare)


def _model(source: Bundled | Folder | Static, ports: MakePorts) -> LocalModel:
    """What its child is to open.  ``Unfit``; blocks for the disk."""
    try:
        ports.worker.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unfit(f"{ports.worker.folder} cannot be made: {error.strerror}") from None
    match source:
        case Bundled():
            name = fingerprint("bundled", str(bundled.PREPARATION), files=bundled.files())
            known = Opened(bundled.DIMS, False, bundled.BASELINE)
            return LocalModel({"kind": "bundled", "made": str(ports.made), "name": name}, name, known, ports.baseline)
        case Folder(path):
            files = model_files(path)
            name = fingerprint("folder", FOLDER_PREPARATION, files=files.all())
            return LocalModel({"kind": "folder", "path": str(path)}, name, None, ports.baseline)
        case Static(paths):
            name = fingerprint("static", STATIC_PREPARATION, files=paths)
            wordfile.tidy(ports.made, paths)
            spec = {"kind": "static", "files": [str(path) for path in paths], "made": str(ports.made)}
            return LocalModel(spec, name, None, ports.baseline)
