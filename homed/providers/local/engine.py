"""One local model: the queue before it, the process behind it, and what keeps it warm.

The process is started when somebody asks or when the model is to be kept ready, and ends when neither is so.  A stop
while the prompt is read has to kill it (llama.cpp cannot be interrupted there); it comes back by itself.
"""

from __future__ import annotations

import logging
import math
import secrets
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from homed.errors import HomedError, Unavailable
from homed.proc.ladder import stop_ladder
from homed.proc.spawn import Command, Exit, spawn
from homed.providers.base import ErrorKind, Progress, ProviderError, Source
from homed.providers.failures import Where
from homed.providers.local.job import Job
from homed.providers.local.life import Life, Load

log = logging.getLogger(__name__)

PAUSES = (0.0, 0.5, 5.0, 30.0, math.inf)
"""Seconds before the next start, by the number of lives in a row that ended badly; somebody who asks does not wait."""

LINGER = 10.0
"""Seconds that a model nobody keeps ready waits for another question."""

REFRESH = 60.0
"""Seconds between two looks at whether the prompt begins differently now: it holds the date."""

LAST_WORDS = 0.5
"""Seconds to wait for the rest of its stderr."""
STOP_GRACE = 1.0
"""Seconds from the end of its stdin to SIGTERM, and from there to SIGKILL."""

_ARGV = (sys.executable, "-P", "-m", "homed.providers.local.child")
_CANNOT = "`homed models use` picks another source; `homed models add` adds one."
_DISK = "Is the disk full, read-only or another user's?  " + _CANNOT
_ASK = "Ask again; if it happens again, the log says more."


@dataclass(frozen=True, slots=True)
class EnginePorts:
    """What an engine needs.

    ``file`` gives the file, checked, and after a failure checked thoroughly; it may block, it runs in a thread.
    ``opening`` is the text every prompt begins with, "" for none; ``folder`` is private to this user; ``family`` begins
    the children's mark.
    """

    file: Callable[[bool], Path]
    opening: Callable[[], str]
    folder: Path
    family: str
    env: Mapping[str, str]
    threads: int = 1
    argv: tuple[str, ...] = _ARGV


