"""One process with a model in it, from its start to its end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from homed.proc.bounded import Excerpt
from homed.proc.spawn import Child
from homed.providers.base import ErrorKind, ProviderError
from homed.providers.local import frames
from homed.providers.local.job import Job

log = logging.getLogger(__name__)

BATCH = 64
"""Tokens read at once: as fast as more on one thread, and progress is told after each."""

STOP_PATIENCE = 1.0
"""Seconds from asking the child to end an answer to killing it; a token takes some 20 ms."""

STALL = 180.0
"""Seconds without a sign of life; a batch of a large model takes a minute on a slow machine."""

LOAD_LIMIT = 600.0
"""Seconds that loading may take: tens of gigabytes from a slow disk."""

BEAT = 0.5
"""Seconds between two looks at how far loading is."""

STDERR = 8192
"""Bytes of what the libraries write that are kept, for the reason of a failure."""

_CHUNK = 65536
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Load:
    """What to load and how; ``context`` in tokens."""

    path: Path
    context: int
    threads: int


class Life:
    """Speaks with one child; ``converse`` and ``drain`` run beside everything else, and ``over`` is set when the first
    of them has seen the end."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._written = Excerpt(STDERR)
        self._loaded = trio.Event()
        self._why = ""
        self._id = 0
        self._job: Job | None = None
        self._answered = trio.Event()
        self.over = trio.Event()
        self.drained = trio.Event()
        """Its stderr has ended."""
        self.killed = False
        """True when it was ended because somebody had stopped."""

    @property
    def job(self) -> Job | None:
        """The one being answered."""
        return self._job

    def kill(self) -> None:
        """End it now, in whatever it is doing, because nobody wants the answer; never waits."""
        self.killed = True
        self._child.signal_group(9)

    async def drain(self) -> None:
        """Keep its stderr empty."""
        while data := await self._child.stderr.receive_some(_CHUNK):
            self._written.add(bytes(data))
        self.drained.set()

    async def converse(self) -> None:
        """Take what it says until it has nothing more to say."""
        decoder = frames.Decoder()
        try:
            while data := await self._child.stdout.receive_some(_CHUNK):
                for frame in decoder.feed(bytes(data)):
                    await self._take(frame)
        except (frames.BadFrame, KeyError, TypeError, ValueError) as error:
            log.error("the local model's process is ended, it said what cannot be understood: %r", error)
            self._child.signal_group(9)
        finally:
            self.over.set()

    async def load(self, load: Load, tell: Callable[[int], None]) -> str:
        """Load the model; ``tell`` hears the bytes in memory.  Returns why it cannot be loaded, "" when it is."""
        given = {"path": str(load.path), "context": load.context, "threads": load.threads, "batch": BATCH}
        await self._say("load", **given)
        with trio.move_on_after(LOAD_LIMIT):
            while not self._loaded.is_set():
                tell(resident(self._child.pid))
                with trio.move_on_after(BEAT):
                    await self._loaded.wait()
        if not self._loaded.is_set():
            self.kill()
            return f"It was not loaded within {LOAD_LIMIT:g} s."
        return f"llama.cpp cannot load it: {self.last_words() or self._why}" if self._why else ""

    async def answer(self, job: Job) -> None:
        """Have it answered, and return when the child is free again.

        A job abandoned in the middle of its answer is ended by asking, for ``STOP_PATIENCE`` seconds; where that does
        not help, or nothing comes for ``STALL`` seconds, the child is killed.
        """
        self._id += 1
        self._job, self._answered = job, trio.Event()
        self._sign_of_life(job)
        await self._say("ask", id=self._id, body=job.body)
        with job.patience:
            await job.settled.wait()
        if not job.settled.is_set():
            job.fail(ProviderError(ErrorKind.TRANSIENT, f"The local model was silent for {STALL:g} s and was ended."))
            self._child.signal_group(9)  # its own fault: it counts as a life that ended badly
            await self._forever()
        if not job.ended and not self.killed:
            await self._say("stop", id=self._id)
            with trio.move_on_after(STOP_PATIENCE):
                await self._answered.wait()
        if not job.ended or self.killed:
            self.kill()
            await self._forever()
        self._job = None

    def last_words(self) -> str:
        """The last complaint among what the libraries wrote."""
        lines = self._written.value().decode("utf-8", "replace").splitlines()
        found = [line.strip() for line in lines if "error" in line.lower()]
        return found[-1][:300] if found else ""

    async def _forever(self) -> None:
        """Until whoever uses this life is cancelled, which is when it is over."""
        await trio.sleep_forever()

    async def _say(self, do: str, **fields: object) -> None:
        try:
            await self._child.stdin.send_all(frames.encode(do, **fields))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            await self._forever()

    async def _take(self, frame: Mapping[str, Any]) -> None:
        do = frame["do"]
        if do == "loaded":
            self._loaded.set()
        elif do == "failed":
            self._why = str(frame["why"]) or "no reason given"
            self._loaded.set()
        elif self._job is not None and frame["id"] == self._id:
            await self._take_answer(self._job, do, frame)

    async def _take_answer(self, job: Job, do: str, frame: Mapping[str, Any]) -> None:
        job.patience.deadline = float("inf")  # a reader that is behind is not the child's fault
        if do == "chunk":
            await job.chunk(_object(frame["data"]))
        elif do == "error":
            job.refused(_object(frame["body"]))
        elif do == "end":
            await job.end()
            self._answered.set()
        self._sign_of_life(job)

    def _sign_of_life(self, job: Job) -> None:
        job.patience.deadline = trio.current_time() + STALL


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    return value


def resident(pid: int) -> int:
    """Bytes of a process in memory; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
