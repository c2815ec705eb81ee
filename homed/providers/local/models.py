"""All the models of this machine: an engine for each that is asked, and the current one kept ready."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from homed.providers.base import LOCAL, Source
from homed.providers.local import gguf
from homed.providers.local.engine import Engine, EnginePorts
from homed.providers.local.provider import LocalProvider
from homed.providers.local.weights import MODEL, Telling, Weights

EMBEDDED = Source("embedded", "", MODEL, adapter=LOCAL, context_window=2048, max_concurrent=1, tools=False)
"""The source that is there by itself.  Its window is what one thread reads in some twenty seconds at the worst."""

NOTE = (
    f"{MODEL}, built in: small and slow, good for small talk and short questions, weak in languages other than English;"
    " add a key on the Models page for more."
)


@dataclass(frozen=True, slots=True)
class LocalPorts:
    """What local models need.

    ``models`` is where the weights are, ``run`` a folder of this user alone for the children to run in, ``data`` the
    data folder (it names the family of processes).  ``opening`` is the text a small model's prompts begin with.
    ``warm``: keep the current one ready, once ``hold`` returns; without it a child is started only when somebody asks.
    """

    data: Path
    models: Path
    run: Path
    env: Mapping[str, str]
    opening: Callable[[], str]
    warm: bool = True
    say: Callable[[str], None] = lambda _: None
    weights: Weights | None = None
    hold: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint


@dataclass(frozen=True, slots=True)
class Standing:
    """How a source on this machine is doing: ``state`` as of the engine, and words for people."""

    state: str = ""
    note: str = ""


class LocalModels:
    """The engines by the name of their source; ``start`` runs a task for as long as the sources are open."""

    def __init__(self, ports: LocalPorts, start: Callable[[Callable[[], Any]], None]) -> None:
        self._ports = ports
        self._start = start
        self._weights = ports.weights or Weights(ports.models)
        self._family = f"{hashlib.sha256(str(ports.data.resolve()).encode()).hexdigest()[:8]}-model"
        self._engines: dict[str, Engine] = {}

    @property
    def built_in(self) -> bool:
        """Whether the built-in model's weights are there, or where they can be had from."""
        return self._weights.present()

    def provider(self, source: Source) -> LocalProvider:
        """The source, ready to be asked."""
        return LocalProvider(self._engine(source))

    def follow(self, sources: Iterable[Source], current: Source | None) -> None:
        """Keep the current one ready if it is one of ours, let the others go, and end those that are no more."""
        known = {source.name: source for source in sources}
        for name, engine in list(self._engines.items()):
            if known.get(name) != engine.source:
                self._drop(name)
        if current is not None and current.adapter == LOCAL:
            self._engine(current)
        for name, engine in self._engines.items():
            engine.keep(current is not None and name == current.name)

    def standing(self, source: Source) -> Standing:
        """How it is doing."""
        engine = self._engines.get(source.name)
        note = NOTE if source.kind == "embedded" else ""
        if engine is None or engine.source != source:
            return Standing("", note)
        if engine.state == "failed":
            return Standing("failed", f"{source.model} does not run: {engine.reason}")
        return Standing(engine.state, note)

    async def wait_ready(self, source: Source) -> str:
        """Wait until it can answer: ''; or until it has failed: why.  Starts nothing: `follow` does."""
        engine = self._engine(source)
        return "" if await engine.wait_settled() else f"{source.model} does not run: {engine.reason}"

    def _engine(self, source: Source) -> Engine:
        engine = self._engines.get(source.name)
        if engine is None or engine.source != source:
            self._drop(source.name)
            engine = self._engines[source.name] = Engine(source, self._engine_ports(source))
            self._start(engine.run)
        return engine

    def _drop(self, name: str) -> None:
        engine = self._engines.pop(name, None)
        if engine is not None:
            engine.retire()

    def _engine_ports(self, source: Source) -> EnginePorts:
        cores = os.cpu_count() or 1
        return EnginePorts(
            file=lambda thorough: self._file(source, thorough),
            # The prompts of a model that takes tools begin with those, which change: nothing is read beforehand.
            opening=(lambda: "") if source.tools else self._ports.opening,
            folder=self._ports.run,
            family=self._family,
            env=self._ports.env,
            threads=1 if source.kind == "embedded" else max(1, cores // 2),
        )

    def _file(self, source: Source, thorough: bool) -> Path:
        """The model's file, checked and put in place if it is the built-in one; blocks for the disk."""
        self._ports.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._ports.run.chmod(0o700)
        if source.path:
            gguf.check(Path(source.path))
            return Path(source.path)
        return self._weights.ready(Telling(self._ports.say), thorough=thorough)
