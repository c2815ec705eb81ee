"""One stream of notices from the kernel, many pages that watch it.

The kernel must never wait for a browser: each page has a bounded queue, and one that falls behind is dropped and told
to load its thread afresh.  A ring of recent notices lets a page that lost its connection go on where it was.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Mapping
from typing import Protocol

import trio

RING = 1024
"""Notices kept for pages that come back: minutes of an ordinary turn, as deltas and progress are not kept."""
QUEUE = 1024
"""Notices that may wait for one page: some 20 s of a fast stream."""

LONGEST_SEQ = 18
"""Digits of a notice's number; a cursor with more was not made here."""

DELTAS = frozenset({"content_delta", "reasoning_delta"})
PASSING = DELTAS | {"progress"}
"""Types that say where something stands just now: the next one makes up for it, so the ring keeps none."""
STANDING = 16
"""Kinds of the daemon's own work whose last progress is kept: a page that opens hears where it is, and not only how it
goes on, since what was the last of it has no next."""
UNDER_WAY = 64
"""Turns whose last progress is kept, for the same reason: a model that loads may say nothing for a minute."""
PAST = DELTAS | {"agent_llm_chain", "agent_output", "agent_error", "tool_call", "approval", "child"}
"""Types with which a turn is past where its progress says: a page takes that away for what they show."""
LISTED = frozenset({"thread", "turn", "raw_input", "approval"})
"""Types that change what a list of threads shows."""
OWNERS = frozenset({"plugin_state", "system", "progress"})
"""Types that are of the daemon where no thread is named: an owner's page hears of it."""
MEMORY = "memory"
"""Changes figures of every page of memory; what it is about is told to whom it concerns alone."""


class Notice(Protocol):
    """What this room reads of a notice; the SDK's has this shape."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def thread(self) -> str: ...
    @property
    def turn(self) -> str: ...
    @property
    def data(self) -> Mapping[str, object]: ...


def concerns(notice: Notice, thread: str, *, owner: bool) -> bool:
    """Whether a page hears of it: its own thread's, what changes the list of threads, and for an owner the daemon's."""
    if notice.type in OWNERS and not notice.thread:
        return owner
    return notice.type in LISTED or notice.type == MEMORY or (bool(thread) and notice.thread == thread)


class Watcher:
    """One page's place in the stream.  ``overrun`` says that it was too slow and must load afresh."""

    def __init__(self, thread: str, *, owner: bool, size: int) -> None:
        self.thread = thread
        self.owner = owner
        self.overrun = False
        self.closed = False
        self._size = size
        self._waiting: deque[Notice] = deque()
        self._wake = trio.Event()

    def offer(self, notice: Notice) -> None:
        """Queue a notice; never waits."""
        if self.overrun or not concerns(notice, self.thread, owner=self.owner):
            return
        self._keep(notice)

    def _keep(self, notice: Notice) -> None:
        if len(self._waiting) >= self._size:
            self.overtake()
            return
        self._waiting.append(notice)
        self._wake.set()

    def overtake(self) -> None:
        """Something was lost: what waits is worthless without it."""
        self.overrun = True
        self._waiting.clear()
        self._wake.set()

    def close(self) -> None:
        """The server goes down: the stream ends, and the page comes back when there is one again."""
        self.closed = True
        self._wake.set()

    def take(self) -> list[Notice]:
        """Everything that waits, now."""
        taken = list(self._waiting)
        self._waiting.clear()
        if not (self.overrun or self.closed):  # that stands: who waits next hears of it at once
            self._wake = trio.Event()
        return taken

    async def wait(self, limit: float) -> None:
        """Until something waits, it was overrun or closed, at most ``limit`` seconds.  Cancellation loses nothing."""
        with trio.move_on_after(limit):
            await self._wake.wait()