class Engine:
    """Answers the jobs given to it, one after the other, in the order they came.  Run it with ``run``."""

    def __init__(self, source: Source, ports: EnginePorts) -> None:
        self.source = source
        self._ports = ports
        self._where = Where(source.name, "this machine")
        self._waiting: deque[Job] = deque()
        self._wake = trio.Event()
        self._kept = False
        self._was_kept = False
        self._retired = trio.CancelScope()
        self._over = False
        self._life: Life | None = None
        self._bad_lives = 0
        self._warm_with = ""
        self._state = ""
        self._turned = trio.Event()
        self.reason = ""
        """Why it has failed."""

    @property
    def state(self) -> str:
        """``loading``, ``ready``, ``failed``; empty while it is not running."""
        return self._state

    @state.setter
    def state(self, state: str) -> None:
        self._state = state
        self._turned.set()
        self._turned = trio.Event()

    async def wait_settled(self) -> bool:
        """Wait until it is ready (True), or has failed or is retired (False).  It starts only if somebody wants it."""
        await trio.lowlevel.checkpoint()
        while self.state not in ("ready", "failed") and not self._over:
            await self._turned.wait()
        return self.state == "ready"

    @property
    def where(self) -> Where:
        """For messages."""
        return self._where

    def submit(self, job: Job) -> None:
        """Queue a job; one for an engine that has been retired or has ended fails at once."""
        if self._over or self._retired.cancel_called:
            job.fail(self._gone())
            return
        self._waiting.append(job)
        self._wake.set()

    def abandon(self, job: Job) -> None:
        """Nobody waits for this job any more.  Never waits: what has to end ends behind the caller's back."""
        if job.settled.is_set():
            return
        job.abandon()
        if job in self._waiting:
            self._waiting.remove(job)
        elif self._life is not None and self._life.job is job and not job.began:
            log.info("%s was stopped while it read the prompt: its process is ended and started again", self._where)
            self._life.kill()
            self.state = "loading" if self._kept else ""

    def keep(self, kept: bool) -> None:
        """Keep it loaded and its prompt's beginning read, or let it go when nobody asks."""
        if kept != self._kept:
            self._kept, self._bad_lives = kept, 0
            self._was_kept = self._was_kept or kept
            self._wake.set()

    def retire(self) -> None:
        """End it for good; what waits is told."""
        self._retired.cancel()

    async def run(self) -> None:
        """Until cancelled or retired; no process is left then, and whoever waited is told."""
        try:
            with self._retired:
                while True:
                    await self._wanted()
                    await self._live()
        finally:
            self._over = True
            self.state = ""
            self._fail_waiting(self._gone())

    def _gone(self) -> ProviderError:
        return ProviderError(ErrorKind.TRANSIENT, f"{self._where} was changed or is being stopped.", hint=_ASK)

    async def _wanted(self) -> None:
        begun = trio.current_time()
        while not self._waiting:
            pause = PAUSES[min(self._bad_lives, len(PAUSES) - 1)]
            with trio.move_on_at(begun + pause if self._kept else math.inf) as patience:
                await self._woken()
            if patience.cancelled_caught:
                return

    async def _woken(self) -> None:
        self._wake = trio.Event()
        await self._wake.wait()

    async def _live(self) -> None:
        """One life of the process."""
        self.state, self.reason = "loading", ""
        self._was_kept = self._kept
        try:
            path, size = await trio.to_thread.run_sync(_sized, self._ports.file, self._bad_lives > 0)
            command = Command(self._ports.argv, self._ports.folder, self._ports.env)
            async with spawn(command, mark=f"{self._ports.family}:{secrets.token_hex(4)}") as child:
                life = self._life = Life(child)
                rested = await self._lead(life, path, size)
                ended = await stop_ladder(child, ask=child.stdin.aclose, grace=STOP_GRACE, term=STOP_GRACE)
            if rested or life.killed:
                self.state = ""
            else:
                self._crashed(life, ended)
        except HomedError as error:
            self._cannot(error)
        except Exception as error:  # whatever is wrong with one model, the daemon goes on
            log.exception("%s is ended", self._where)
            self._cannot(Unavailable(f"{type(error).__name__} in its use.", hint="The log says more."))
        finally:
            if self._life is not None and self._life.job is not None:
                self._life.job.fail(self._gone())  # cancelled or retired in the middle of it
            self._life = None

    async def _lead(self, life: Life, path: Path, size: int) -> bool:
        """True when it may rest, False when it has ended on its own or was killed.  Unavailable: it cannot load."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(life.drain)
            nursery.start_soon(life.converse)
            outcome = await self._use(life, path, size)
            if outcome is None:
                with trio.move_on_after(LAST_WORDS):
                    await life.drained.wait()
            nursery.cancel_scope.cancel()
        if outcome:
            raise Unavailable(outcome, hint=_CANNOT)
        return outcome is not None

    async def _use(self, life: Life, path: Path, size: int) -> str | None:
        """Why it cannot be used, "" when it may rest, None when it has ended on its own or was killed."""
        outcome: str | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_after, life.over, nursery.cancel_scope)
            why = await self._prepare(life, path, size)
            while not why and (job := await self._next(life)) is not None:
                await life.answer(job)
                self._bad_lives = 0
            outcome = why
            nursery.cancel_scope.cancel()
        return outcome

    async def _prepare(self, life: Life, path: Path, total: int) -> str:
        """Load and warm; returns why that cannot be."""

        def tell(done: int) -> None:
            for job in self._waiting:
                job.tell(Progress("loading", min(done, total), total))

        why = await life.load(Load(path, self.source.context_window, self._ports.threads), tell)
        if not why:
            await self._warm(life)
            self.state = "ready"
        return why

    async def _warm(self, life: Life) -> None:
        """Have the beginning of every prompt read, so that a first question is answered at once."""
        self._warm_with = self._ports.opening()
        if self._warm_with:
            messages = [{"role": "system", "content": self._warm_with}, {"role": "user", "content": ""}]
            job = Job({"messages": messages, "stream": True, "max_tokens": 1}, self._where)
            await life.answer(job)
            if job.failure is not None:
                log.debug("%s was not warmed: %s", self._where, job.failure)

    async def _next(self, life: Life) -> Job | None:
        """The next job; None when it may rest."""
        until = trio.current_time() + LINGER
        while not self._waiting:
            if not self._kept and (self._was_kept or trio.current_time() >= until):
                return None
            if self._ports.opening() != self._warm_with:
                await self._warm(life)
            with trio.move_on_at(trio.current_time() + REFRESH if self._kept else until):
                await self._woken()
        return self._waiting.popleft()

    def _crashed(self, life: Life, ended: Exit) -> None:
        """The process ended by itself."""
        self._bad_lives += 1
        words = life.last_words()
        self.reason = f"its process ended ({ended}){f': {words}' if words else ''}"
        was_ready, self.state = self.state == "ready", "failed"
        log.error("%s: %s", self._where, self.reason)
        message = f"The process of {self._where} ended in the middle of its answer ({ended}); it is started again."
        if life.job is not None:
            life.job.fail(ProviderError(ErrorKind.TRANSIENT, message, hint=_ASK))
        if not was_ready:
            self._fail_waiting(ProviderError(ErrorKind.TRANSIENT, f"{self._where}: {self.reason}.", hint=_ASK))

    def _cannot(self, error: HomedError) -> None:
        """It could not be started."""
        self._bad_lives += 1
        self.state, self.reason = "failed", error.message
        log.error("%s cannot be started: %s", self._where, error)
        message = f"{self._where} cannot answer: {error.message}"
        told = ProviderError(ErrorKind.BAD_REQUEST, message, hint=error.hint or _CANNOT)
        if self._life is not None and self._life.job is not None:
            self._life.job.fail(ProviderError(told.kind, told.message, hint=told.hint))
        self._fail_waiting(told)

    def _fail_waiting(self, error: ProviderError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            job.fail(ProviderError(error.kind, error.message, hint=error.hint))


async def _cancel_after(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _sized(file: Callable[[bool], Path], thorough: bool) -> tuple[Path, int]:
    try:
        path = file(thorough)
        return path, path.stat().st_size
    except OSError as error:
        what = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise Unavailable(f"The model's file cannot be read or put in place: {what}.", hint=_DISK) from None
