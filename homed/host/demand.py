"""Who wants a lazy plugin to run: calls that wait for it, calls that run, leases it holds, a person who started it.

Sync but for a waiter's own wait; counting happens where it is decided, so that no call falls between two counts.
"""

from __future__ import annotations

import trio

from homed.errors import Unavailable
from homed.host.life import Running


class Waiter:
    """One call: ``served_by`` the plugin that is up, or None while it waits for that."""

    def __init__(self, running: Running | None = None) -> None:
        self.served_by = running
        self._settled = trio.Event() if running is None else None
        self._refusal: tuple[str, str] = ("", "")

    async def running(self) -> Running:
        """The plugin once it is up; `Unavailable` with the reason when its start led nowhere."""
        if self._settled is not None:
            await self._settled.wait()
        if self.served_by is None:
            message, hint = self._refusal
            raise Unavailable(message, hint=hint)
        return self.served_by

    def settle(self, running: Running | None, message: str = "", hint: str = "") -> None:
        """Say what came of it; once, to one that waits."""
        self.served_by, self._refusal = running, (message, hint)
        if self._settled is not None:
            self._settled.set()


class Demand:
    """The demand for one plugin."""

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}  # an ordered set: whoever waited first is served first
        self._calls: set[Waiter] = set()
        self._leases: set[str] = set()
        self._asked = False
        self._last = 0.0

    @property
    def any(self) -> bool:
        """True while somebody waits for it to be started."""
        return self._asked or bool(self._waiters)

    @property
    def leases(self) -> tuple[str, ...]:
        """What it is busy with, sorted."""
        return tuple(sorted(self._leases))

    def ask(self) -> None:
        """Somebody who waits for no answer wants it up: once, until it is."""
        self._asked = True

    def enter(self, running: Running | None) -> Waiter:
        """A call comes: counted as running when the plugin is up, else as waiting."""
        waiter = Waiter(running)
        if running is None:
            self._waiters[waiter] = None
        else:
            self._calls.add(waiter)
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """The call is over, or its patience is."""
        self._waiters.pop(waiter, None)
        if waiter in self._calls:
            self._calls.discard(waiter)
            self._last = trio.current_time()

    def serve(self, running: Running) -> None:
        """It is up: every call that waits begins."""
        waiting, self._waiters, self._asked = self._waiters, {}, False
        self._calls.update(waiting)
        self._last = trio.current_time()
        for waiter in waiting:
            waiter.settle(running)

    def refuse(self, message: str, hint: str = "") -> None:
        """It does not come up: every call that waits fails with this."""
        waiting, self._waiters, self._asked = self._waiters, {}, False
        for waiter in waiting:
            waiter.settle(None, message, hint)

    def hold(self, lease: str, held: bool) -> None:
        """It is busy with something of its own, or no longer."""
        if held:
            self._leases.add(lease)
        elif lease in self._leases:
            self._leases.remove(lease)
            self._last = trio.current_time()

    def ended(self) -> None:
        """Its life is over, and with it what it was busy with."""
        self._leases.clear()

    def idle_at(self, limit: float) -> float:
        """When (Trio's clock) to look again: ``limit`` seconds after the last use, or from now if it is in use."""
        used = trio.current_time() if self._busy else self._last
        return used + limit

    def idle(self, limit: float) -> bool:
        """Whether it has not been used for ``limit`` seconds."""
        return not self._busy and trio.current_time() >= self._last + limit

    @property
    def _busy(self) -> bool:
        return bool(self._calls or self._waiters or self._leases or self._asked)
