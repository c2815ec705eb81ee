"""How background work asks a model: never the built-in one, only so often an hour, and never for long."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from homed.agent.complete import Completion, Question
from homed.clock import WallClock
from homed.config.definitions import DISTIL_CALLS, EXTRACT_ENABLED, EXTRACT_SOURCE
from homed.errors import HomedError, NotFound, TimedOut, Unavailable
from homed.jobs.job import Later, Outage
from homed.providers.base import LOCAL, ErrorKind, Source
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

EMBEDDED = "embedded"
"""The kind of the built-in model: too weak to be believed, and its one core is the person's."""

TIMEOUT = 30.0
"""Seconds that one answer may take."""

HOUR = 3600.0

TIMEOUTS = 2
"""Answers in a row that came too late after which the source counts as gone, and no unit is to blame."""

_BLAMELESS = frozenset({ErrorKind.TRANSIENT.value, ErrorKind.CREDENTIAL.value})


class SourcesPort(Protocol):
    """``homed.providers.registry.Sources``."""

    def list(self) -> Sequence[Source]:
        """Every source."""
        ...

    def current(self) -> Source | None:
        """The one in use."""
        ...


class AskPort(Protocol):
    """``homed.agent.complete.Completions``."""

    async def ask(self, plugin: str, question: Question) -> Completion:
        """The answer of a model."""
        ...


class SettingsPort(Protocol):
    """What is read of the settings."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def str(self, key: str) -> str:
        """A text."""
        ...


class Background:
    """Asks for jobs.  One question at a time: jobs that ask are heavy ones."""

    def __init__(
        self, sources: SourcesPort, completions: AskPort, settings: SettingsPort, store: Storage, wall: WallClock
    ) -> None:
        self._sources = sources
        self._completions = completions
        self._settings = settings
        self._store = store
        self._wall = wall
        self._late = 0

    def source(self) -> Source | None:
        """Whom jobs may ask: the source set for them, else the one in use, else the first; None if that leaves only the
        built-in model, or nothing, or nobody is to be asked."""
        if not self._settings.get(EXTRACT_ENABLED) or not self._settings.int(DISTIL_CALLS):
            return None
        sources = [source for source in self._sources.list() if source.kind != EMBEDDED]
        wanted = self._settings.str(EXTRACT_SOURCE).strip()
        if wanted:
            return next((source for source in sources if source.name == wanted), None)
        current = self._sources.current()
        return next((source for source in sources if current and source.name == current.name), None) or next(
            iter(sources), None
        )

    async def ask(self, job: str, said: Sequence[tuple[str, str]], max_tokens: int) -> str:
        """The answer's text.  The call is counted before it is made.

        Raises ``Later`` when this hour's calls are used up, ``Outage`` when there is no source or it cannot answer
        anybody now, TimedOut and HomedError for what only this question may be to blame for.  Cancelled: the connection
        is closed before this returns, and the call counts.
        """
        source = self.source()
        if source is None:
            raise Outage("There is no model for background work.", "no_model")
        at, most = self._wall(), self._settings.int(DISTIL_CALLS)
        if not await self._store.write(lambda tx: take_call(tx, job, at=at, most=most)):
            raise Later("budget")
        question = Question(said, max_tokens, TIMEOUT, source.name, temperature=0.0)
        try:
            answer = await self._completions.ask(f"jobs:{job}", question)
        except TimedOut:
            self._late += 1
            if self._late >= TIMEOUTS:
                raise Outage(f"{source.name} does not answer in time.", "timeout") from None
            raise
        except (Unavailable, NotFound) as error:
            raise Outage(error.message, error.code) from None
        except HomedError as error:
            kind = str(error.detail.get("kind", ""))
            if kind in _BLAMELESS:
                raise Outage(f"{source.name} cannot be asked now ({kind}).", kind) from None
            raise
        self._late = 0
        return answer.text

    @property
    def local(self) -> bool:
        """Whether it would run on this machine, where it takes a core from everybody else."""
        source = self.source()
        return source is not None and source.adapter == LOCAL


def take_call(tx: Tx, job: str, *, at: float, most: int) -> bool:
    """Count a call if there were fewer than ``most`` in the hour before it, of all jobs together; else False."""
    tx.execute("DELETE FROM job_calls WHERE at <= ?1 - ?2 OR at > ?1 + ?2", (at, HOUR))
    if int(tx.value("SELECT count(*) FROM job_calls")) >= most:
        return False
    tx.execute("INSERT INTO job_calls (job, at) VALUES (?, ?)", (job, at))
    return True
