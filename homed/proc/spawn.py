"""Start a child in a session of its own, and leave nothing of it behind."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import trio

from homed.errors import ConfigError, HomedError, Unavailable
from homed.proc.marks import MARK, kill_marked
from homed.proc.reap import known, reap_adopted

_log = logging.getLogger(__name__)

_REAP_LIMIT = 3.0
"""Seconds for a killed child to be collected; only one stuck in the kernel (a dead network disk) takes longer."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to run.  ``env`` is its whole environment (``HOMED_MARK`` is added); ``pass_fds`` keep their numbers."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: ``code`` is 0–255, or -1 when ``signal`` (a number, else 0) ended it."""

    code: int
    signal: int = 0

    @property
    def failed(self) -> bool:
        """True unless it ended by itself with 0."""
        return self.code != 0

    def __str__(self) -> str:
        return f"killed by {signal_name(self.signal)}" if self.signal else f"exit code {self.code}"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; ``signal 99`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Process(Protocol):
    """A started process with our ends of its pipes, as ``trio.Process`` has them."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    @property
    def stdin(self) -> trio.abc.SendStream | None:
        """What it reads."""
        ...

    @property
    def stdout(self) -> trio.abc.ReceiveStream | None:
        """What it writes."""
        ...

    @property
    def stderr(self) -> trio.abc.ReceiveStream | None:
        """Its log."""
        ...

    async def wait(self) -> int:
        """Wait for its end and collect it."""
        ...

    def kill(self) -> None:
        """SIGKILL."""
        ...


class Forker(Protocol):
    """Who can start some programs faster than by running them afresh."""

    async def fork(self, cmd: Command, env: Mapping[str, str]) -> Process | None:
        """``cmd`` with ``env`` as its whole environment, in a session of its own; None if it must be run afresh.

        Raises OSError when it cannot be started.  Cancelled, nothing was started.
        """
        ...


class Child:
    """A running child that leads its own session and process group; made by ``spawn`` only."""

    def __init__(self, process: Process, mark: str) -> None:
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None  # all three are pipes, see _start
        self._process = process
        self._handle = os.pidfd_open(process.pid)
        self._turn = trio.Lock()  # one task at a time may wait for one fd
        self._exit: Exit | None = None
        self._reaped = False
        self.pid = process.pid
        self.mark = mark
        self.stdin: trio.abc.SendStream = stdin
        self.stdout: trio.abc.ReceiveStream = stdout
        self.stderr: trio.abc.ReceiveStream = stderr
        self.hunt_strays = True

    async def wait(self) -> Exit:
        """Wait until it has ended; any number of callers.  It stays a zombie, so its group can still be killed safely.

        Cancelling leaves the child as it was.
        """
        async with self._turn:
            if self._exit is None:
                await trio.lowlevel.wait_readable(self._handle)
                self._exit = self._peek()
        return self._exit

    def signal_group(self, sig: int) -> None:
        """Signal the child and everything that stayed in its group; after the reaping it does nothing."""
        if self._reaped:
            return  # the number may belong to somebody else by now
        try:
            os.killpg(self.pid, sig)
        except (ProcessLookupError, PermissionError) as error:
            _log.debug("group %d was not signalled: %s", self.pid, error)

    def _peek(self) -> Exit:
        """How it ended, without collecting it."""
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert seen is not None  # its pidfd was readable
        return Exit(seen.si_status) if seen.si_code == os.CLD_EXITED else Exit(-1, seen.si_status)

    async def _bury(self) -> None:
        """Kill the group, reap, close the pipes, kill what escaped the group.  Bounded; call it shielded."""
        self.signal_group(signal.SIGKILL)
        with trio.move_on_after(_REAP_LIMIT) as limit:
            await self.wait()
            await self._process.wait()
            self._reaped = True
        if limit.cancelled_caught:
            _log.error("process %d does not die; it waits in the kernel and is left behind", self.pid)
        known().pids.discard(self.pid)
        trio.lowlevel.notify_closing(self._handle)
        os.close(self._handle)
        for stream in (self.stdin, self.stdout, self.stderr):
            await trio.aclose_forcefully(stream)
        if self.hunt_strays:
            await trio.to_thread.run_sync(kill_marked, self.mark)
        reap_adopted()


@asynccontextmanager
async def spawn(cmd: Command, *, mark: str, by: Forker | None = None) -> AsyncIterator[Child]:
    """Run ``cmd`` for the length of the block, forked ``by`` a zygote where that can be.

    Leaving the block, in whichever way, kills what is left of its group, reaps it, closes its pipes and kills processes
    that carry ``mark`` though they left the group.  Cancelling during the start waits for it, then does the same.
    Raises ConfigError when there is no such program or folder or its arguments are too long, Unavailable when the
    system cannot start one now.
    """
    child = await _start(cmd, mark, by)
    try:
        yield child
    finally:
        with trio.move_on_after(2 * _REAP_LIMIT, shield=True):
            await child._bury()


@asynccontextmanager
async def adopt(process: Process, mark: str) -> AsyncIterator[Child]:
    """The same for a process that was started otherwise, as leader of its session and with this mark."""
    known().pids.add(process.pid)
    child = Child(process, mark)
    try:
        yield child
    finally:
        with trio.move_on_after(2 * _REAP_LIMIT, shield=True):
            await child._bury()


async def _start(cmd: Command, mark: str, by: Forker | None) -> Child:
    count = known()
    env = {**cmd.env, MARK: mark}
    count.starting += 1
    try:
        process: Process | None = None if by is None else await by.fork(cmd, env)
        if process is None:
            process = await _run_afresh(cmd, env)
        count.pids.add(process.pid)
    except OSError as error:
        raise _cannot_start(cmd, error) from error
    finally:
        count.starting -= 1
    try:
        return Child(process, mark)
    except OSError as error:  # no handle left for the pidfd
        process.kill()
        with trio.move_on_after(_REAP_LIMIT, shield=True):
            await process.wait()
        count.pids.discard(process.pid)
        raise _cannot_start(cmd, error) from error


async def _run_afresh(cmd: Command, env: Mapping[str, str]) -> trio.Process:
    # Shielded by nature: a started thread is never abandoned, so no child can come to life unseen.
    return await trio.lowlevel.open_process(
        list(cmd.argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cmd.cwd,
        env=env,
        pass_fds=cmd.pass_fds,
        start_new_session=True,
    )


def _cannot_start(cmd: Command, error: OSError) -> HomedError:
    program = cmd.argv[0]
    if isinstance(error, FileNotFoundError) and not cmd.cwd.is_dir():
        return ConfigError(f"The folder {cmd.cwd} to run {program} in does not exist.", hint="Create it.")
    if isinstance(error, FileNotFoundError):
        return ConfigError(f"There is no program {program}.", hint="Check how it is written, or install it.")
    if isinstance(error, (PermissionError, NotADirectoryError)) or error.errno == errno.ENOEXEC:
        hint = f"It must be a program, and executable (chmod +x {program})."
        return ConfigError(f"{program} cannot be run: {error.strerror}.", hint=hint)
    if error.errno == errno.E2BIG:
        hint = "Put long text into a file, or on its stdin."
        return ConfigError(f"The arguments and environment for {program} are longer than the system takes.", hint=hint)
    hint = "The machine may be out of memory or of file handles."
    return Unavailable(f"{program} could not be started: {error.strerror}.", hint=hint)
