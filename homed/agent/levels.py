"""How urgent an input is.  Pure.

0 queued; of an interrupt 1 background, 2 message, 3 timer, terminal, interactive, 4 critical.  What pre-empts what is
decided in ``schedule``.
"""

from __future__ import annotations

QUEUED = 0
"""A text that waits for its turn: no interrupt."""

LOWEST, HIGHEST = 1, 4

BACKGROUND, MESSAGE, TIMER, CRITICAL = 1, 2, 3, 4

PLUGINS = 3
"""The highest level of a plugin: 4 is the kernel's, and that of packaged plugins with a grant for it."""


def clamped(level: int, *, critical: bool = False) -> int:
    """The level that counts for an interrupt which came from a plugin; ``critical``: one that may use the highest."""
    return max(LOWEST, min(level, HIGHEST if critical else PLUGINS))
