"""The sources that may answer, in their order, without those that are left alone for a while."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import trio

from homed.errors import HomedError
from homed.providers.base import Provider, ProviderError, Source
from homed.providers.fallback import Failed, Next, Policy, Verdict, decide, order
from homed.providers.troubles import Troubles


class SourcesPort(Protocol):
    """``homed.providers.registry.Sources``."""

    def list(self) -> Sequence[Source]:
        """Every source."""
        ...

    def current(self) -> Source | None:
        """The one in use."""
        ...

    def provider(self, name: str | None = None) -> Provider:
        """The current (or the named) source; raises Unavailable, with what to do, when there is none."""
        ...


@dataclass(slots=True)
class Course:
    """One answer on its way through the sources: ``provider`` is asked now, ``rest`` may be asked after it.

    ``gone``: those that were asked before and did not answer, with why.  ``attempt`` counts the tries of this one,
    ``since`` is when it was first asked.
    """

    provider: Provider
    rest: list[Provider]
    gone: list[tuple[str, str]] = field(default_factory=list)
    attempt: int = 1
    since: float = field(default_factory=trio.current_time)

    def move_on(self, why: str) -> None:
        """The next one's turn."""
        self.gone.append((self.provider.source.name, why))
        self.provider, self.attempt, self.since = self.rest.pop(0), 1, trio.current_time()


class Chain:
    """Knows whom to ask, and who is in trouble.  One for the whole of homed."""

    def __init__(
        self,
        sources: SourcesPort,
        *,
        troubles: Troubles | None = None,
        others: Callable[[], bool] = lambda: True,
        policy: Policy = Policy(),  # noqa: B008 -- frozen
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """``others``: whether a source may stand in for the one in use."""
        self.troubles = troubles or Troubles()
        self._sources = sources
        self._others = others
        self._policy = policy
        self._jitter = jitter

    def course(self, *, name: str = "", first: str = "") -> Course:
        """Whom to ask now: only ``name``, or the one in use and its stand-ins, with ``first`` before the others.

        Raises Unavailable, with what to do, when no source is set up, and NotFound for an unknown name.
        """
        if name:
            return Course(self._sources.provider(name), [])
        current = self._sources.current()
        if current is None or not self._others():
            return Course(self._sources.provider(), [])
        names = [source.name for source in order(self._sources.list(), current)]
        willing = self.troubles.willing(names)
        if first in willing:
            willing = [first, *(other for other in willing if other != first)]
        made = [provider for other in willing if (provider := self._made(other)) is not None]
        return Course(made[0], made[1:]) if made else Course(self._sources.provider(), [])

    def _made(self, name: str) -> Provider | None:
        try:
            return self._sources.provider(name)
        except HomedError:  # taken out meanwhile, or one of this machine outside homed
            return None

    def decide(self, failed: Failed) -> Verdict:
        """What now."""
        return decide(self._policy, failed, self._jitter())

    def leave(self, course: Course, verdict: Next, error: ProviderError) -> str:
        """Leave the source alone, and ask the next; the name of the one that was left."""
        name = course.provider.source.name
        self.troubles.note(name, error.message, verdict.out, course.since)
        course.move_on(error.message)
        return name

    def answered(self, course: Course) -> None:
        """It did."""
        self.troubles.clear(course.provider.source.name)
