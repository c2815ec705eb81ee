"""What the tools over memory need."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from homed.agent.explicit import Explicit
from homed.clock import WallClock, system_wall_clock
from homed.failpoints import Failpoints, NoFailpoints
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.store.rows import Storage


class ForgettingPort(Protocol):
    """Takes memories out of everything there is: see ``homed.memory.forget``."""

    async def facts(self, scope: str, ids: Collection[str]) -> None:
        """Forget these facts of the scope for good."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPorts:
    """Built once by the app.  Without ``forgetting`` nothing can be forgotten for good, and that is said."""

    store: Storage
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    ranker: Ranker = field(default_factory=words_only)
    explicit: Explicit = field(default_factory=Explicit)
    forgetting: ForgettingPort | None = None