class Hub:
    """All watchers, and the ring of what was lately told them."""

    def __init__(self, *, ring: int = RING, queue: int = QUEUE) -> None:
        self.epoch = secrets.token_hex(4)
        self._floor = 0
        self._latest = 0
        self._ring: deque[Notice] = deque()
        self._ring_size = ring
        self._standing: dict[str, Notice] = {}
        self._under_way: dict[str, Notice] = {}
        self._queue_size = queue
        self._watchers: list[Watcher] = []

    def begin(self, seq: int) -> None:
        """The subscription starts after ``seq``: nothing at or before it will ever be in the ring."""
        self._floor, self._latest = max(self._floor, seq), max(self._latest, seq)

    def publish(self, notice: Notice) -> None:
        """Hand a notice to everybody it is for.  Never waits."""
        self._latest = max(self._latest, notice.seq)
        if notice.type not in PASSING:
            self._ring.append(notice)
            if len(self._ring) > self._ring_size:
                self._floor = self._ring.popleft().seq
        elif notice.type == "progress" and not notice.thread:
            _keep_last(self._standing, str(notice.data.get("what")), notice, STANDING)
        if notice.type == "progress" and notice.thread and notice.turn:
            _keep_last(self._under_way, notice.turn, notice, UNDER_WAY)
        elif notice.turn and _is_past(notice):
            self._under_way.pop(notice.turn, None)
        for watcher in list(self._watchers):
            watcher.offer(notice)

    def lost(self, count: int) -> None:
        """This plugin itself was too slow for the kernel: no page can trust its stream any more.

        Nor one that is away just now and comes back: ``count`` notices after the last one never came.
        """
        self._floor = self._latest = self._latest + count
        self._ring.clear()
        self._standing.clear()
        self._under_way.clear()
        for watcher in list(self._watchers):
            watcher.overtake()

    def join(self, thread: str, *, owner: bool) -> Watcher:
        """A new watcher; `leave` ends it."""
        watcher = Watcher(thread, owner=owner, size=self._queue_size)
        self.add(watcher)
        return watcher

    def add(self, watcher: Watcher) -> None:
        """The same for a watcher of another kind."""
        self._watchers.append(watcher)

    def leave(self, watcher: Watcher) -> None:
        """End a watcher; a second time does nothing."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def cursor(self, seq: int) -> str:
        """A place in this hub's stream, for a page to come back with."""
        return f"{self.epoch}-{seq}"

    def missed(self, cursor: str, thread: str, *, owner: bool = False) -> list[Notice] | None:
        """What a page would have heard after ``cursor``; None if the gap is too big, or the cursor another daemon's."""
        epoch, _, number = cursor.partition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > LONGEST_SEQ or int(number) < self._floor:
            return None
        after = int(number)
        known = sorted([*self._ring, *self._standing.values()], key=lambda one: one.seq)
        return [one for one in known if one.seq > after and concerns(one, thread, owner=owner)]

    def progress(self, turn: str, thread: str, *, owner: bool = False) -> Notice | None:
        """How far ``turn`` of ``thread`` is before its next step says anything, as last told; None if it is past that.

        A page that opens meanwhile cannot have heard it, whatever its cursor, as no history has it.
        """
        found = self._under_way.get(turn)
        return found if found is not None and concerns(found, thread, owner=owner) else None

    def close(self) -> None:
        """End every stream."""
        for watcher in list(self._watchers):
            watcher.close()

    @property
    def latest(self) -> int:
        """The number of the last notice that came; 0 before the first."""
        return self._latest

    @property
    def watchers(self) -> int:
        """How many pages are watching."""
        return len(self._watchers)


def _keep_last(kept: dict[str, Notice], name: str, notice: Notice, most: int) -> None:
    kept.pop(name, None)  # so that the newest is last
    kept[name] = notice
    if len(kept) > most:
        del kept[next(iter(kept))]


def _is_past(notice: Notice) -> bool:
    return notice.type in PAST or (notice.type == "turn" and notice.data.get("phase") in ("end", "suspended"))
