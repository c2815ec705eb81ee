"""How long plugins are waited for, as a person may set it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from homed.config.definitions import (
    HANDSHAKE_LIMIT,
    PING_INTERVAL,
    PING_MISSES,
    PLUGIN_LOG_BYTES,
    SCHEDULE_LIMIT,
    START_LIMIT,
)


@dataclass(frozen=True, slots=True)
class HostLimits:
    """Seconds, but for ``misses``, a number of pings, and ``log``, bytes of one file.

    ``start`` is for ``plugin.init`` and ``plugin.start`` together: a web server may import for a while on a slow
    machine.
    """

    handshake: float = 10.0
    start: float = 30.0
    ping: float = 15.0
    misses: int = 3
    schedule: float = 300.0
    log: int = 1_000_000


class SettingsPort(Protocol):
    """``homed.settings.Settings``, as far as it is used here."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...


def host_limits(settings: SettingsPort) -> HostLimits:
    """As they are set now."""
    return HostLimits(
        handshake=settings.float(HANDSHAKE_LIMIT),
        start=settings.float(START_LIMIT),
        ping=settings.float(PING_INTERVAL),
        misses=settings.int(PING_MISSES),
        schedule=settings.float(SCHEDULE_LIMIT),
        log=settings.int(PLUGIN_LOG_BYTES),
    )
