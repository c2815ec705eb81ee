"""What everybody else sees of one plugin: where it stands and why, and the way to it for calls."""

from __future__ import annotations

from collections.abc import Callable

import trio

from homed.clock import WallClock
from homed.errors import TimedOut, Unavailable
from homed.host.demand import Demand, Waiter
from homed.host.facilities import Facilities
from homed.host.life import Plan, Running
from homed.host.registry import Registry
from homed.host.states import RESTING, State

SETTLED = RESTING | {State.READY, State.BACKOFF, State.LAZY}
"""Where a start has led somewhere."""
_CALLABLE = frozenset({State.ABSENT, State.LAZY, State.WAITING, State.STARTING, State.READY, State.STOPPING})
"""Where a lazy plugin takes calls: it is up, or comes up for them."""

_AT_REST = frozenset({State.ABSENT, State.LAZY, State.WAITING})


class Front:
    """A plugin's state with its reason (a sentence, may be empty); ``since`` is wall-clock seconds.

    Its supervisor sets it; the registry lists what it offers accordingly, and calls that wait are refused where a state
    ends their hope.
    """

    def __init__(self, plan: Plan, registry: Registry, facilities: Facilities, wall: WallClock) -> None:
        self.state, self.reason, self.since = State.ABSENT, "", wall()
        self.lazy = plan.manifest.activation == "lazy"
        self.demand = Demand()
        self.running: Running | None = None
        """The life that takes calls now."""
        self.closed = ""
        """Why no call is taken any more, whatever the state; empty while they are."""
        self.wake = trio.Event()
        """Set to have the supervisor look at what is wanted."""
        self._plan, self._registry, self._facilities, self._wall = plan, registry, facilities, wall
        self._changed = trio.Event()

    def __str__(self) -> str:
        """``backoff (exit code 1; starts again in 2 s)``."""
        return f"{self.state.value} ({self.reason})" if self.reason else self.state.value

    @property
    def blocked(self) -> bool:
        """A facility that it needs will not come up in this run of homed."""
        return self.state is State.WAITING and bool(self._facilities.blocked(self._plan.manifest.needs))

    @property
    def settled(self) -> bool:
        """Nothing more comes of a start by itself; what waits for a facility, and says so, may wait long."""
        return bool(self.closed) or self.state in SETTLED or (self.state is State.WAITING and bool(self.reason))

    def set(self, state: State, reason: str) -> bool:
        """Change it; False if it is so already.  Whoever waits runs after the caller has gone on."""
        if (state, reason) == (self.state, self.reason):
            return False
        if state is not self.state:
            self.since = self._wall()
        self.state, self.reason = state, reason
        self._registry.set_ready(self._plan.name, self._takes_calls if self.lazy else state is State.READY)
        if state in RESTING or state is State.BACKOFF or self.blocked:
            refusal = self.unavailable()
            self.demand.refuse(refusal.message, refusal.hint)
        self._changed.set()
        self._changed = trio.Event()
        return True

    def close(self, why: str) -> None:
        """Take no more calls, and let none wait."""
        self.closed = why
        self.demand.refuse(f"The plugin {self._plan.name} takes no more calls: {why}.")
        self._changed.set()
        self._changed = trio.Event()

    async def wait(self, wanted: Callable[[], bool]) -> None:
        """Wait until ``wanted`` holds; it is asked after every change."""
        while not wanted():
            await self._changed.wait()

    async def wait_change(self) -> None:
        """Wait for the next change."""
        await self._changed.wait()

    async def wait_callable(self) -> None:
        """Wait until it takes calls; `Unavailable` when it stands where it will not by itself."""
        up = {State.READY, State.LAZY}
        await self.wait(lambda: self.state in RESTING | up or self.blocked or bool(self.closed))
        if self.state not in up:
            raise self.unavailable()

    def unavailable(self) -> Unavailable:
        """Why it takes no call now."""
        name, hint = self._plan.name, "Try again in a moment."
        if self.closed:
            return Unavailable(f"The plugin {name} takes no more calls: {self.closed}.", hint=hint)
        if self.state in RESTING:
            hint = f"Start it: homed plugin start {name}."
        elif self.blocked:
            hint = "It starts once that is mended; homed status shows it."
        return Unavailable(f"The plugin {name} is not running: {self}.", hint=hint)

    def serving(self, timeout: float) -> Serving:
        """Async with it: the running plugin for one call, and the seconds that are left of ``timeout``.

        A lazy one is started for it, and not stopped as idle before the block ends.  Raises `Unavailable` when it is
        not running (a lazy one: cannot be started), `TimedOut` when it is not up in time.
        """
        return Serving(self, timeout)

    def enter(self) -> Waiter:
        """A call comes: `demand.leave` it.  `Unavailable` when it has no hope."""
        if self.running is None:
            if not (self.lazy and self._takes_calls):
                raise self.unavailable()
            if self.state in _AT_REST:  # else it would cut a backoff short
                self.wake.set()
        return self.demand.enter(self.running)

    def late(self, timeout: float) -> TimedOut:
        """It was not up in time."""
        return TimedOut(
            f"The plugin {self._plan.name} was not up within {timeout:g} s ({self}); the call was not made.",
            detail={"ended": True},
        )

    @property
    def _takes_calls(self) -> bool:
        return self.state in _CALLABLE and not self.blocked and not self.closed


class Serving:
    """See `Front.serving`.  By hand, as every call comes through here: a generator takes as long as all else of it."""

    __slots__ = ("_call", "_front", "_timeout")

    def __init__(self, front: Front, timeout: float) -> None:
        self._front, self._timeout = front, timeout

    async def __aenter__(self) -> tuple[Running, float]:
        self._call = call = self._front.enter()
        if call.served_by is not None:
            return call.served_by, self._timeout
        try:
            until = trio.current_time() + self._timeout
            with trio.move_on_after(self._timeout):
                return await call.running(), max(0.001, until - trio.current_time())
            raise self._front.late(self._timeout)
        except BaseException:
            self._front.demand.leave(call)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._front.demand.leave(self._call)
