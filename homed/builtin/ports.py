"""What the tools over memory need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
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


class FindingPort(Protocol):
    """``homed.jobs.memcheck.findings.Finding``."""

    @property
    def id(self) -> str:
        """Of the check."""
        ...

    @property
    def status(self) -> StrEnum:
        """pass, warn, fail or error."""
        ...

    @property
    def evidence(self) -> str:
        """What was found; never a word of what is remembered."""
        ...

    @property
    def fix(self) -> str:
        """What to do, or ''."""
        ...

    @property
    def ids(self) -> Sequence[str]:
        """Of some of what is wrong."""
        ...


class ReportPort(Protocol):
    """``homed.jobs.memcheck.findings.Report``."""

    def wrong(self) -> Sequence[FindingPort]:
        """What did not pass, the worst first."""
        ...

    def wire(self) -> Mapping[str, object]:
        """All of it, as ``admin.memory_doctor`` answers."""
        ...


class DoctorPort(Protocol):
    """``homed.jobs.memcheck.ondemand.MemoryDoctor``."""

    async def examine(self, *, deep: bool = False) -> ReportPort:
        """Every check of memory once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPorts:
    """Built once by the app.  Without ``forgetting`` nothing can be forgotten for good, without ``doctor`` nothing be
    checked, and that is said.  ``stored``: called after each commit of what is to have a vector; never waits.
    ``thresholds``: key → value in force."""

    store: Storage
    wall: WallClock = system_wall_clock
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    ranker: Ranker = field(default_factory=words_only)
    explicit: Explicit = field(default_factory=Explicit)
    forgetting: Callable[[], ForgettingPort | None] = lambda: None
    stored: Callable[[], object] = lambda: None
    doctor: Callable[[], DoctorPort | None] = lambda: None
    thresholds: Callable[[], Mapping[str, object]] = dict
