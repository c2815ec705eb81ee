"""The process that runs one adapter script (``python -m homed.providers.lua.child``); only `engine` starts it.

It speaks `frames` over its stdin and stdout, and ends with its stdin.  One thread: a call runs until it is done or asks
homed for something.  What cannot be stopped from inside (a pattern on a long text is one C call of Lua) is ended by a
timer on the process's computing time, that of the system for it included, whose signal ends the process.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from homed.providers.lua import frames
from homed.providers.lua.state import Outcome, State

SECONDS = 3.0
"""Seconds of computing for one step of a call; the instructions allowed take a little less."""

MEMORY = 1 << 30
"""Bytes of address space; far above what the states are allowed, for what their limit does not see."""

LOST = b"what the script had kept of this answer is lost: it ran out of memory meanwhile"
_OF_ANSWERS = frozenset({"chunks", "finish", "whole"})

_READ = 1 << 20


def main() -> None:
    """Serve until stdin ends."""
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is homed's to hear
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with open(commands, "rb", buffering=0) as heard, open(answers, "wb", buffering=0) as said:
        Child(heard, said).run()


class Child:
    """The versions of the script by their number, and the calls that wait for homed."""

    def __init__(self, commands: Any, answers: BinaryIO) -> None:
        self._commands = commands
        self._answers = answers
        self._sources: dict[int, tuple[str, bytes]] = {}
        self._states: dict[int, State] = {}
        self._asking: dict[int, int] = {}
        """Call → the version it runs in."""
        self._begun: dict[int, set[int]] = {}
        """Version → the answers that began in its state: what that kept of them is lost with it."""

    def run(self) -> None:
        """Until stdin ends."""
        decoder = frames.Decoder()
        while data := self._commands.read(_READ):
            for frame in decoder.feed(data):
                self._take(frame)

    def _take(self, frame: Mapping[str, Any]) -> None:
        for version, stream in frame.get("drop", ()):
            if version in self._states:
                self._states[version].drop(stream)
                self._begun[version].discard(stream)
        for version in frame.get("unload", ()):
            self._sources.pop(version, None)
            self._states.pop(version, None)
            self._begun.pop(version, None)
        for id_ in frame.get("leave", ()):
            if (state := self._states.get(self._asking.pop(id_, 0))) is not None:
                state.leave(id_)
        match frame["do"]:
            case "load":
                self._load(frame)
            case "call":
                self._call(frame)
            case "answer":
                self._resume(frame)

    def _load(self, frame: Mapping[str, Any]) -> None:
        version, id_ = int(frame["version"]), int(frame["id"])
        self._sources[version] = frame["name"], _bytes(frame["source"])
        self._fresh(version, id_)

    def _fresh(self, version: int, id_: int) -> bool:
        """A new state for this version, with the script run in it; says so under ``id_`` unless that is 0."""
        name, source = self._sources[version]
        state = State(name, self._log)
        outcome = self._timed(lambda: state.start(id_, "load", source))
        good = outcome[0] == b"done"
        if good:
            self._states[version], self._begun[version] = state, set()
        if id_ or not good:
            self._told(version, id_, outcome)
        return good

    def _call(self, frame: Mapping[str, Any]) -> None:
        version, id_, kind = int(frame["version"]), int(frame["id"]), str(frame["kind"])
        state = self._states.get(version)
        if state is None and not (version in self._sources and self._fresh(version, 0)):
            self._told(version, id_, (b"fail", b"this version of the script is not loaded", b"", b"", b"[]"))
            return
        state, stream = self._states[version], int(frame["stream"])
        if kind in _OF_ANSWERS and stream not in self._begun[version]:
            self._told(version, id_, (b"fail", LOST, b"transient", b"", b"[]"))
            return
        if kind == "request":
            self._begun[version].add(stream)
        # ``whole`` and ``models`` are given text, the others JSON: all of it bytes for Lua.
        given = [_bytes(one) for one in frame["given"]]
        streams = () if kind == "models" else (stream,)
        self._told(version, id_, self._timed(lambda: state.start(id_, kind, *streams, *given)))

    def _resume(self, frame: Mapping[str, Any]) -> None:
        id_ = int(frame["id"])
        version = self._asking.pop(id_, 0)
        state = self._states.get(version)
        if state is None:
            self._told(version, id_, (b"fail", b"the script was ended while it waited", b"", b"", b"[]"))
            return
        ok, answer = bool(frame["ok"]), _bytes(frame["value"])
        self._told(version, id_, self._timed(lambda: state.resume(id_, ok, answer)))

    def _timed(self, run: Any) -> Outcome:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            found: Outcome = run()
            return found
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _told(self, version: int, id_: int, outcome: Outcome) -> None:
        match outcome:
            case (b"done", value, text):
                self._say(
                    b'{"do":"done","id":%d,"value":%b,"text":%b}' % (id_, value, _quoted(text) if text else b'""')
                )
            case (b"ask", name, given):
                self._asking[id_] = version
                self._say(b'{"do":"ask","id":%d,"name":%b,"given":%b}' % (id_, _quoted(name), given))
            case (_, why, kind, trace, parts):
                self._say(
                    b'{"do":"fail","id":%d,"why":%b,"kind":%b,"trace":%b,"parts":%b}'
                    % (id_, _quoted(why[:2000]), _quoted(kind[:40]), _quoted(trace[:4000]), parts)
                )
                if b"not enough memory" in why:  # what filled it may stay for ever: the next call begins afresh
                    self._states.pop(version, None)

    def _log(self, level: bytes, line: bytes) -> None:
        self._say(b'{"do":"log","level":%b,"text":%b}' % (_quoted(level[:20]), _quoted(line)))

    def _say(self, data: bytes) -> None:
        if len(data) > frames.LONGEST:
            raise SystemExit("the script answered more than fits into a frame")
        rest = memoryview(frames.framed(data))
        try:
            while rest:
                rest = rest[self._answers.write(rest) :]
        except BrokenPipeError:  # homed is gone
            sys.exit(0)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _quoted(text: bytes) -> bytes:
    """Bytes of anybody's making as a JSON string; a half of a pair stays one."""
    try:
        plain = text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        plain = text.decode("utf-8", "replace")
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    main()
