"""The process that holds one model (``python -m homed.providers.local.child``); only `engine` starts it.

It speaks `frames` over its stdin and stdout, which are moved to private descriptors first, so that no library can write
into the conversation.  llama.cpp's server objects are used in the process: their HTTP listener cannot be left out, so
it gets a Unix socket in the working folder (0700) and loses its name before the first request; no TCP socket is made.
The process ends with its stdin, also in the middle of loading.
"""

from __future__ import annotations

import fcntl
import os
import select
import threading
from collections.abc import Mapping
from typing import Any

from homed.providers.local import frames

REUSE = 32
"""Tokens in a row that are worth moving in the cache when an older part of the prompt went away: a conversation whose
beginning slides out of the window is not read again (measured: 900 tokens in 0.1 s instead of 9 s)."""


def main() -> None:
    """Serve until stdin ends.  Leaves by ``_exit``: the C++ threads have nothing to save and take their time."""
    with os.fdopen(_private(0), "rb", buffering=0) as commands, os.fdopen(_private(1), "wb", buffering=0) as answers:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        Child(commands, answers).run()
    os._exit(0)


def _private(fd: int) -> int:
    """A close-on-exec copy of a descriptor, out of the way of libraries."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)


class Child:
    """Reads commands in the main thread; answers are written by one worker at a time."""

    def __init__(self, commands: Any, answers: Any) -> None:
        self._commands = commands
        self._answers = answers
        self._lock = threading.Lock()
        self._server: Any = None
        self._stopped: set[int] = set()

    def run(self) -> None:
        """Until stdin ends."""
        decoder = frames.Decoder()
        while data := self._commands.read(1 << 16):
            for frame in decoder.feed(data):
                self._command(frame)

    def _command(self, frame: Mapping[str, Any]) -> None:
        match frame["do"]:
            case "load":
                self._load(frame)
            case "ask":
                threading.Thread(target=self._answer, args=(int(frame["id"]), frame["body"]), daemon=True).start()
            case "stop":
                self._stopped.add(int(frame["id"]))

    def _load(self, given: Mapping[str, Any]) -> None:
        import xllamacpp

        socket = f"{os.getpid()}.sock"  # in the working folder: no path is too long, and nobody else may enter
        params = xllamacpp.CommonParams()
        params.model.path = str(given["path"])
        params.n_ctx = int(given["context"])
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = int(given["batch"])
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(given["threads"])
        params.n_threads_http = 1
        params.n_cache_reuse = REUSE
        params.cache_ram_mib = 0  # one slot, whose cache stays where it is
        params.warmup = False  # the prompt's beginning is read instead, which warms as well and is of use
        params.hostnames = [socket]
        params.verbosity = 1
        try:
            with _dies_with(self._commands.fileno()):
                _check_private()
                self._server = xllamacpp.Server(params)
                os.unlink(socket)
        except (RuntimeError, ValueError, OSError) as error:
            self._say("failed", why=str(error))
        else:
            self._say("loaded")

    def _answer(self, id_: int, body: Mapping[str, Any]) -> None:
        def chunk(data: Any) -> bool:
            """True ends the answer."""
            if isinstance(data, dict) and "error" in data:
                self._say("error", id=id_, body=data)
            else:
                self._say("chunk", id=id_, data=data)
            return id_ in self._stopped

        try:
            self._server.handle_chat_completions(dict(body), chunk)
        except (RuntimeError, ValueError, TypeError) as error:
            self._say("error", id=id_, body={"error": {"message": str(error), "code": 400}})
        self._stopped.discard(id_)
        self._say("end", id=id_)

    def _say(self, do: str, **fields: object) -> None:
        line = memoryview(frames.encode(do, **fields))
        with self._lock:
            try:
                while line:
                    line = line[self._answers.write(line) :]
            except BrokenPipeError:  # homed is gone, and its end of stdin with it
                os._exit(0)


def _check_private() -> None:
    """The listener has no key; until its name is gone, only this user may reach it.  OSError otherwise."""
    if os.stat(".").st_mode & 0o077:
        raise PermissionError("the folder it runs in is open to others")


class _dies_with:  # noqa: N801 - reads as a sentence where it is used
    """Ends the process when the pipe ``fd`` ends, for the length of the block.

    Loading holds the interpreter, for a large model a minute, so nothing in Python could notice that homed is gone.
    The kernel does: with O_ASYNC the pipe's end sends SIGIO, whose default is to end the process.  homed sends nothing
    while a model loads, so there is no other cause.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._flags = fcntl.fcntl(fd, fcntl.F_GETFL)

    def __enter__(self) -> None:
        fcntl.fcntl(self._fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self._fd, fcntl.F_SETFL, self._flags | os.O_ASYNC)
        if select.select([self._fd], [], [], 0)[0]:  # it ended before
            os._exit(0)

    def __exit__(self, *_: object) -> None:
        fcntl.fcntl(self._fd, fcntl.F_SETFL, self._flags)


if __name__ == "__main__":
    main()
