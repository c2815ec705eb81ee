"""Which calls within a call may run at the same time: those that bear it beside each other, every other one alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

import trio


class Order:
    """Calls take their turn here, first come, first served.

    ``below`` is for the calls made within those that run beside each other: were it this one, a call that must be alone
    would wait for the very call it is made in.
    """

    def __init__(self) -> None:
        self._door = trio.Lock()
        self._running = 0
        self._empty = trio.Event()

    @cached_property
    def below(self) -> Order:
        """The order that all calls within those running beside each other share."""
        return Order()

    @asynccontextmanager
    async def taken(self, *, beside: bool) -> AsyncIterator[None]:
        """Hold a place for the length of the block; ``beside``: others that say so may be there too."""
        if not beside:
            async with self._door:
                while self._running:
                    self._empty = trio.Event()
                    await self._empty.wait()
                yield
            return
        async with self._door:
            self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._empty.set()
