"""One child process with a model in it: started when somebody asks, ended when nobody has for a while.

An encoder holds memory and the interpreter; in a process of its own neither is the daemon's.  What is asked waits in
a queue and is answered in order; a child that ends badly is started again, after a pause that grows.
"""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from homed.errors import HomedError
from homed.proc.bounded import Excerpt
from homed.proc.spawn import Child, Command, spawn
from homed.retrieval.embed import frames
from homed.retrieval.embed.child import BULK
from homed.retrieval.embed.encoders import Spec
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.frames import Frame

log = logging.getLogger(__name__)

LINGER = 300.0
"""Seconds that a child without work is kept: a conversation has pauses, and loading takes a second."""

PAUSES = (0.0, 1.0, 5.0, 30.0, 120.0)
"""Seconds before the next start, by the number of lives in a row that ended badly; meanwhile asking fails at once."""

LASTING_PAUSE = 60.0
"""Seconds before files that make no model are looked at again."""

LOAD_LIMIT = 120.0
"""Seconds without a sign of life while a model loads or word vectors are converted."""

STALL = 60.0
"""Seconds for one answer.  What is sent at once takes a second at most on a slow machine."""

WAITING = 256
"""Questions in the queue; one more waits outside it."""

MOST_THREADS = 4
"""Threads that compute one question: half the machine's cores at most."""

STDERR = 8192
_EXCEPTION = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))(?::|\s*\Z)", re.MULTILINE)
_CHUNK = 1 << 18
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_ARGV = (sys.executable, "-P", "-m", "homed.retrieval.embed.child")
_CRASHED = "It is started again by itself; if it goes on, the log says more."


@dataclass(frozen=True, slots=True)
class WorkerPorts:
    """What children need: ``folder`` to run in, the ``family`` their marks begin with, their ``env`` (no secrets)."""

    folder: Path
    family: str
    env: Mapping[str, str]
    argv: tuple[str, ...] = _ARGV
    linger: float = LINGER


@dataclass(frozen=True, slots=True)
class Opened:
    """What the child says of the model it has loaded."""

    dims: int
    media: bool
    baseline: float


@dataclass(eq=False, slots=True)
class _Job:
    frame: bytes = field(repr=False)
    done: trio.Event = field(default_factory=trio.Event)
    answer: Frame | None = None
    error: EmbedFailed | None = None

    def fail(self, error: EmbedFailed) -> None:
        self.error = error
        self.done.set()


