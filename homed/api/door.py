"""Where plugins' calls enter, from before there is anybody to answer them until after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import trio

from homed.errors import Unavailable
from homed.host.session import Caller, Dispatcher

PAGE = "webui"
"""The plugin whose page the login link opens."""

START_LIMIT = 25.0
"""Seconds a call may wait for the rest of the kernel at a start; less than a plugin has for its own start."""


class Door:
    """Passes calls on while it is ``open_to`` somebody.  Before that they wait; after that they are refused."""

    def __init__(self) -> None:
        self._dispatcher: Dispatcher | None = None
        self._opened = trio.Event()

    @contextmanager
    def open_to(self, dispatcher: Dispatcher) -> Iterator[None]:
        """Let calls through to ``dispatcher`` for the length of the block."""
        self._dispatcher = dispatcher
        self._opened.set()
        try:
            yield
        finally:
            self._dispatcher = None

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        """Pass one call on.  Raises ``Unavailable`` when nobody is there to answer."""
        with trio.move_on_after(START_LIMIT):
            await self._opened.wait()
        if self._dispatcher is None:
            state = "stopping" if self._opened.is_set() else "still starting"
            raise Unavailable(f"homed is {state}.", hint="Try again in a moment.")
        return await self._dispatcher.dispatch(caller, method, params)
