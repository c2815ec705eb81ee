"""How urgent an interrupt is.  Pure.

1 background, 2 message, 3 timer, terminal, interactive, 4 critical.  What pre-empts what is the scheduler's to decide;
there is none yet, and until then a level only says what was asked for.
"""

from __future__ import annotations

LOWEST, HIGHEST = 1, 4

PLUGINS = 3
"""The highest level of a plugin: 4 is the kernel's, and will be that of packaged plugins with a grant for it."""


def clamped(level: int) -> int:
    """The level that counts for an interrupt which came from a plugin."""
    return max(LOWEST, min(level, PLUGINS))
