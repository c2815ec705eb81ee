"""One Lua state: compiles and runs a plugin's code within limits of memory, instructions and time.

Lua runs in a worker thread, one at a time, and without the interpreter lock, so that pings are answered meanwhile.
Only bytes cross the border, both ways.  What a handler waits for (``sdk.http`` and the like) is a yield: the state is
free for other calls until the answer is there.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import trio
from lupa.lua54 import LuaError, LuaRuntime

from homed.errors import HomedError

log = logging.getLogger("lua")

_PRELUDE = Path(__file__).with_name("prelude.lua")
_STEP = 20_000
"""Instructions between two looks at the limits: under a millisecond."""
_RESERVE = 48 << 20
"""Bytes above the limit for what the host itself puts into a full state: unprotected, it would end the process."""
_LINE = 8192
MAX_RESULT = 8 << 20
"""Bytes of JSON that a handler may return or ask with."""
_EXIT = 70

Serve = Callable[[str, list[Any]], Awaitable[object]]
"""Does what Lua asks the host for: name and arguments → a JSON value; a `HomedError` becomes a Lua error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``memory`` in bytes for the state; ``instructions`` and ``seconds`` of computing for one call; ``grace``: seconds
    more after which the process is ended, for some C functions of Lua (a pattern on a long text) cannot be stopped."""

    memory: int = 64 << 20
    instructions: int = 500_000_000
    seconds: float = 10.0
    grace: float = 5.0


class LuaFailed(Exception):
    """The code failed; ``str()`` begins with ``file:line:`` where Lua knows it."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


def end_process(seconds: float) -> NoReturn:
    """The default for code that cannot be stopped: say so and end the process, whose calls the kernel then ends."""
    sys.stderr.write(f"ERROR lua: the code ran for {seconds:g} s and cannot be stopped (a pattern?): ending\n")
    sys.stderr.flush()
    os._exit(_EXIT)


