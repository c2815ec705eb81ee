"""Start Python children by forking one process that has imported what they all import.

Such a child starts in milliseconds and shares most of its memory with the others; in everything else it is a child as
``spawn`` makes them: homed's own, leader of its session and group, with its own pipes, environment and folder.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import trio

from homed.errors import HomedError
from homed.proc.marks import MARK, kill_marked
from homed.proc.reap import adopts
from homed.proc.spawn import Child, Command, adopt
from homed.proc.zygote_begin import ENV_ROOM, Begun, begin, pipe

_log = logging.getLogger(__name__)

_READY_LIMIT = 10.0
"""Seconds a start waits for a zygote that is still importing."""
_REPLY_LIMIT = 5.0
"""Seconds for one fork, after which the zygote is taken for hung."""
_PAUSES = (0.0, 1.0, 5.0, 30.0, 300.0)
"""Seconds before the next zygote, after so many in a row that did not live ``_GOOD_LIFE``."""
_GOOD_LIFE = 60.0
_LINE = 4096
_LAST_WORDS = 0.5
_REQUEST = 60_000
"""Bytes of a request that one packet carries."""
_FIXED = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_")
"""Variables that work only from a process's beginning: where they differ from the zygote's, no fork will do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A Python program: ``module`` or ``file``, its arguments, and what goes in front of ``sys.path``."""

    module: str
    file: str
    args: tuple[str, ...]
    path: str


def entry_of(cmd: Command) -> Entry | None:
    """What ``python -m MODULE …`` or ``python FILE …`` runs, after ``-P`` too; None for anything else."""
    program, *rest = cmd.argv
    safe = rest[:1] == ["-P"]
    rest = rest[safe:]
    if program != sys.executable or not rest:
        return None
    if rest[0] == "-m" and len(rest) > 1:
        return Entry(rest[1], "", tuple(rest[2:]), "" if safe else str(cmd.cwd))
    if rest[0].startswith("-"):
        return None
    folder = (cmd.cwd / rest[0]).resolve().parent
    return Entry("", rest[0], tuple(rest[1:]), "" if safe else str(folder))


class Forked:
    """A forked process with our ends of its pipes; made by `Zygote.fork` only."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = trio.lowlevel.FdStream(stdin)
        self.stdout = trio.lowlevel.FdStream(stdout)
        self.stderr = trio.lowlevel.FdStream(stderr)

    async def wait(self) -> int:
        """Wait until it has ended and collect it; its code, negative for a signal.  Nobody else may collect it."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:  # no handle is left; a thread waits without one
            return await trio.to_thread.run_sync(_collect, self.pid)
        try:
            await trio.lowlevel.wait_readable(handle)
        finally:
            trio.lowlevel.notify_closing(handle)
            os.close(handle)
        return _collect(self.pid)

    def kill(self) -> None:
        """SIGKILL, for one that nobody has waited for yet."""
        os.kill(self.pid, signal.SIGKILL)


class Zygote:
    """The process that children are forked from, made anew whenever it ends.  Open one with ``open_zygote``."""

    def __init__(self, modules: Sequence[str], env: Mapping[str, str], family: str) -> None:
        self._modules, self._env, self._family = tuple(modules), dict(env), family
        self._turn = trio.Lock()  # one request, one reply
        self._link: trio.socket.SocketType | None = None
        self._child: Child | None = None
        self._coming = True
        self._changed = trio.Event()

    @property
    def pid(self) -> int | None:
        """Of the process that serves now; None while there is none."""
        return self._child.pid if self._child is not None and self._link is not None else None

    async def wait_ready(self) -> bool:
        """Wait until it serves (True), or is not to be had for now (False)."""
        with trio.move_on_after(_READY_LIMIT):
            while self._link is None and self._coming:
                await self._changed.wait()
        return self._link is not None

    async def fork(self, cmd: Command, env: Mapping[str, str]) -> Forked | None:
        """Start ``cmd`` with ``env`` as its whole environment; None when it must be spawned plainly.

        Raises OSError as a plain start would.  Cancelled while it waits for its turn, nothing was started; later it is
        finished first.  The caller counts it as starting meanwhile (``reap.known``).
        """
        entry = entry_of(cmd)
        if entry is None or not adopts() or not self._suits(env):
            return None
        if not await self.wait_ready():
            return None
        async with self._turn:
            with trio.CancelScope(shield=True):  # bounded by _REPLY_LIMIT
                forked = await self._exchange(entry, cmd, env)
        return forked

    def _suits(self, env: Mapping[str, str]) -> bool:
        size = sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in env.items())
        return size <= ENV_ROOM and _fixed(env) == _fixed(self._env)

    async def _exchange(self, entry: Entry, cmd: Command, env: Mapping[str, str]) -> Forked | None:
        link, reply = self._link, b""
        if link is None:
            return None
        request = {
            "argv": cmd.argv, "module": entry.module, "file": entry.file, "args": entry.args, "path": entry.path,
            "cwd": str(cmd.cwd), "env": dict(env), "targets": [0, 1, 2, *cmd.pass_fds],
        }  # fmt: skip
        frame = json.dumps(request).encode()
        if len(frame) > _REQUEST:
            return None
        with ExitStack() as kept, ExitStack() as given:
            pipes = [pipe(kept, given, writes=number == 0) for number in range(3)]
            with trio.move_on_after(_REPLY_LIMIT):
                reply = await _ask(link, frame, [*(theirs for _, theirs in pipes), *cmd.pass_fds])
            if not reply:
                await self._lost(env)
                return None
            answer = json.loads(reply)
            if "pid" not in answer:
                _log.warning("the zygote could not fork: %s", answer["error"])
                return None  # a plain start works, or says itself what is wrong
            kept.pop_all()
        return Forked(answer["pid"], *(ours for ours, _ in pipes))

    async def _lost(self, env: Mapping[str, str]) -> None:
        """It gave no answer: end it, and the child that it may have made."""
        _log.warning("the zygote did not answer")
        self._set(None)
        if self._child is not None:
            self._child.signal_group(signal.SIGKILL)
        if mark := env.get(MARK):
            await trio.to_thread.run_sync(kill_marked, mark)

    async def keep(self, begun: Begun | None = None) -> None:
        """Keep one alive until cancelled; ``begun`` is the first."""
        spared = frozenset[int]() if begun is None else frozenset({begun.pid})
        await trio.to_thread.run_sync(partial(kill_marked, self._family, group=True, spared=spared))
        short = 0
        while True:
            since = trio.current_time()
            try:
                await self._live(begun or begin(self._modules, self._env, self._family))
            except (HomedError, OSError) as error:
                _log.error("the zygote cannot be started: %s", error)
            begun = None
            short = 0 if trio.current_time() - since >= _GOOD_LIFE else min(short + 1, len(_PAUSES) - 1)
            pause = _PAUSES[short - 1] if short else 0.0
            self._coming = not pause
            self._set(None)
            await trio.sleep(pause)
            self._coming = True

    async def _live(self, begun: Begun) -> None:
        """One life of the process, from its start to its end."""
        with begun.link:
            async with adopt(Forked(begun.pid, *begun.pipes), begun.mark) as child, trio.open_nursery() as nursery:
                nursery.start_soon(_drain, child.stdout)
                nursery.start_soon(_drain, child.stderr)
                await self._serve(child, trio.socket.from_stdlib_socket(begun.link))
                nursery.cancel_scope.deadline = trio.current_time() + _LAST_WORDS

    async def _serve(self, child: Child, link: trio.socket.SocketType) -> None:
        ready = b""
        with trio.move_on_after(_READY_LIMIT):
            ready = await link.recv(_LINE)
        if not ready:
            _log.error("the zygote did not come up")
            child.signal_group(signal.SIGKILL)
            return
        self._child = child
        self._set(link)
        try:
            ended = await child.wait()
            _log.warning("the zygote ended (%s)", ended)
        finally:
            self._child = None
            self._set(None)

    def _set(self, link: trio.socket.SocketType | None) -> None:
        self._link = link
        self._changed.set()
        self._changed = trio.Event()


@asynccontextmanager
async def open_zygote(
    modules: Sequence[str], env: Mapping[str, str], family: str, begun: Begun | None = None
) -> AsyncIterator[Zygote]:
    """A zygote that has imported ``modules``, for the length of the block; it comes up beside it.

    ``env`` is its environment, which must hold no secret; ``family`` begins its mark, and none of its children's.
    ``begun`` is one that was started with the same.
    """
    zygote = Zygote(modules, env, family)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(zygote.keep, begun)
        yield zygote
        nursery.cancel_scope.cancel()


async def _ask(link: trio.socket.SocketType, request: bytes, fds: Sequence[int]) -> bytes:
    """Its answer; nothing when it is gone."""
    try:
        await link.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", fds))])
        return await link.recv(_LINE)
    except (OSError, trio.ClosedResourceError) as error:
        _log.debug("the zygote is gone: %s", error)
        return b""


async def _drain(stream: trio.abc.ReceiveStream) -> None:
    async for data in stream:
        _log.warning("zygote: %s", data.decode("utf-8", "replace").rstrip()[:_LINE])


def _collect(pid: int) -> int:
    """Collect a child that has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _fixed(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_FIXED)}
