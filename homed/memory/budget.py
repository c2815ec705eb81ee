"""How much of a model's window goes to what.  Pure; the numbers are memory.md's."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_WINDOW = 32_768
"""Tokens of a window nobody told us about."""

LARGEST = 600_000
"""Tokens no prompt exceeds, however large the window: beyond that a turn costs more than what it adds."""

MOST_PERCENT = 90
"""Of what is free, the most that may be given to memory; the conversation keeps the rest."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens.  ``target`` is what a prompt may fill, ``fixed`` what is always sent, ``available`` the rest of it.

    ``available`` is shared by recalled ``memory`` and the events of the window (``context``, at least 1).
    """

    window: int
    target: int
    fixed: int
    available: int
    memory: int
    context: int


def budget(window: int, fixed: int, percent: int = 0) -> Budget:
    """Divide a window of ``window`` tokens (0 or less: unknown) of which ``fixed`` are taken.

    ``percent`` of what is free goes to memory; 0 means a third.
    """
    window = window if window > 0 else UNKNOWN_WINDOW
    target = min(window * 4 // 5, LARGEST)
    available = max(1, target - max(0, fixed))
    memory = available * min(percent, MOST_PERCENT) // 100 if percent > 0 else available // 3
    return Budget(window, target, fixed, available, memory, max(1, available - memory))


def top_k(context: int, average: float, max_context_size: int) -> int:
    """How many events a prompt shows, at least 1: so many of ``average`` tokens fit ``context``, below the maximum."""
    return max(1, min(max_context_size - 1, int(context // max(1.0, average))))


def protected(configured: int, context: int, average: float, top: int) -> int:
    """How many of the newest events are shown whatever they are about: a small window tightens by itself.

    At most half of ``top``, so that relevance has a place; 0 when not even one average event fits.
    """
    return max(0, min(configured, int(context // max(1.0, average)), max(1, top // 2)))
