"""Limits on how often: a bucket for calls, a throttle for log lines.  Time comes in as an argument."""

from __future__ import annotations


class Bucket:
    """``burst`` at once, ``rate`` a second after that."""

    def __init__(self, *, rate: float, burst: float, now: float) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = burst, now

    def take(self, now: float, amount: float = 1.0) -> bool:
        """Whether ``amount`` more is allowed; it is then spent."""
        self._level = min(self._burst, self._level + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._level < amount:
            return False
        self._level -= amount
        return True


class Throttle:
    """Lets a message through at most ``count`` times in ``window`` seconds, and counts the others."""

    def __init__(self, *, count: int, window: float) -> None:
        self._count, self._window = count, window
        self._begun = float("-inf")
        self._seen = 0
        self._silenced = 0

    def admit(self, now: float) -> int | None:
        """None: keep quiet.  Else say it, with how many were kept quiet since the last one."""
        if now - self._begun >= self._window:
            self._begun, self._seen = now, 0
        self._seen += 1
        if self._seen > self._count:
            self._silenced += 1
            return None
        silenced, self._silenced = self._silenced, 0
        return silenced
