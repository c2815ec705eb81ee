"""All adapter scripts of one data folder: the engine of each that is used, and the list of them for people."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from homed.errors import HomedError, InvalidInput
from homed.providers.base import Source
from homed.providers.http import HttpPorts, HttpProvider
from homed.providers.lua.adapter import Script, ScriptAdapter
from homed.providers.lua.engine import IDLE, Engine, EnginePorts, Version
from homed.providers.lua.fetch import Fetch
from homed.providers.lua.life import ScriptEnded, ScriptFailed
from homed.providers.lua.logged import Lines
from homed.providers.lua.shelf import NAME, Found, Shelf

log = logging.getLogger(__name__)

PREFIX = "lua:"
"""What the name of an adapter begins with that is a script."""


@dataclass(frozen=True, slots=True)
class LuaPorts:
    """What the scripts need: ``folder`` holds them, ``run`` (this user's alone) is where their processes run, in the
    environment ``env`` and marked as ``family``."""

    folder: Path
    run: Path
    env: Mapping[str, str]
    family: str
    idle: float = IDLE


@dataclass(frozen=True, slots=True)
class Listed:
    """A script for people; ``error`` is why it cannot be loaded, "" if it can."""

    name: str
    origin: str
    path: str
    newer: str = ""
    error: str = ""


class Scripts:
    """``start`` runs a task for as long as the sources are open.  Nothing is read or started before it is needed."""

    def __init__(self, ports: LuaPorts, start: Callable[[Callable[[], Any]], None]) -> None:
        self._ports = ports
        self._start = start
        self._shelf = Shelf(ports.folder)
        self._engines: dict[str, Engine] = {}
        self._settled = False
        self._settling = trio.Lock()

    def provider(self, source: Source, ports: HttpPorts) -> HttpProvider:
        """A source whose adapter is ``lua:NAME``, ready to be asked; whether there is such a script is seen then."""
        adapter = self.adapter(source.adapter, ports)
        return HttpProvider(source, adapter, ports)

    def adapter(self, adapter: str, ports: HttpPorts) -> ScriptAdapter:
        """The adapter of that name; InvalidInput for one that cannot be."""
        name = script_name(adapter)
        engine = self._engine(name)
        script = Script(f"{name}.lua", engine, partial(self._version, engine))
        return ScriptAdapter(script, lambda source, key: Fetch(ports.client, source, key).serve)

    def pid(self, name: str) -> int:
        """Of the process that runs a script; 0 while there is none."""
        return self._engines[name].pid if name in self._engines else 0

    async def settle(self) -> None:
        """Put the bundled scripts in place, once.  Raises StorageError."""
        async with self._settling:
            if not self._settled:
                await trio.to_thread.run_sync(self._shelf.refresh)
                self._settled = True

    async def names(self) -> list[str]:
        """The scripts there are.  Raises StorageError."""
        await self.settle()
        return [one.name for one in await trio.to_thread.run_sync(self._shelf.found)]

    async def listed(self) -> list[Listed]:
        """Every script with its origin, and whether it can be loaded.  Raises StorageError."""
        await self.settle()
        found = await trio.to_thread.run_sync(self._shelf.found)
        return [Listed(one.name, one.origin, str(one.path), one.newer, await self._fault(one)) for one in found]

    async def _fault(self, one: Found) -> str:
        """Why it cannot be loaded, tried in a process apart from those that answer."""
        try:
            source = await trio.to_thread.run_sync(self._shelf.read, one.name)
            await self._engine("").try_out(f"{one.name}.lua", source)
        except ScriptFailed as error:
            return str(error)
        except ScriptEnded as error:
            return f"{one.name}.lua: {error}"
        except HomedError as error:
            return error.message
        return ""

    async def _version(self, engine: Engine) -> Version:
        await self.settle()
        name = engine.name
        stamp = await trio.to_thread.run_sync(self._shelf.stamp, name)
        if (version := engine.current(stamp)) is not None:
            return version
        return engine.version(await trio.to_thread.run_sync(self._shelf.read, name), stamp)

    def _engine(self, name: str) -> Engine:
        """The engine of a script; that of "" tries scripts out."""
        if name not in self._engines:
            ports = self._ports
            file = f"{name}.lua" if name else ""
            said = Lines(file).line
            idle = ports.idle if name else 2.0
            engine = Engine(name, EnginePorts(ports.run, ports.env, ports.family, said, idle))
            self._engines[name] = engine
            self._start(engine.run)
        return self._engines[name]


def script_name(adapter: str) -> str:
    """``NAME`` of ``lua:NAME``; raises InvalidInput."""
    name = adapter.removeprefix(PREFIX)
    if not adapter.startswith(PREFIX) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"{adapter!r} cannot be an adapter script.", hint="lua:NAME is adapters/NAME.lua in the data folder."
        )
    return name
