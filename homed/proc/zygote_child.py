"""The zygote's process: imports once what every child imports, then forks a child for each request.

``python -P -m homed.proc.zygote_child FD MODULES ROOM``: ``FD`` is a seqpacket socket, ``MODULES`` a list with commas.
It runs no thread, holds nothing but that socket, and leaves when the other end is closed.  A child is forked twice, so
that it belongs to homed (a subreaper), and leaves this module by running its program: nothing of ours is below it.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import json
import logging
import os
import random
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_MOST = 65_536
"""Bytes of one request."""
_MOST_FDS = 64
_ARG_START = 45
"""Fields of ``/proc/self/stat`` after the name: arg_start, arg_end, env_start, env_end."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a child is to run.  ``module`` or ``file``; ``path`` is put in front of ``sys.path`` unless it is empty."""

    argv: tuple[str, ...]
    module: str
    file: str
    args: tuple[str, ...]
    path: str


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)

Actions = Mapping[signal.Signals, Any]
"""What is done at each signal."""


def main() -> Job | None:
    """Serve until the other end is closed (None); in a forked child: what to run."""
    os.chdir("/")
    actions = {number: signal.getsignal(number) for number in _SIGNALS}
    link = socket.socket(fileno=int(sys.argv[1]))
    _close([fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and fd != link.fileno()])  # not ours
    for name in filter(None, sys.argv[2].split(",")):
        importlib.import_module(name)
    sys.stdout.flush()
    # not before: what imports leave would lie in holes all over the memory, and children that fill them copy the pages
    gc.disable()
    gc.collect()
    gc.freeze()  # a collection in a child must not touch, and so copy, every page they share
    link.send(b'{"ready": true}')
    while True:
        data, fds, _, _ = socket.recv_fds(link, _MOST, _MOST_FDS)
        if not data:
            return None
        job = _serve(link, json.loads(data), fds, actions)
        if job is not None:
            return job


def _serve(link: socket.socket, request: dict[str, Any], fds: list[int], actions: Actions) -> Job | None:
    """Make one child and answer with its pid; in the child, what to run."""
    opened: list[int] = []
    try:
        if threading.active_count() != 1 or len(os.listdir("/proc/self/task")) != 1:
            raise OSError(0, "the zygote has more than one thread")
        told, tell = os.pipe()
        opened += (told, tell)
        wait, go = os.pipe()
        opened += (wait, go)
        between = os.fork()
    except OSError as error:
        _close([*fds, *opened])
        link.send(_failed(error))
        return None
    if between == 0:
        link.detach()  # its number may be that of another thing soon
        return _between(request, fds, tell, wait, actions)
    _close([*fds, tell, wait])
    os.waitpid(between, 0)
    reply = os.read(told, _MOST) or _failed(OSError(0, "the child ended before it began"))
    with suppress(BrokenPipeError):  # killed already
        os.write(go, b"g")  # not before it has become homed's: it looks who its parent is
    _close([told, go])
    link.send(reply)  # last: what homed was told of needs this process no more
    return None


def _between(request: dict[str, Any], fds: list[int], tell: int, wait: int, actions: Actions) -> Job | None:
    """The first fork, which ends at once, and in the second one the child."""
    try:
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
        tell, wait = _place(fds, request["targets"], [tell, wait])
        job = _become(request, actions)
        os.write(tell, json.dumps({"pid": os.getpid()}).encode())
        if os.read(wait, 1) != b"g":
            os._exit(1)
    except OSError as error:
        os.write(tell, _failed(error))
        os._exit(1)
    _close([tell, wait])
    return job


def _become(request: dict[str, Any], actions: Actions) -> Job:
    """Turn this process into what a fresh one would be.  ``actions``: what a fresh one does at signals; one that homed
    was told to ignore (nohup, a job in the background) is ignored by all it starts."""
    os.chdir(request["cwd"])
    _environment(request["env"])
    argv = request["argv"]
    _write_over(0, b"".join(os.fsencode(word) + b"\0" for word in argv), cut=True)
    for number, action in actions.items():
        signal.signal(number, action)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    random.seed()
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    gc.enable()
    return Job(tuple(argv), request["module"], request["file"], tuple(request["args"]), request["path"])


def _place(fds: list[int], targets: list[int], private: list[int]) -> list[int]:
    """Give each descriptor the number it is to have; ``private`` ones move out of the way, all others are closed."""
    above = max(targets) + 1
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in fds]
    kept = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in private]
    for source, target in zip(high, targets, strict=True):
        os.dup2(source, target)
    wanted = {*targets, *kept}
    _close([fd for fd in map(int, os.listdir("/proc/self/fd")) if fd not in wanted])
    return kept


def _environment(env: dict[str, str]) -> None:
    """Replace the environment whole, also where ``/proc`` shows it: a child is found by its mark."""
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    _write_over(2, b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items()))


def _write_over(field: int, text: bytes, *, cut: bool = False) -> None:
    """Write over the arguments (``field`` 0) or the environment (2) that this process was started with."""
    with open("/proc/self/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
    begin, end = (int(number) for number in numbers[_ARG_START + field : _ARG_START + field + 2])
    room = end - begin
    if cut:
        text = text[: room - 1]
    if not begin or len(text) > room:
        raise OSError(0, "the environment does not fit where the zygote's was")
    ctypes.memmove(begin, text.ljust(room, b"\0"), room)


def _failed(error: OSError) -> bytes:
    return json.dumps({"error": error.strerror or str(error)}).encode()


def _close(fds: list[int]) -> None:
    for fd in fds:
        try:
            os.close(fd)
        except OSError:  # the descriptor by which the list was read
            continue


def run(job: Job) -> None:
    """Run the program as the interpreter would."""
    sys.orig_argv = list(job.argv)
    sys.argv = [job.file or "-m", *job.args]
    if job.path:
        sys.path.insert(0, job.path)
    if job.module:
        runpy.run_module(job.module, run_name="__main__", alter_sys=True)
    elif os.path.exists(job.file):
        runpy.run_path(job.file, run_name="__main__")
    else:
        sys.stderr.write(f"{sys.executable}: can't open file {job.file!r}: no such file\n")
        raise SystemExit(2)


if __name__ == "__main__":
    job = main()
    if job is not None:
        run(job)
