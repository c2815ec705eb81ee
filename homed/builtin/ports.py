"""What the tools over memory need."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from homed.agent.explicit import Explicit
from homed.clock import WallClock, system_wall_clock
from homed.failpoints import Failpoints, NoFailpoints
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.store.rows import Storage


class ForgettingPort(Protocol):
    """``homed.jobs.forget.Forgetting``."""

    async def forget(
        self, kind: str, target: str, *, wide: bool = False, scopes: Collection[str] | None = None
    ) -> object:
        """Take something out of everything there is; ``kind`` "fact" of any record."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPorts:
    """Built once by the app.  Without ``forgetting`` nothing can be forgotten for good, and that is said.  ``stored``:
    called after each commit of what is to have a vector; never waits."""

    store: Storage
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    ranker: Ranker = field(default_factory=words_only)
    explicit: Explicit = field(default_factory=Explicit)
    forgetting: Callable[[], ForgettingPort | None] = lambda: None
    stored: Callable[[], object] = lambda: None
