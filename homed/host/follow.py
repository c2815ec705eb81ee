"""How one plugin hears what happens: by a ring it reads itself, or notice by notice in its pipe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress

import trio

from homed.errors import InvalidInput, Unavailable
from homed.events import TYPES, Bus, Notice, Subscription
from homed.host.ring import LifeRings
from homed.wire import methods

WAITING = 1024
"""Notices that may wait for a pipe (some 20 s of a fast stream); then the oldest go and are counted."""

Notify = Callable[[str, Mapping[str, object]], Awaitable[None]]


class Follower:
    """A plugin's one subscription; a new one replaces it."""

    def __init__(self, bus: Bus, rings: LifeRings, notify: Notify) -> None:
        self._bus, self._rings, self._notify = bus, rings, notify
        self._by_line: trio.CancelScope | None = None

    def by_ring(self, types: frozenset[str] | None, *, content: bool) -> int:
        """Write the ring for it from here on; returns the number of the last notice before.

        Raises `Unavailable`, and leaves the earlier subscription, where it has no such ring.
        """
        seq = self._rings.subscribe(types, content=content)
        self._end_lines()
        return seq

    def by_line(self, types: frozenset[str] | None, nursery: trio.Nursery, *, content: bool) -> int:
        """Send it notices from here on, by a task in ``nursery``; returns the number of the last notice before."""
        self._end_lines()
        self._rings.unsubscribe()
        self._by_line = trio.CancelScope()
        wanted = None if types is None else types & TYPES
        stack = ExitStack()  # entered here, so that no notice falls between this call and the task's first step
        notices = stack.enter_context(self._bus.subscribe(wanted, size=WAITING))
        nursery.start_soon(self._forward, stack, notices, content, self._by_line)
        return self._bus.seq

    def _end_lines(self) -> None:
        if self._by_line is not None:
            self._by_line.cancel()
            self._by_line = None

    async def _forward(self, stack: ExitStack, notices: Subscription, content: bool, scope: trio.CancelScope) -> None:
        with stack, scope, suppress(Unavailable):  # it is leaving; the conversation says why
            async for notice in notices:
                if lost := notices.take_lost():
                    await self._notify(methods.EVENT_LOST, {"count": lost})
                try:
                    await self._notify(methods.EVENT, _wire(notice if content else notice.without_content()))
                except InvalidInput:
                    # More than a line holds, such as an endless answer: it looks the text up, as after any loss.
                    await self._notify(methods.EVENT_LOST, {"count": 1})


def _wire(notice: Notice) -> dict[str, object]:
    return {
        "seq": notice.seq, "at": notice.at, "type": notice.type, "thread": notice.thread, "turn": notice.turn,
        "scope": notice.scope, "data": dict(notice.data),
    }  # fmt: skip
