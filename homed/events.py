"""The stream of notices that every watcher reads: page, waiter, status.

The kernel posts and forgets.  A subscriber that falls behind loses the oldest notices and is told how many (``lost``);
nothing a subscriber does or fails to do slows the kernel.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import trio

from homed.clock import WallClock, system_wall_clock

PROVIDES = ("events",)
NEEDS = ()

RAW_INPUT = "raw_input"
TURN = "turn"
CONTENT_DELTA = "content_delta"
REASONING_DELTA = "reasoning_delta"
TOOL_CALL = "tool_call"
APPROVAL = "approval"
AGENT_OUTPUT = "agent_output"
AGENT_LLM_CHAIN = "agent_llm_chain"
AGENT_ERROR = "agent_error"
STAGE = "stage"
PROGRESS = "progress"
THREAD = "thread"
PLUGIN_STATE = "plugin_state"
SYSTEM = "system"
RECALL = "recall"
REASONING = "reasoning"
MEMORY = "memory"
TERMINAL_OUTPUT = "terminal_output"
SKILL_DETECTED = "skill_detected"
CHILD = "child"

TYPES = frozenset(
    {
        RAW_INPUT, TURN, CONTENT_DELTA, REASONING_DELTA, TOOL_CALL, APPROVAL, AGENT_OUTPUT, AGENT_LLM_CHAIN,
        AGENT_ERROR, STAGE, PROGRESS, THREAD, PLUGIN_STATE, SYSTEM, RECALL, REASONING, MEMORY,
        TERMINAL_OUTPUT, SKILL_DETECTED, CHILD,
    }
)  # fmt: skip
"""Every notice type; `docs/wire.md` says what ``data`` holds for each."""

PUBLISHED = frozenset({TERMINAL_OUTPUT, SKILL_DETECTED})
"""Types that packaged plugins may post; all others are the kernel's own word."""

PLAIN_KEYS = frozenset(
    {
        "approval", "at", "by", "call", "channel", "chars", "child", "class", "client_msg_id", "code", "cold",
        "counts", "created", "deleted", "done", "drops", "ended", "errors", "events", "expires_at", "in", "input",
        "job", "kept", "kind", "late", "level", "made", "mode", "more", "ms", "peer", "phase", "plugin", "records",
        "seen", "shown", "skill", "stage", "state", "status", "step", "terminal", "tool", "total", "usage",
        "what", "with", "within", "yes",
    }
)  # fmt: skip
"""Keys of ``data`` that carry ids, states and counts only; every other one, and so every new one, may hold what people,
models or programs said, and is withheld from subscribers without ``events.content``."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened.

    ``seq`` grows by one per notice for the life of the daemon; ``at`` is wall-clock UTC seconds; ``thread``, ``turn``
    and ``scope`` are empty where they do not apply; ``data`` is small, JSON-able and already redacted.
    """

    seq: int
    at: float
    type: str
    thread: str = ""
    turn: str = ""
    scope: str = ""
    data: Mapping[str, object] = field(default_factory=dict)

    def without_content(self) -> Notice:
        """The same notice with the keys of ``PLAIN_KEYS`` only."""
        kept = {k: v for k, v in self.data.items() if k in PLAIN_KEYS}
        return Notice(self.seq, self.at, self.type, self.thread, self.turn, self.scope, kept)


class Sink(Protocol):
    """What takes notices as they are posted."""

    def offer(self, notice: Notice) -> None:
        """Take one.  Sync: must not wait and must not fail."""
        ...


class Subscription:
    """One reader's place in the stream; iterate it.  ``take_lost()`` says how many notices it missed."""

    def __init__(self, types: frozenset[str] | None, size: int) -> None:
        self._types = types
        self._waiting: deque[Notice] = deque()
        self._size = size
        self._lost = 0
        self._wake = trio.Event()
        self._closed = False

    def offer(self, notice: Notice) -> None:
        """Queue a notice; never waits.  When full the oldest goes and is counted."""
        if self._types is not None and notice.type not in self._types:
            return
        if len(self._waiting) >= self._size:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(notice)
        self._wake.set()

    def take_lost(self) -> int:
        """Number of notices dropped since the last call; resets the count."""
        lost, self._lost = self._lost, 0
        return lost

    def close(self) -> None:
        """End the iteration once what is queued has been read."""
        self._closed = True
        self._wake.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Notice:
        """The next notice.  Cancelled while waiting, it loses nothing: what is queued stays queued."""
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._wake = trio.Event()
            await self._wake.wait()
        return self._waiting.popleft()


class Bus:
    """Posts notices to subscribers.  Used from the Trio thread only."""

    def __init__(self, wall: WallClock = system_wall_clock) -> None:
        self._wall = wall
        self._seq = 0
        self._subscribers: list[Sink] = []

    @property
    def seq(self) -> int:
        """The number of the last notice posted; 0 before the first."""
        return self._seq

    def post(
        self, type_: str, *, thread: str = "", turn: str = "", scope: str = "", data: Mapping[str, object] | None = None
    ) -> Notice:
        """Hand a notice to every subscriber and return it.  Sync: never waits, never fails for a reader's sake."""
        if type_ not in TYPES:
            raise ValueError(f"unknown notice type {type_!r}")
        self._seq += 1
        notice = Notice(self._seq, self._wall(), type_, thread, turn, scope, dict(data or {}))
        for subscriber in self._subscribers:
            subscriber.offer(notice)
        return notice

    def add(self, sink: Sink) -> None:
        """Offer every notice from here on to ``sink``, until it is removed."""
        self._subscribers.append(sink)

    def remove(self, sink: Sink) -> None:
        """No more notices to ``sink``."""
        self._subscribers.remove(sink)

    @contextmanager
    def subscribe(self, types: frozenset[str] | None = None, *, size: int = 1024) -> Iterator[Subscription]:
        """Subscribe for the length of the block.  ``size`` bounds what may wait: 1024 is ~20 s of a fast stream."""
        if not 1 <= size < math.inf:
            raise ValueError("size must be positive and finite")
        subscription = Subscription(types, size)
        self.add(subscription)
        try:
            yield subscription
        finally:
            self.remove(subscription)
            subscription.close()
