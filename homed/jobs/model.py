"""How background work asks a model: never the built-in one, only so often an hour, and never for long."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.agent.complete import Completion, Question
from homed.clock import WallClock
from homed.config.definitions import DISTIL_CALLS, EXTRACT_ENABLED, EXTRACT_SOURCE
from homed.errors import HomedError, NotFound, TimedOut, Unavailable
from homed.jobs.job import Later, Outage, TurnsPort
from homed.providers.base import LOCAL, ErrorKind, Source
from homed.spend.ports import OverLimit
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

EMBEDDED = "embedded"
"""The kind of the built-in model: too weak to be believed, and its one core is the person's."""

TIMEOUT = 30.0
"""Seconds that one answer may take."""

HOUR = 3600.0

GIVING_WAY = 4
"""Times that a question to a model on this machine is begun before it is left for a later run."""

LOOK = 0.1
"""Seconds between two looks at whether a turn wants that model."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundPorts:
    """What asking touches.  ``turns``: who is being answered."""

    sources: SourcesPort
    completions: AskPort
    settings: SettingsPort
    store: Storage
    wall: WallClock
    turns: TurnsPort


class Background:
    """Asks for jobs.  One question at a time: jobs that ask are heavy ones."""

    def __init__(self, ports: BackgroundPorts) -> None:
        self._ports = ports
        self._late = 0

    def source(self) -> Source | None:
        """Whom jobs may ask: the source set for them, else the one in use, else the first; None if that leaves only the
        built-in model, or nothing, or nobody is to be asked."""
        settings = self._ports.settings
        if not settings.get(EXTRACT_ENABLED) or not settings.int(DISTIL_CALLS):
            return None
        sources = [source for source in self._ports.sources.list() if source.kind != EMBEDDED]
        wanted = settings.str(EXTRACT_SOURCE).strip()
        if wanted:
            return next((source for source in sources if source.name == wanted), None)
        current = self._ports.sources.current()
        return next((source for source in sources if current and source.name == current.name), None) or next(
            iter(sources), None
        )

    async def ask(self, job: str, said: Sequence[tuple[str, str]], max_tokens: int) -> str:
        """The answer's text.  The call is counted before it is made.

        Raises ``Later`` when this hour's calls, or what the day may cost without the owner, are used up, ``Outage``
        when there is no source or it cannot answer anybody now, TimedOut and HomedError for what only this question may
        be to blame for.  Cancelled: the connection is closed before this returns, and the call counts.
        """
        source = self.source()
        if source is None:
            raise Outage("There is no model for background work.", "no_model")
        at, most = self._ports.wall(), self._ports.settings.int(DISTIL_CALLS)
        if not await self._ports.store.write(lambda tx: take_call(tx, job, at=at, most=most)):
            raise Later("budget")
        question = Question(said, max_tokens, TIMEOUT, source.name, temperature=0.0)
        try:
            answer = await self._answer(f"jobs:{job}", question, source)
        except TimedOut:
            self._late += 1
            if self._late >= TIMEOUTS:
                raise Outage(f"{source.name} does not answer in time.", "timeout") from None
            raise
        except OverLimit:
            raise Later("spend") from None
        except (Unavailable, NotFound) as error:
            raise Outage(error.message, error.code) from None
        except HomedError as error:
            kind = str(error.detail.get("kind", ""))
            if kind in _BLAMELESS:
                raise Outage(f"{source.name} cannot be asked now ({kind}).", kind) from None
            raise
        self._late = 0
        return answer.text

    async def _answer(self, who: str, question: Question, source: Source) -> Completion:
        """The answer; of a model on this machine while nobody else wants one: it answers one after another, and a turn
        that comes in between has it at once."""
        if source.adapter != LOCAL:
            return await self._ports.completions.ask(who, question)
        for _ in range(GIVING_WAY):
            await self._ports.turns.wait_idle()
            done = await self._unless_wanted(who, question)
            if isinstance(done, HomedError):
                raise done
            if done is not None:
                return done
        raise Later("busy")

    async def _unless_wanted(self, who: str, question: Question) -> Completion | HomedError | None:
        """Ask; None if a turn came in between: then the connection is closed already."""
        done: Completion | HomedError | None = None
        async with trio.open_nursery() as both:
            both.start_soon(self._watch, both.cancel_scope)
            try:
                done = await self._ports.completions.ask(who, question)
            except HomedError as error:
                done = error
            both.cancel_scope.cancel()
        return done

    async def _watch(self, asking: trio.CancelScope) -> None:
        while not asking.cancel_called:
            if any(self._ports.turns.counts.values()):
                asking.cancel()
            await trio.sleep(LOOK)


def take_call(tx: Tx, job: str, *, at: float, most: int) -> bool:
    """Count a call if there were fewer than ``most`` in the hour before it, of all jobs together; else False."""
    tx.execute("DELETE FROM job_calls WHERE at <= ?1 - ?2 OR at > ?1 + ?2", (at, HOUR))
    if int(tx.value("SELECT count(*) FROM job_calls")) >= most:
        return False
    tx.execute("INSERT INTO job_calls (job, at) VALUES (?, ?)", (job, at))
    return True
