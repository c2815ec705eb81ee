"""Finding what a dead child left behind, by the mark that stands in its environment.

A process that leaves its session escapes a group kill, but not its environment: every child carries ``HOMED_MARK``, and
whatever it starts inherits it.  Marks nest with ``/`` (``a1b2:shell:77`` owns ``a1b2:shell:77/3``), so that one call's
strays can be told from its plugin's.  Linux only, through ``/proc`` and pidfds, so that a pid used again is never hit.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

MARK = "HOMED_MARK"
"""The environment variable that every child of ours carries."""

_ROUNDS = 8
"""Scans before giving up on a tree that forks faster than we kill."""
_PAUSE = 0.005
"""Seconds between two scans, for what was killed to be gone."""


def owns(mark: str, environ: bytes, *, group: bool = False) -> bool:
    """Whether an environment block (``NAME=value`` joined by NUL) carries this mark or one nested in it.

    With ``group`` the mark is the beginning of a family (everything one data folder ever started): ``a1b2`` owns
    ``a1b2:shell:77`` too.
    """
    wanted = f"{MARK}={mark}".encode()
    nested = (wanted + b"/", wanted + b":") if group else (wanted + b"/",)
    return any(entry == wanted or entry.startswith(nested) for entry in environ.split(b"\0"))


def marked(mark: str, *, group: bool = False, spared: frozenset[int] = frozenset()) -> list[int]:
    """Pids of living processes that carry this mark (as `owns`), never this process or one it descends from.

    ``spared`` are left out too.

    Blocks for some milliseconds: call it in a thread.
    """
    spared |= _lineage()
    return [pid for pid in _pids() if pid not in spared and owns(mark, _environ(pid), group=group)]


def kill_marked(mark: str, *, group: bool = False, spared: frozenset[int] = frozenset()) -> int:
    """SIGKILL every process that `marked` finds; returns how many were hit.  Blocks: call it in a thread."""
    hit: set[int] = set()
    for _ in range(_ROUNDS):
        pids = marked(mark, group=group, spared=spared)
        if not pids:
            break
        hit.update(pid for pid in pids if _kill(pid, mark, group=group))
        time.sleep(_PAUSE)
    return len(hit)


def _kill(pid: int, mark: str, *, group: bool) -> bool:
    """Kill one process if it still is what the scan saw: its handle first, then its environment once more."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not owns(mark, _environ(pid), group=group):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _environ(pid: int) -> bytes:
    """The environment a process was started with; empty for a zombie, another user's, or one just gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def stat_fields(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` after the name: state, ppid, pgrp, session, …; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def _lineage() -> frozenset[int]:
    """This process and its ancestors: a daemon started from its own shell tool must not kill itself."""
    pids, pid = set(), os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return frozenset(pids)