class State:
    """A fresh Lua state.  ``read(name)`` finds a module for ``require``: (file, source), or raises `LookupError`."""

    def __init__(
        self,
        read: Callable[[str], tuple[str, bytes]],
        limits: Limits | None = None,
        *,
        give_up: Callable[[float], object] = end_process,
    ) -> None:
        self._limits = limits or Limits()
        self._read = read
        self._give_up = give_up
        self._lock = trio.Lock()
        self._ids = itertools.count(1)
        self._stop: bytes | None = None
        self._deadline = 0.0
        self._running = False
        self._dropped: list[int] = []
        """Calls that were cancelled while they waited; forgotten in Lua with the next one."""
        self._lua: Any = LuaRuntime(
            encoding=None, register_eval=False, register_builtins=False, max_memory=self._limits.memory + _RESERVE,
            attribute_filter=_no_attributes,
        )  # fmt: skip
        prelude = _PRELUDE.read_bytes()
        self._host: Any = self._lua.execute(prelude, self._tick, self._module, _say, _STEP, name=b"=prelude")

    async def run(self, kind: str, *words: bytes | str, serve: Serve) -> Any:
        """Run one thing (``main``, ``tool``, ``stage``, ``event``, ``stop``, ``check``) and return its JSON value.

        Raises `LuaFailed`.  Cancelled while Lua computes, it stops Lua first; while Lua waits, the call is dropped:
        what it had done stays done.
        """
        id_, used = next(self._ids), 0.0
        if sum(map(len, words)) > MAX_RESULT:
            raise LuaFailed(f"what it is given is over {MAX_RESULT} bytes")
        operation: tuple[Any, ...] = (id_, self._limits.instructions, kind.encode(), *map(_bytes, words))
        name = "start"
        while True:
            used, (status, *rest) = await self._enter(name, operation, used)
            if status == b"done":
                return _json(rest[0])
            if status == b"fail":
                raise LuaFailed(_text(rest[0]), _text(rest[1]))
            try:
                answer = await self._served(serve, rest)
            except (trio.Cancelled, LuaFailed):
                self._dropped.append(id_)
                raise
            name, operation = "resume", (id_, *answer)

    def close(self) -> None:
        """Free it; nothing runs in it any more, and what still comes fails.  Lua holds our functions, so that it would
        never go by itself."""
        self._lua = self._host = None

    async def tell(self, what: str, value: object) -> None:
        """Set ``settings`` or ``meta`` in Lua.  Raises `LuaFailed`."""
        data = _dumps(value)
        if len(data) > MAX_RESULT:
            raise LuaFailed(f"the {what} are over {MAX_RESULT} bytes")
        status, *rest = (await self._enter(what, (data,), 0.0))[1]
        if status == b"fail":
            raise LuaFailed(_text(rest[0]))

    async def _served(self, serve: Serve, rest: list[bytes]) -> tuple[bool, bytes]:
        try:
            arguments = _json(rest[1])
            data = _dumps(await serve(_text(rest[0]), arguments if isinstance(arguments, list) else []))
            # what is pushed into Lua has to fit into the reserve: without room the process would be aborted
            return (True, data) if len(data) <= MAX_RESULT else (False, b"the answer is over %d bytes" % MAX_RESULT)
        except HomedError as error:
            return False, str(error).encode()

    async def _enter(self, name: str, operation: tuple[Any, ...], used: float) -> tuple[float, tuple[Any, ...]]:
        async with self._lock:
            self._stop, begun = None, time.monotonic()
            self._deadline = begun + self._limits.seconds - used
            self._running = True
            result: tuple[Any, ...] = ()
            watchdog = trio.CancelScope(shield=True)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._hand_on)
                nursery.start_soon(self._watch, watchdog)
                result = await trio.to_thread.run_sync(self._go, name, operation)
                watchdog.cancel()
                nursery.cancel_scope.cancel()
            return used + time.monotonic() - begun, result

    async def _hand_on(self) -> None:
        """Beside the thread: tell Lua of a cancellation."""
        try:
            await trio.sleep_forever()
        finally:
            if self._running:
                self._stop = b"the call was cancelled"

    async def _watch(self, until: trio.CancelScope) -> None:
        """Beside the thread, also once the call is cancelled: end the process if nothing else stops the code."""
        seconds = self._limits.seconds + self._limits.grace
        with until:
            await trio.sleep(seconds)
            self._give_up(seconds)

    def _go(self, name: str, operation: tuple[Any, ...]) -> tuple[Any, ...]:
        """In the thread: hand over the arguments with memory in reserve, then run."""
        if self._lua is None:
            self._running = False
            return b"fail", b"the code was replaced or is ending", b""
        try:
            self._lua.set_max_memory(self._limits.memory + _RESERVE)
            while self._dropped:
                self._host[b"drop"](self._dropped.pop())
            self._host[b"inbox"](*operation)
            function = self._host[name.encode()]
            self._lua.set_max_memory(self._limits.memory)
            result = function()
        except LuaError as error:  # in the host's own functions: no memory for a coroutine
            return b"fail", str(error).encode() or b"not enough memory", b""
        finally:
            self._running = False
        return result if isinstance(result, tuple) else (result,)

    # Called by Lua.  A text that does not fit into a full state is an error that jumps out of the interpreter with its
    # lock held, and hangs the process: so there is a reserve for what is returned here, until the next tick.

    def _tick(self) -> bytes | None:
        self._lua.set_max_memory(self._limits.memory + _RESERVE)
        if self._stop is not None:
            return self._stop
        if time.monotonic() > self._deadline:
            return f"it computed for more than {self._limits.seconds:g} s".encode()
        self._lua.set_max_memory(self._limits.memory)
        return None

    def _module(self, name: bytes) -> bytes:
        self._lua.set_max_memory(self._limits.memory + _RESERVE)
        try:
            where, source = self._read(name.decode("utf-8", "replace"))
        except LookupError as error:
            return b"-" + str(error.args[0]).encode()
        return b"+" + where.encode() + b"\n" + source


def _no_attributes(_value: object, name: object, _setting: bool) -> NoReturn:
    raise AttributeError(f"no attribute {name!r} for Lua")


def _say(level: bytes, line: bytes) -> None:
    number = {b"debug": logging.DEBUG, b"warning": logging.WARNING, b"error": logging.ERROR}.get(level, logging.INFO)
    log.log(number, "%s", _text(line[:_LINE]))


def _bytes(word: bytes | str) -> bytes:
    return word if isinstance(word, bytes) else word.encode("utf-8", "replace")


def _text(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _json(data: Any) -> Any:
    if isinstance(data, bytes) and len(data) > MAX_RESULT:
        raise LuaFailed(f"that is over {MAX_RESULT} bytes")
    try:
        return json.loads(_text(data))
    except ValueError as error:
        raise LuaFailed(f"Lua answered no JSON ({error})") from error
