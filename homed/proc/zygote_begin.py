"""Starting a zygote's process, which is done before Trio is loaded, so that both load it at once."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from homed.proc.marks import MARK

ROOM = "HOMED_ZYGOTE_ROOM"
"""The variable whose value is only there to be written over: what ``/proc`` shows of a child's environment lies in the
memory that its zygote was started with."""

MODULE = "homed.proc.zygote_child"
ENV_ROOM = 8192
"""Bytes of environment that a forked child can have; one with more is spawned plainly."""
_ARGS_ROOM = 512
_LINK = 3
"""The number of its socket in the zygote."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A zygote's process that was started before there was a Trio run.  ``pipes``: our ends of its three streams."""

    pid: int
    mark: str
    link: socket.socket
    pipes: tuple[int, int, int]


def begin(modules: Sequence[str], env: Mapping[str, str], family: str) -> Begun:
    """Start the process and return at once.  It leaves by itself when this process does.  Raises OSError."""
    mark = f"{family}:{secrets.token_hex(4)}"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ExitStack() as kept, ExitStack() as given:
        kept.enter_context(ours)
        given.enter_context(theirs)
        pipes = [pipe(kept, given, writes=number == 0) for number in range(3)]
        argv = (sys.executable, "-P", "-m", MODULE, str(_LINK), ",".join(modules), "-" * _ARGS_ROOM)
        # Moved up first, so that no number is taken before it has been given on.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LINK + 1) for fd in (*(t for _, t in pipes), theirs.fileno())]
        for fd in high:
            given.callback(os.close, fd)
        places = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(high)]
        pid = os.posix_spawn(
            sys.executable, argv, {**env, ROOM: "-" * ENV_ROOM, MARK: mark}, file_actions=places, setsid=True
        )
        kept.pop_all()
    stdin, stdout, stderr = (ours for ours, _ in pipes)
    return Begun(pid, mark, ours, (stdin, stdout, stderr))


def pipe(kept: ExitStack, given: ExitStack, *, writes: bool) -> tuple[int, int]:
    """(our end, the child's); each is closed by its stack.  ``writes``: ours is the end that writes."""
    read, write = os.pipe2(os.O_CLOEXEC)
    ours, theirs = (write, read) if writes else (read, write)
    kept.callback(os.close, ours)
    given.callback(os.close, theirs)
    return ours, theirs
