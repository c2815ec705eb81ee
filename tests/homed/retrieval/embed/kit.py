"""Settings, children and small models for the tests of embedders."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import trio

from homed.config.definitions import CORE
from homed.config.environment import child_environment
from homed.retrieval.embed import bundled
from homed.retrieval.embed.encoders import Spec
from homed.retrieval.embed.local import LocalEmbedder, LocalModel
from homed.retrieval.embed.worker import Opened, Worker, WorkerPorts
from homed.settings.watch import Watch

ROOT = Path(__file__).parents[4]
BUNDLED_OPENED = Opened(bundled.DIMS, False, bundled.BASELINE)
STAND_IN = (sys.executable, "-m", "tests.kit.children.fake_embedding")

# the methods named after the types hide these names in the signatures of the class
_Int = int
_Float = float
_Str = str


class FixedSettings:
    """Settings of which only those of embeddings are asked: by the last part of their keys."""

    def __init__(self, **given: object) -> None:
        self._values: dict[_Str, Any] = {one.key: one.default for one in CORE}
        self._short = {key.rpartition(".")[2]: key for key in self._values}
        self._watches: list[Watch] = []
        for name, value in given.items():
            self._values[self._short[name]] = value

    def str(self, key: _Str) -> _Str:
        return _Str(self._values[key])

    def int(self, key: _Str) -> _Int:
        return _Int(self._values[key])

    def float(self, key: _Str) -> _Float:
        return _Float(self._values[key])

    @contextmanager
    def watch(self, prefix: _Str = "") -> Iterator[Watch]:
        watch = Watch(prefix)
        self._watches.append(watch)
        yield watch

    def change(self, **given: object) -> None:
        """Set some, and tell."""
        for name, value in given.items():
            key = self._short[name]
            self._values[key] = value
            for watch in self._watches:
                watch.offer(key, value)


def bundled_spec(folder: Path) -> Spec:
    """The bundled model, kept in ``folder`` once it was loaded."""
    return {"kind": "bundled", "made": str(folder / "made"), "name": "bundled-test"}


def worker_ports(folder: Path, argv: tuple[str, ...] | None = None, **changes: Any) -> WorkerPorts:
    """Children in ``folder``: the real one, or what ``argv`` runs."""
    env = {**child_environment(), "PYTHONPATH": str(ROOT)}
    given = {} if argv is None else {"argv": argv}
    return WorkerPorts(folder, f"test-{folder.name}", env, **{**given, **changes})


@asynccontextmanager
async def worker_in(folder: Path, spec: Spec, *, bulk: bool = False, **changes: Any) -> AsyncIterator[Worker]:
    """A worker with the stand-in for its child; nothing of it is left at the end."""
    worker = Worker(spec, worker_ports(folder, STAND_IN, **changes), bulk=bulk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run)
        yield worker
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def local_in(
    folder: Path, spec: Spec, *, known: Opened | None = None, real: bool = False, **changes: Any
) -> AsyncIterator[LocalEmbedder]:
    """A prepared embedder on this machine."""
    ports = worker_ports(folder, None if real else STAND_IN, **changes)
    embedder = LocalEmbedder(LocalModel(spec, "test-space", known), ports)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(embedder.run)
        await embedder.prepare()
        yield embedder
        nursery.cancel_scope.cancel()
