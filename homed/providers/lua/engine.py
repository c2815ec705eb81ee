"""One script and the process it runs in: started with the first request, ended when it has been idle for a while.

A process for each script, so that one that runs wild or crashes costs the answers of no other; a person uses one or two
(14 MB each, up in some tenths of a second).  All versions of a file that has changed meanwhile are in the same process:
an answer goes on with the one that asked for it.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from homed.errors import HomedError, StorageError
from homed.proc.ladder import stop_ladder
from homed.proc.spawn import Child, Command, spawn
from homed.providers.lua.life import Life, ScriptEnded, ScriptFailed, Serve, nothing

log = logging.getLogger(__name__)

IDLE = 300.0
"""Seconds without a request after which the process ends."""

STOP_GRACE = 1.0
"""Seconds from the end of its stdin to SIGTERM, and from there to SIGKILL; it has nothing to save."""

START_LIMIT = 30.0

_ARGV = (sys.executable, "-P", "-m", "homed.providers.lua.child")


@dataclass(frozen=True, slots=True)
class EnginePorts:
    """What an engine needs: ``folder``, private to this user, to run in; the children's whole environment ``env``; the
    beginning ``family`` of their marks; ``said`` takes what the script logs (level, text)."""

    folder: Path
    env: Mapping[str, str]
    family: str
    said: Callable[[str, str], None]
    idle: float = IDLE
    argv: tuple[str, ...] = _ARGV


@dataclass(eq=False, slots=True)
class Version:
    """One state of a script's file; ``stamp`` tells it from others, ``streams`` counts the answers that use it."""

    number: int
    name: str
    source: str = field(repr=False)
    stamp: object
    streams: int = 0


class Engine:
    """Runs calls in the script's process.  ``run`` is the task that holds it; without it nothing is answered."""

    def __init__(self, name: str, ports: EnginePorts) -> None:
        self.name = name
        self._ports = ports
        self._numbers = itertools.count(1)
        self._current: Version | None = None
        self._life: Life | None = None
        self._wanted = trio.Event()
        self._begun = trio.Event()
        self._failed: HomedError | None = None
        self._used = 0.0
        self._open = 0

    @property
    def pid(self) -> int:
        """Of its process; 0 while there is none."""
        return 0 if self._life is None else self._life.pid

    def version(self, source: str, stamp: object) -> Version:
        """The version with this text: the one there is, or a new one, which takes its place for new requests."""
        current = self._current
        if current is None or (current.stamp, current.source) != (stamp, source):
            self._current = Version(next(self._numbers), f"{self.name}.lua", source, stamp)
            if current is not None:
                self._tidy(current)
        assert self._current is not None
        return self._current

    def current(self, stamp: object) -> Version | None:
        """The version in use, if the file is still that one."""
        return self._current if self._current is not None and self._current.stamp == stamp else None

    async def life(self, version: Version) -> Life:
        """The process, started if need be, with this version loaded.  Raises ScriptFailed, ScriptEnded, HomedError."""
        self._used = trio.current_time()
        life = self._life if self._life is not None and not self._life.over.is_set() else await self._start()
        await life.load(version.number, version.name, version.source)
        return life

    async def run_once(self, version: Version, kind: str, *given: str, serve: Serve = nothing) -> Any:
        """One call that is no part of an answer.  Raises as ``life`` and ``Life.call``."""
        return await (await self.life(version)).call(version.number, 0, kind, given, serve)

    async def try_out(self, name: str, source: str) -> None:
        """Load a script under this name and forget it.  Raises as ``life``."""
        version = Version(next(self._numbers), name, source, None)
        life = await self.life(version)
        life.unload(version.number)

    def begin(self, version: Version) -> None:
        """An answer begins with this version; its process is not ended for being idle until ``end``."""
        version.streams += 1
        self._open += 1

    def end(self, version: Version, life: Life | None, stream: int) -> None:
        """It is over."""
        version.streams -= 1
        self._open -= 1
        self._used = trio.current_time()
        if life is not None:
            life.forget(version.number, stream)
        self._tidy(version)

    def _tidy(self, version: Version) -> None:
        if version is not self._current and not version.streams and self._life is not None:
            self._life.unload(version.number)

    async def _start(self) -> Life:
        self._wanted.set()
        with trio.move_on_after(START_LIMIT):
            while self._life is None or self._life.over.is_set():
                await self._begun.wait()
                if self._failed is not None:
                    raise self._failed
            return self._life
        raise ScriptEnded(f"its process was not there within {START_LIMIT:g} s")

    async def run(self) -> None:
        """Until cancelled; no process is left then."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            try:
                await self._live()
            except HomedError as error:  # it cannot be started: whoever waits is told, and the next may try again
                log.warning("the adapter script %s cannot run: %s", self.name, error.message)
                self._tell(error)

    def _tell(self, failed: HomedError | None) -> None:
        self._failed = failed
        self._begun.set()
        self._begun = trio.Event()

    async def _live(self) -> None:
        ports = self._ports
        await trio.to_thread.run_sync(_private, ports.folder)
        command = Command(ports.argv, ports.folder, ports.env)
        async with spawn(command, mark=f"{ports.family}:{secrets.token_hex(4)}") as child:
            child.hunt_strays = False  # a script starts nothing
            life = Life(child, ports.said)
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(life.drain)
                    nursery.start_soon(life.write)
                    nursery.start_soon(life.converse)
                    self._life, self._used = life, trio.current_time()
                    self._tell(None)
                    await self._until_over(life, child)
                    nursery.cancel_scope.cancel()
            finally:
                self._life = None

    async def _until_over(self, life: Life, child: Child) -> None:
        """Until it has ended by itself, or has been idle long enough and was ended."""
        while not life.over.is_set():
            rest = self._used + self._ports.idle - trio.current_time()
            if rest <= 0 and not life.busy and not self._open:
                self._life = None  # whoever asks now waits for the next one
                await stop_ladder(child, ask=child.stdin.aclose, grace=STOP_GRACE, term=STOP_GRACE)
                return
            with trio.move_on_after(rest if rest > 0 else self._ports.idle):
                await life.over.wait()
        if life.why:
            log.warning("the adapter script %s: %s", self.name, life.why)


def _private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:  # else it would end more than the script
        raise StorageError(
            f"{folder} cannot be made: {error.strerror}.", hint="Free some space, or give this user write access to it."
        ) from error


__all__ = ["Engine", "EnginePorts", "ScriptEnded", "ScriptFailed", "Version"]
