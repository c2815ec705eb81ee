"""The sources that are left alone for a while, and why: somebody else answers meanwhile, and people can see it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import trio


@dataclass(frozen=True, slots=True)
class Trouble:
    """``why`` in the source's own words, without secrets; ``until`` on Trio's clock."""

    why: str
    until: float

    @property
    def seconds(self) -> float:
        """How much longer, at least 0."""
        return max(0.0, self.until - trio.current_time())


class Troubles:
    """Remembers until the time is over, the source answered, or somebody changed it.  Not beyond a restart."""

    def __init__(self) -> None:
        self._known: dict[str, Trouble] = {}
        self._cleared: dict[str, float] = {}

    def note(self, source: str, why: str, seconds: float, asked: float = math.inf) -> None:
        """Leave it alone for so long; not for what it was ``asked`` before the trouble was last over."""
        if asked < self._cleared.get(source, -math.inf):
            return
        self._known[source] = Trouble(why, trio.current_time() + seconds)

    def clear(self, source: str) -> None:
        """It answered, or is another one now."""
        self._known.pop(source, None)
        self._cleared[source] = trio.current_time()

    def of(self, source: str) -> Trouble | None:
        """Why it is left alone; None if it is not."""
        found = self._known.get(source)
        if found is not None and not found.seconds:
            del self._known[source]
            return None
        return found

    def willing(self, names: Sequence[str]) -> list[str]:
        """Those that are not left alone; all of them, in their order, if that is none."""
        return [name for name in names if self.of(name) is None] or list(names)
