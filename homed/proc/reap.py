"""Adopt and bury orphans: a grandchild whose parent died becomes ours, and would stay a zombie.

Trio collects the children it started itself.  What is collected here are zombies of other sessions that nobody in this
run started: stealing the exit status of a child that somebody waits for is the mistake to avoid.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field

import trio
from trio.lowlevel import RunVar

from homed.errors import Unavailable
from homed.proc.marks import stat_fields

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_INTERVAL = 1.0


@dataclass
class Known:
    """The children of this Trio run that somebody waits for: ``pids``, and how many are being started this moment."""

    pids: set[int] = field(default_factory=set)
    starting: int = 0


_KNOWN: RunVar[Known] = RunVar("homed.proc.known")
"""A handle, not state: the value belongs to the Trio run and dies with it."""


def known() -> Known:
    """This run's own children."""
    try:
        return _KNOWN.get()
    except LookupError:
        fresh = Known()
        _KNOWN.set(fresh)
        return fresh


def become_subreaper() -> None:
    """Make orphaned descendants children of this process, so that they can be found and reaped.  Once, at start."""
    if _libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise Unavailable(
            f"The system refused to make homed the reaper of its orphans ({os.strerror(ctypes.get_errno())}).",
            hint="homed needs Linux 3.4 or later.",
        )


def reap_adopted() -> int:
    """Collect every zombie that was adopted; returns how many.  Never blocks, never touches a child of ``known()``.

    A process that is no subreaper adopts nothing: its zombies are all somebody's.
    """
    if not _any_zombie() or known().starting or not adopts():
        return 0
    own_session, mine = os.getsid(0), known().pids
    reaped = 0
    for pid in _children():
        fields = stat_fields(pid)
        if pid in mine or not fields or fields[0] != "Z" or int(fields[3]) == own_session:
            continue
        try:
            reaped += os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            continue
    return reaped


async def reap_strays(*, interval: float = _INTERVAL) -> None:
    """Collect adopted zombies every ``interval`` seconds until cancelled.  Cancelling loses nothing."""
    while True:
        reap_adopted()
        await trio.sleep(interval)


def adopts() -> bool:
    """Whether orphans of ours become our children."""
    answer = ctypes.c_int(0)
    _libc().prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value) or os.getpid() == 1


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _any_zombie() -> bool:
    """One system call that says whether looking closer is worth it; it collects nothing."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _children() -> list[int]:
    """Direct children of this process, whichever thread started them."""
    try:
        tasks = os.listdir("/proc/self/task")
        return [int(pid) for task in tasks for pid in _read(f"/proc/self/task/{task}/children").split()]
    except (FileNotFoundError, ProcessLookupError):  # no CONFIG_PROC_CHILDREN, or a thread just ended
        me = str(os.getpid())
        pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return [pid for pid in pids if stat_fields(pid)[1:2] == [me]]


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()
