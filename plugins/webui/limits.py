"""How much one peer may ask for: buckets that fill with time, slots that are given back.  Pure but for the clock."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from homed.errors import HomedError

KNOWN = 1024
"""Peers that a bucket remembers; the one unheard of for longest is forgotten, its bucket being full again by then."""


class TooMany(HomedError):
    """This peer has asked for too much; ``detail["wait"]``: whole seconds after which it may ask again."""

    code = "too_many"


def too_many(wait: float) -> TooMany:
    """The error for a peer that may ask again after ``wait`` seconds."""
    detail = {"wait": max(1, math.ceil(wait))}
    return TooMany("That is too much at once.", hint="Wait a moment and try again.", detail=detail)


class Buckets:
    """A bucket for each key: ``burst`` at once, ``rate`` more each second."""

    def __init__(self, burst: float, rate: float, *, clock: Callable[[], float] = trio.current_time) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, amount: float = 1.0) -> float:
        """Seconds until ``amount`` could be taken; 0 if it was taken now.  More than a whole burst counts as one."""
        now = self._clock()
        left, at = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        missing = min(amount, self._burst) - left
        self._left[key] = (left if missing > 0 else left - amount, now)
        while len(self._left) > KNOWN:
            self._left.popitem(last=False)
        return missing / self._rate if missing > 0 else 0.0

    def take(self, key: str, amount: float = 1.0) -> None:
        """Take it, or raise TooMany."""
        if (wait := self.wait(key, amount)) > 0:
            raise too_many(wait)


class Slots:
    """Things that one peer may have at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def check(self, key: str) -> None:
        """Raise TooMany if there is no slot left."""
        if self._taken[key] >= self._most:
            raise too_many(5)

    def count(self, key: str) -> None:
        """Take a slot, whether there is one or not."""
        self._taken[key] += 1

    def leave(self, key: str) -> None:
        """Give a slot back."""
        self._taken[key] -= 1
        if self._taken[key] <= 0:
            del self._taken[key]

    @contextmanager
    def slot(self, key: str) -> Iterator[None]:
        """A slot for the length of the block.  Raises TooMany."""
        self.check(key)
        self.count(key)
        try:
            yield
        finally:
            self.leave(key)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the page bears.  A person at work asks for a few things a second, a page that loads for a dozen at once."""

    requests: Buckets = field(default_factory=lambda: Buckets(600, 100))
    """Requests of one peer."""
    strangers: Buckets = field(default_factory=lambda: Buckets(120, 10))
    """Requests from one address that show neither a session nor a key that holds."""
    guesses: Buckets = field(default_factory=lambda: Buckets(20, 0.2))
    """Wrong passwords, links and keys from one address; the kernel counts wrong passwords of everybody besides."""
    uploaded: Buckets = field(default_factory=lambda: Buckets(200 << 20, 10 << 20))
    """Bytes that one peer uploads."""
    uploads: Slots = field(default_factory=lambda: Slots(10))
    """Uploads of one peer at once."""
    streams: Slots = field(default_factory=lambda: Slots(64))
    """Live streams of one peer at once: tabs."""
