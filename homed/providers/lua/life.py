"""One process that runs a script, from its start to its end."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio

from homed.errors import HomedError
from homed.proc.bounded import Excerpt
from homed.proc.spawn import Child, Exit
from homed.providers.lua import frames

log = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds for one step of a call: its own three of computing, and as many for those before it on a busy machine."""

WAITING_FRAMES = 8
"""Frames that may wait for the pipe; then whoever asks waits, within its own patience."""

LAST_WORDS = 1.0
"""Seconds from the end of its pipe to that of the process."""

STDERR = 4096
MAX_ASKED = 8
"""Times that one call may ask for something."""

_FUNCTIONS = {
    "request": "transform_request", "chunks": "transform_stream_chunk", "finish": "transform_stream_chunk",
    "whole": "transform_response",
}  # fmt: skip
"""What a kind of call is in the script."""

_CHUNK = 1 << 16

Serve = Callable[[str, Sequence[Any]], Awaitable[object]]
"""Does what a script asks for: name and arguments → a JSON value; a HomedError becomes an error in the script."""


class ScriptFailed(Exception):
    """The script failed; ``str()`` begins with ``NAME:LINE:`` where Lua knows it.

    ``kind`` is what the script called it, "" for an error that it did not mean to raise.  ``parts`` are those that a
    batch of chunks gave before.
    """

    def __init__(self, why: str, kind: str = "", parts: object = ()) -> None:
        super().__init__(why)
        self.kind = kind
        self.parts = parts


class ScriptEnded(Exception):
    """The process ended, by itself or by another call's fault; the text says how."""


async def nothing(name: str, _given: Sequence[Any]) -> object:
    """Serves calls that may ask for nothing."""
    await trio.lowlevel.checkpoint()
    raise HomedError(f"{name} is not for this.")


@dataclass(slots=True, eq=False)
class _Call:
    what: str
    came: trio.Event = field(default_factory=trio.Event)
    frame: frames.Frame | None = None
    asking: bool = False


