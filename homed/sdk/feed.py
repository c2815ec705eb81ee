"""Notices for one client: those of its peer's own threads, as fast as it reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio

EVENT, LOST = "event", "event.lost"
PASSED = ""
"""The type of what stands in the queue for notices that never come."""
WAITING = 1024
"""Notices that may wait for a slow client (some 20 s of a fast stream); then the oldest go and are counted."""

KNOWN = 256
"""Threads whose visibility is remembered; a client follows a handful."""

OWNERS = "owner"
"""The scope of the owner's own threads."""

Visible = Callable[[str], Awaitable[bool | None]]
"""May the peer see this thread?  None: that could not be found out now."""
Send = Callable[[str, Mapping[str, object]], Awaitable[None]]


class Feed:
    """Passes notices on.  ``visible`` says whether the peer may see a thread: the kernel decides, not the plugin."""

    def __init__(self, visible: Visible, *, owner: bool, size: int = WAITING) -> None:
        self._visible = visible
        self._owner = owner
        self._size = size
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._known: dict[str, bool] = {}
        self._lost = 0
        self._wake = trio.Event()
        self._passed = 0
        self._progress = trio.Event()

    def offer(self, notice: Mapping[str, Any]) -> None:
        """Queue a notice; never waits."""
        if len(self._waiting) >= self._size and not _is_mark(self._waiting.popleft()):
            self._lost += 1
        self._waiting.append(notice)
        self._wake.set()

    def lose(self, count: int) -> None:
        """Count notices that were lost before they came here."""
        self._lost += count
        self._wake.set()

    def skip(self, seq: int) -> None:
        """Notices up to this number are not for this client: nobody has to wait for them."""
        self._pass(seq)

    def reach(self, seq: int) -> None:
        """There is nothing more up to this number; it counts as passed once what waits before it was sent."""
        if self._waiting and _is_mark(self._waiting[-1]):
            self._waiting.pop()  # one mark behind another says no more than the last
        self._waiting.append({"seq": seq, "type": PASSED})
        self._wake.set()

    def may_see(self, thread: str) -> None:
        """The kernel let the peer into this thread."""
        self._remember(thread, seen=True)

    async def wait_passed(self, seq: int) -> None:
        """Wait until the notice of number ``seq`` and all before it were sent, or held back."""
        while self._passed < seq:
            await self._progress.wait()

    async def run(self, send: Send) -> None:
        """Send what may be seen, in order, for ever.  Cancelled, it leaves the client without the rest."""
        while True:
            if self._lost:
                lost, self._lost = self._lost, 0
                await send(LOST, {"count": lost})
            while self._waiting and not self._lost:
                notice = self._waiting.popleft()
                if not _is_mark(notice) and await self._may_see(notice):
                    await send(EVENT, notice)
                self._pass(int(notice.get("seq") or 0))
            if not self._waiting and not self._lost:
                self._wake = trio.Event()
                await self._wake.wait()

    def _pass(self, seq: int) -> None:
        self._passed = max(self._passed, seq)
        self._progress.set()
        self._progress = trio.Event()

    async def _may_see(self, notice: Mapping[str, Any]) -> bool:
        """Notices of no thread (plugin states, the system's) are the owner's."""
        thread = str(notice.get("thread") or "")
        if not thread:
            return self._owner
        if _deleted(notice):  # nobody can be asked about it any more; the owner's world needs no asking
            return self._known.pop(thread, self._owner and notice.get("scope") == OWNERS)
        if thread not in self._known:
            seen = await self._visible(thread)
            if seen is None:  # rather one notice too few than the thread's events withheld for good
                self._lost += 1
                return False
            self._remember(thread, seen=seen)
        return self._known[thread]

    def _remember(self, thread: str, *, seen: bool) -> None:
        while len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[thread] = seen


def _is_mark(notice: Mapping[str, Any]) -> bool:
    return notice.get("type") == PASSED


def _deleted(notice: Mapping[str, Any]) -> bool:
    data = notice.get("data")
    return notice.get("type") == "thread" and isinstance(data, Mapping) and data.get("deleted") is True
