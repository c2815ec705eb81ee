"""One life of a plugin, from launch to end, as supervision and launcher share it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

import trio

from homed.host.states import Trust
from homed.wire.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Plan:
    """What to launch, and with which rights."""

    manifest: Manifest
    folder: Path
    trust: Trust
    capabilities: frozenset[str]

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.manifest.name


class Cause(Enum):
    """Why a life ends.  The first cause counts; what follows from it does not replace it."""

    EXITED = "exited"
    ASKED = "asked"
    BROKEN = "broken"
    HUNG = "hung"
    UNANSWERED = "unanswered"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Fate:
    """Cause, and one sentence about it for a person."""

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a life ended.  ``code`` is None where there was no exit code; ``refused``: starting again would not help."""

    code: int | None
    signal: int | None
    reason: str
    stderr: str = ""
    pending: tuple[str, ...] = ()
    asked_for: bool = False
    refused: bool = False
    failed: bool = True


class Running(Protocol):
    """The handle of a plugin that is up."""

    @property
    def pid(self) -> int:
        """Its process."""
        ...

    @property
    def address(self) -> tuple[str, str] | None:
        """(kind, address) where people reach it, once it has announced one."""
        ...

    async def call(self, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """As `Host.call`."""
        ...

    def settings_changed(self, key: str, value: object) -> None:
        """Tell it of a changed setting; never waits."""
        ...


class Life:
    """Shared by the supervisor, who may end it, and the launcher, who runs it and says when it is ready."""

    def __init__(self, plan: Plan, on_change: Callable[[], None]) -> None:
        self.plan = plan
        self.pid: int | None = None
        self.running: Running | None = None
        self.was_ready = False
        self.silent = False
        """The conversation has ended; what comes of the process is not known yet."""
        self._on_change = on_change
        self._doomed = trio.Event()
        self.fate: Fate | None = None
        """Set once its end is decided; from then on it takes no calls."""

    def started(self, pid: int) -> None:
        """There is a process."""
        self.pid = pid
        self._on_change()

    def ready(self, running: Running) -> None:
        """It answers: handshake, init and start are done."""
        if self.fate is None and not self.silent:
            self.running = running
            self.was_ready = True
            self._on_change()

    def fell_silent(self) -> None:
        """Nobody is left to talk to: no calls from here on."""
        self.running = None
        self.silent = True
        self._on_change()

    def doom(self, cause: Cause, reason: str) -> None:
        """End this life.  Only the first call counts; from then on it takes no calls."""
        if self.fate is not None:
            return
        self.fate = Fate(cause, reason)
        self.running = None
        self._doomed.set()
        self._on_change()

    async def doomed(self) -> Fate:
        """Wait for the end to be decided."""
        await self._doomed.wait()
        assert self.fate is not None
        return self.fate


Launcher = Callable[[Life], Awaitable[Ending]]
"""Runs one life to its end and leaves nothing of it behind, also when cancelled."""