class Worker:
    """Asks a child that has ``spec`` open.  ``run`` it for as long as it may be asked."""

    def __init__(self, spec: Spec, ports: WorkerPorts, *, bulk: bool = False) -> None:
        self._spec = spec
        self._ports = ports
        self._argv = (*ports.argv, BULK) if bulk else ports.argv
        self._threads = 1 if bulk else max(1, min(MOST_THREADS, (os.cpu_count() or 1) // 2))
        self._waiting: deque[_Job] = deque()
        self._room = trio.Semaphore(WAITING)
        self._wake = trio.Event()
        self._job: _Job | None = None
        self._bad_lives = 0
        self._not_before = -math.inf
        self._reason: EmbedFailed | None = None
        self._over = False
        self.pid: int | None = None
        """Of the child that runs now."""
        self.opened: Opened | None = None
        """Of the model, once one child has loaded it."""

    async def ask(self, do: str, data: bytes = b"", **said: object) -> Frame:
        """One answer of the child's, which is started if there is none.

        Raises `EmbedFailed`: at once while a child that ended badly may not be started again yet.  Cancelled: a
        question that is being answered is, but nobody hears of it; one that waits is taken out of the queue.
        """
        async with self._room:
            return await self._ask(_Job(frames.encode(do, data, **said)))

    async def open(self) -> Opened:
        """What the model is, once a child has loaded it.  Raises `EmbedFailed`."""
        if self.opened is None:
            await self.ask("texts", texts=[], query=False)
        assert self.opened is not None
        return self.opened

    def warm(self) -> None:
        """Start the child if there is none and nothing speaks against it; never waits."""
        if self.pid is None and not self._waiting and self._refusal() is None:
            self._submit(_Job(frames.encode("texts", texts=[], query=False)))

    async def run(self) -> None:
        """Until cancelled; no process is left then, and whoever waits is told."""
        try:
            while True:
                await self._wanted(math.inf)
                await self._live()
        finally:
            self._over = True
            self._fail_waiting(_stopping())

    def _refusal(self) -> EmbedFailed | None:
        if self._over:
            return _stopping()
        return self._reason if trio.current_time() < self._not_before else None

    def _submit(self, job: _Job) -> None:
        self._waiting.append(job)
        self._wake.set()

    async def _ask(self, job: _Job) -> Frame:
        await trio.lowlevel.checkpoint()
        if refusal := self._refusal():
            raise refusal
        self._submit(job)
        try:
            await job.done.wait()
        finally:
            if job in self._waiting:
                self._waiting.remove(job)
        if job.error is not None:
            raise job.error
        assert job.answer is not None
        return job.answer

    def _fail_waiting(self, error: EmbedFailed) -> None:
        while self._waiting:
            self._waiting.popleft().fail(error)

    async def _wanted(self, patience: float) -> bool:
        """Wait for work; False when none came within ``patience`` seconds."""
        with trio.move_on_after(patience):
            while not self._waiting:
                self._wake = trio.Event()
                await self._wake.wait()
        return bool(self._waiting)

    async def _live(self) -> None:
        """One life of the child."""
        written = Excerpt(STDERR)
        failure: EmbedFailed | None = None
        try:
            env = {**dict.fromkeys(_THREADS, "1"), **self._ports.env}
            command = Command(self._argv, self._ports.folder, env)
            async with spawn(command, mark=f"{self._ports.family}:{secrets.token_hex(4)}") as child:
                self.pid = child.pid
                failure = await self._lead(child, written)
        except HomedError as error:
            failure = EmbedFailed(f"The process for embeddings cannot be started: {error.message}", hint=error.hint)
        finally:
            self.pid = None
            if self._job is not None:
                self._job.fail(failure or _stopping())
                self._job = None
        if failure is not None:
            self._ended_badly(failure, written)

    def _ended_badly(self, failure: EmbedFailed, written: Excerpt) -> None:
        pause = LASTING_PAUSE if failure.lasting else PAUSES[min(self._bad_lives, len(PAUSES) - 1)]
        self._bad_lives += 1
        self._not_before = trio.current_time() + pause
        self._reason = failure
        log.warning("embeddings: %s", failure.message)
        if found := _EXCEPTION.search(written.value().decode("utf-8", "replace")):
            log.warning("the embedding child ended by %s", found[1])  # no more of it: the rest may quote a text
        if pause:
            self._fail_waiting(failure)

    async def _lead(self, child: Child, written: Excerpt) -> EmbedFailed | None:
        """Ask what is to be asked until nobody has for a while (None), or it fails."""
        failure: EmbedFailed | None = _crashed()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_drain, child, written)
            async with trio.open_nursery() as using:
                using.start_soon(_until_ended, child, using.cancel_scope)
                failure = await self._use(child)
                using.cancel_scope.cancel()
            nursery.cancel_scope.cancel()
        return failure

    async def _use(self, child: Child) -> EmbedFailed | None:
        talk = _Talk(child)
        try:
            opened = await talk.exchange(
                frames.encode("open", spec={**self._spec, "threads": self._threads}), LOAD_LIMIT
            )
            if opened.do == "failed":
                return EmbedFailed(f"{opened.said['why']}.", hint=_hint(opened), lasting=bool(opened.said["lasting"]))
            said = opened.said
            self.opened = Opened(int(said["dims"]), bool(said["media"]), float(said["baseline"]))
            while await self._wanted(self._ports.linger):
                self._job = self._waiting.popleft()
                self._answer(self._job, await talk.exchange(self._job.frame, STALL))
                self._job = None
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return _crashed()
        except trio.TooSlowError:
            return EmbedFailed("The process for embeddings was silent for too long and was ended.", hint=_CRASHED)
        except (frames.BadFrame, KeyError, TypeError, ValueError) as error:
            log.error("an embedding child said what cannot be understood: %r", error)
            return _crashed()
        return None

    def _answer(self, job: _Job, answer: Frame) -> None:
        if answer.do == "failed":
            job.fail(EmbedFailed(f"{answer.said['why']}.", hint=_hint(answer)))
            return
        self._bad_lives, self._reason = 0, None
        job.answer = answer
        job.done.set()


class _Talk:
    """One question, one answer."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._decoder = frames.Decoder()

    async def exchange(self, frame: bytes, patience: float) -> Frame:
        """Raises TooSlowError after ``patience`` seconds without a sign of life, BrokenResourceError at its end."""
        with trio.fail_after(patience) as limit:
            await self._child.stdin.send_all(frame)
            while data := await self._child.stdout.receive_some(_CHUNK):
                for answer in self._decoder.feed(bytes(data)):
                    if answer.do != "busy":
                        return answer
                    limit.deadline = trio.current_time() + patience
        raise trio.BrokenResourceError("it has ended")


async def _drain(child: Child, into: Excerpt) -> None:
    while data := await child.stderr.receive_some(_CHUNK):
        into.add(bytes(data))


async def _until_ended(child: Child, scope: trio.CancelScope) -> None:
    """Also one that dies while nobody asks it is noticed."""
    await child.wait()
    scope.cancel()


def _crashed() -> EmbedFailed:
    return EmbedFailed("The process that makes embeddings has ended unexpectedly.", hint=_CRASHED)


def _stopping() -> EmbedFailed:
    return EmbedFailed("The embedder was changed or is being stopped.", hint="Ask again.")


def _hint(frame: Frame) -> str:
    return "Check the settings core.memory.embedding*." if frame.said.get("lasting") else ""
