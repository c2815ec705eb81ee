"""Where plugins' calls enter, from before there is anybody to answer them until after.

It opens in two steps: first the porch, where the few methods are answered that the page needs to open, and once the
kernel is loaded the house.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
        self._early: Collection[str] = ()
        self._porch, self._house = _Way(), _Way()

    @contextmanager
    def porch_open_to(self, dispatcher: Dispatcher, methods: Collection[str]) -> Iterator[None]:
        """Let calls of these ``methods`` through to ``dispatcher`` for the length of the block; the others wait on."""
        self._early = methods
        with self._porch.open_to(dispatcher):
            yield

    @contextmanager
    def open_to(self, dispatcher: Dispatcher) -> Iterator[None]:
        """Let all other calls through to ``dispatcher`` for the length of the block."""
        with self._house.open_to(dispatcher):
            yield

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        """Pass one call on.  Raises ``Unavailable`` when nobody is there to answer."""
        way = self._house
        with trio.move_on_after(START_LIMIT):
            await self._porch.opened.wait()
            way = self._porch if method in self._early else self._house
            await way.opened.wait()
        if way.dispatcher is None:
            state = "stopping" if way.opened.is_set() else "still starting"
            raise Unavailable(f"homed is {state}.", hint="Try again in a moment.")
        return await way.dispatcher.dispatch(caller, method, params)


class _Way:
    """Where calls are passed on: to nobody yet, to somebody, to nobody any more."""

    def __init__(self) -> None:
        self.dispatcher: Dispatcher | None = None
        self.opened = trio.Event()

    @contextmanager
    def open_to(self, dispatcher: Dispatcher) -> Iterator[None]:
        """For the length of the block."""
        self.dispatcher = dispatcher
        self.opened.set()
        try:
            yield
        finally:
            self.dispatcher = None
