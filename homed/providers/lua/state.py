"""One Lua state with one version of a script in it, within limits of memory and instructions.  Runs in the child.

Only bytes cross the border, both ways.  What a script waits for (``http_get``) is a yield: the state is free for other
calls until the answer is there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lupa.lua54 import LuaError, LuaRuntime

_HERE = Path(__file__).parent
LIBRARIES = ("json", "util", "openai")
"""What every script finds as a global, each from the file of its name; in this order, the later use the earlier."""

STEP = 10_000
"""Instructions between two looks at their number."""

_RESERVE = 80 << 20
"""Bytes above the limit for what we put into a full state ourselves (a frame, twice): without room for it Lua would
end the process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``memory``: bytes for the state, over all its calls.  ``instructions``: of one call; a second has some 10⁸."""

    memory: int = 128 << 20
    instructions: int = 100_000_000


Outcome = tuple[bytes, ...]
"""``done`` JSON TEXT (the body of a request), ``ask`` NAME JSON, or ``fail`` WHY KIND TRACEBACK PARTS (JSON of what a
batch gave before)."""


class State:
    """A fresh state.  ``say(level, line)`` takes what the script logs."""

    def __init__(self, name: str, say: Callable[[bytes, bytes], object], limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._lua: Any = LuaRuntime(
            encoding=None, register_eval=False, register_builtins=False, max_memory=self._limits.memory + _RESERVE,
            attribute_filter=_no_attributes,
        )  # fmt: skip
        sandbox = (_HERE / "sandbox.lua").read_bytes()
        seeds = struct.unpack("<qq", os.urandom(16))  # for ids that are minted; Lua's own seed is the time
        self._host: Any = self._lua.execute(
            sandbox, say, self._limits.instructions, STEP, name.encode(), *seeds, name=b"=sandbox"
        )
        for library in LIBRARIES:
            self._host[b"library"](library.encode(), (_HERE / f"{library}.lua").read_bytes())

    def start(self, id_: int, kind: str, *given: bytes) -> Outcome:
        """Begin one call; see ``Outcome``."""
        return self._enter(b"start", id_, kind.encode(), *given)

    def resume(self, id_: int, ok: bool, answer: bytes) -> Outcome:
        """Go on with a call that had asked."""
        return self._enter(b"resume", id_, ok, answer)

    def drop(self, stream: int) -> None:
        """Forget what a stream had kept."""
        self._host[b"drop"](stream)

    def leave(self, id_: int) -> None:
        """Forget a call that had asked, with all that it holds: nobody waits for it."""
        self._host[b"leave"](id_)

    def _enter(self, name: bytes, *operation: object) -> Outcome:
        # Handing over the arguments takes memory of the state, and failing there is not caught by anything.
        try:
            self._lua.set_max_memory(self._limits.memory + _RESERVE)
            self._host[b"inbox"](*operation)
            function = self._host[name]
            self._lua.set_max_memory(self._limits.memory)
            result = function()
        except LuaError as error:  # in our own functions: no memory for a coroutine
            return b"fail", str(error).encode() or b"not enough memory", b"", b"", b"[]"
        return tuple(result) if isinstance(result, tuple) else (result,)


def _no_attributes(_value: object, name: object, _setting: bool) -> NoReturn:
    raise AttributeError(f"no attribute {name!r} for Lua")