class Life:
    """Speaks with one child.  ``converse``, ``write`` and ``drain`` run beside everything else; ``over`` is set when it
    has nothing more to say, and every call that waits ends then."""

    def __init__(self, child: Child, said: Callable[[str, str], None]) -> None:
        self._child = child
        self._said = said
        self._written = Excerpt(STDERR)
        self._calls: dict[int, _Call] = {}
        self._next = 0
        self._send, self._queue = trio.open_memory_channel[bytes](WAITING_FRAMES)
        self._dropped: list[tuple[int, int]] = []
        self._unloaded: list[int] = []
        self._left: list[int] = []
        self.loading = trio.Lock()
        self.loaded: dict[int, ScriptFailed | None] = {}
        """Version → why it could not be loaded, None for one that is there."""
        self.over = trio.Event()
        self.why = ""
        """How it ended, once it is over."""
        self._guilty: _Call | None = None

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    @property
    def busy(self) -> bool:
        """Whether a call waits for it."""
        return bool(self._calls)

    async def converse(self) -> None:
        """Take what it says until it has nothing more to say."""
        try:
            await self._listen()
            with trio.move_on_after(LAST_WORDS):
                self._ended(await self._child.wait())
        finally:
            self._ended(None)

    async def _listen(self) -> None:
        decoder = frames.Decoder()
        try:
            while data := await self._child.stdout.receive_some(_CHUNK):
                for frame in decoder.feed(bytes(data)):
                    self._take(frame)
        except (frames.BadFrame, KeyError, TypeError, ValueError, trio.BrokenResourceError) as error:
            log.error("the process of an adapter script is ended, it said what cannot be understood: %r", error)
            self._child.signal_group(signal.SIGKILL)

    async def write(self) -> None:
        """Hand over what is to be said.  One task does it, so that no frame is cut by a cancellation."""
        async for data in self._queue:
            # Also while it is ending, which `converse` sees: whoever says something must not wait for the pipe.
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._child.stdin.send_all(data)

    async def drain(self) -> None:
        """Keep its stderr empty."""
        while data := await self._child.stderr.receive_some(_CHUNK):
            self._written.add(bytes(data))

    def forget(self, version: int, stream: int) -> None:
        """An answer is over; said with the next frame."""
        self._dropped.append((version, stream))

    def unload(self, version: int) -> None:
        """Nobody uses this version any more; said with the next frame."""
        if version in self.loaded:
            del self.loaded[version]
            self._unloaded.append(version)

    async def load(self, version: int, name: str, source: str) -> None:
        """Have a version of the script loaded.  Raises ScriptFailed, ScriptEnded."""
        async with self.loading:
            if version not in self.loaded:
                try:
                    await self._exchange("load", "load", nothing, version=version, name=name, source=source)
                    self.loaded[version] = None
                except ScriptFailed as error:
                    self.loaded[version] = error
        if (why := self.loaded[version]) is not None:
            raise ScriptFailed(str(why), why.kind)

    async def call(self, version: int, stream: int, kind: str, given: Sequence[str], serve: Serve = nothing) -> Any:
        """Run one function of the script and return its JSON value.

        Raises ScriptFailed, ScriptEnded.  Cancelled: the script runs on, unheard, to the end of that call, or to where
        it waits for something; then it is forgotten, with all that it holds.
        """
        return await self._exchange(kind, "call", serve, version=version, stream=stream, kind=kind, given=list(given))

    async def _exchange(self, what: str, do: str, serve: Serve, **fields: object) -> Any:
        self._next += 1
        id_ = self._next
        call = self._calls[id_] = _Call(_FUNCTIONS.get(what, what))
        ended = False
        try:
            frame = await self._step(call, do, id=id_, **fields)
            asked = 0
            while frame["do"] == "ask":
                asked += 1
                call.asking = True
                ok, value = await _served(serve, frame, asked)
                call.asking = False
                frame = await self._step(call, "answer", id=id_, ok=ok, value=value)
            ended = True
        finally:
            del self._calls[id_]
            if not ended:  # said with the next frame
                self._left.append(id_)
        if frame["do"] == "fail":
            raise ScriptFailed(str(frame["why"]), str(frame["kind"]), frame["parts"])
        return {**frame["value"], "body": frame["text"]} if frame.get("text") else frame["value"]

    async def _step(self, call: _Call, do: str, **fields: object) -> frames.Frame:
        """Say one thing and wait for the child's word on it."""
        call.came, call.frame = trio.Event(), None
        with trio.move_on_after(PATIENCE) as patience:
            if not self.over.is_set():
                await self._say(do, **fields)
                await call.came.wait()
        if patience.cancelled_caught:
            self._guilty = call
            self._child.signal_group(signal.SIGKILL)
            raise ScriptFailed(f"{call.what} was not done within {PATIENCE:g} s and was ended")
        return self._word(call)

    def _word(self, call: _Call) -> frames.Frame:
        """What the child said; raises when it has ended instead."""
        if call.frame is not None:
            return call.frame
        if call is self._guilty:
            raise ScriptFailed(f"{self.why} in {call.what}")
        raise ScriptEnded(self.why)

    async def _say(self, do: str, **fields: object) -> None:
        extra: dict[str, list[Any]] = {}
        if self._dropped:
            extra["drop"], self._dropped = self._dropped, []
        if self._unloaded:
            extra["unload"], self._unloaded = self._unloaded, []
        if self._left:
            extra["leave"], self._left = self._left, []
        said = False
        try:
            await self._send.send(frames.encode(do, **fields, **extra))
            said = True
        except frames.BadFrame as error:
            raise ScriptFailed(f"what it is given is too much: {error}") from None
        finally:
            if not said:  # cancelled, too: what is to be forgotten is told with the next frame then
                self._dropped = [*extra.get("drop", ()), *self._dropped]
                self._unloaded = [*extra.get("unload", ()), *self._unloaded]
                self._left = [*extra.get("leave", ()), *self._left]

    def _take(self, frame: Mapping[str, Any]) -> None:
        if frame["do"] == "log":
            self._said(str(frame["level"]), str(frame["text"]))
            return
        if not _fits(frame):
            raise frames.BadFrame(f"an answer that is none: {frame['do'][:20]!r}")
        call = self._calls.get(frame["id"])
        if call is not None:
            call.frame = frame
            call.came.set()

    def _ended(self, how: Exit | None) -> None:
        """Once: who was running is to blame, and everybody who waits is told."""
        if self.over.is_set():
            return
        self.why = _words(how, self._written)
        # One thread, one queue: what was asked first among those that it has not answered is what it was at.
        running = [call for call in self._calls.values() if not call.asking and call.frame is None]
        if self._guilty is None and running and how is not None and how.failed:
            self._guilty = running[0]
        self.over.set()
        for call in self._calls.values():
            call.came.set()


def _fits(frame: frames.Frame) -> bool:
    """Whether it is an answer; what it holds for people is taken as it is."""
    match frame:
        case {"do": "done", "id": int(), "value": value, "text": str(text)}:
            return not text or isinstance(value, dict)
        case {"do": "ask", "id": int(), "name": str(), "given": list()}:
            return True
        case {"do": "fail", "id": int(), "why": str(), "kind": str(), "parts": list()}:
            return True
    return False


async def _served(serve: Serve, frame: frames.Frame, asked: int) -> tuple[bool, str]:
    try:
        if asked > MAX_ASKED:
            return False, f"more than {MAX_ASKED} requests in one call"
        return True, frames.text(await serve(str(frame["name"]), list(frame["given"])))
    except HomedError as error:
        return False, error.message


def _words(how: Exit | None, written: Excerpt) -> str:
    if how is not None and how.signal == signal.SIGPROF:
        return "it computed for more than 3 s and could not be stopped (a pattern on a long text?)"
    last = [line.strip() for line in written.value().decode("utf-8", "replace").splitlines() if line.strip()]
    tail = f": {last[-1][:200]}" if last else ""
    return f"its process ended ({how or 'no word'}){tail}"
