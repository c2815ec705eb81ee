"""What the host says about a plugin: its state, how it last ended, and the words for a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class Trust(Enum):
    """Where a plugin came from; never what its manifest claims."""

    PACKAGED = "packaged"
    EXTERNAL = "external"


class State(StrEnum):
    """Where a plugin stands.  ``STOPPED`` needs a person, or was a person's wish: the reason says which.

    ``WAITING`` is for facilities (``waiting for X``, ``blocked on X: …``); ``LAZY`` for the first call.
    """

    ABSENT = "absent"
    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    BACKOFF = "backoff"
    STOPPED = "stopped"
    DISABLED = "disabled"
    LAZY = "lazy"


RESTING = frozenset({State.STOPPED, State.DISABLED})
"""States that only a person ends."""


@dataclass(frozen=True, slots=True)
class CrashReport:
    """One end that nobody asked for.

    ``at`` is wall-clock UTC seconds; ``code`` is None when a signal (a number) ended it or it never ran; ``stderr`` is
    the redacted tail, ``pending`` the calls without an answer.
    """

    at: float
    code: int | None
    signal: int | None
    stderr: str
    pending: tuple[str, ...]

    def wire(self) -> dict[str, object]:
        """As `docs/wire.md` shows it in ``admin.plugins``."""
        return {
            "at": self.at, "code": self.code, "signal": self.signal, "stderr": self.stderr,
            "pending": list(self.pending),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """A plugin as page and CLI show it.  Times are UTC seconds; ``address`` is (kind, address) if announced."""

    name: str
    name_zh: str
    version: str
    description: str
    state: State
    reason: str
    since: float
    pid: int | None
    tools: tuple[str, ...]
    trust: Trust
    crashes: tuple[CrashReport, ...] = ()
    retry_at: float | None = None
    address: tuple[str, str] | None = None
    lazy: bool = False
    busy: tuple[str, ...] = ()
    """The leases for which a lazy plugin is kept running."""

    def wire(self) -> dict[str, object]:
        """As `docs/wire.md` shows it in ``admin.plugins``."""
        return {
            "name": self.name, "name_zh": self.name_zh, "version": self.version, "description": self.description,
            "state": self.state.value, "reason": self.reason, "since": self.since, "pid": self.pid,
            "tools": list(self.tools), "trust": self.trust.value, "crashes": [c.wire() for c in self.crashes],
            "retry_at": self.retry_at, "lazy": self.lazy, "busy": list(self.busy),
        }  # fmt: skip
