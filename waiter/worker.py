"""The Trio side of the full screen: stays connected, hands notices on, and does what the state wants done."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import trio

from homed.errors import Denied, HomedError, InvalidInput, ProtocolError, TimedOut, Unavailable
from homed.wire.stream import Connection, NoHandler, homed_error
from homed.wire.version import CORE, PROTOCOL

from .channel import opened
from .connections import Directory, NeedsKey
from .endpoint import Target
from .files import export, upload
from .messages import (
    Call,
    Dial,
    Down,
    Effect,
    Export,
    Heard,
    Lost,
    Message,
    Refused,
    Replied,
    Told,
    Turned,
    Up,
    Upload,
    Wanted,
)
from .words import Words

CALL_SECONDS = 20.0
BEAT_SECONDS = 20.0
"""Between two questions whether homed is still there: over a network nobody says that it is not."""
WAITS = (0.05, 0.1, 0.2, 0.4, 1.0, 2.0, 5.0)
"""Seconds between attempts to dial again; the last one repeats."""

FAILURES = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)
"""What a connection that fails raises, besides errors of ours."""

log = logging.getLogger(__name__)


class _Ears(NoHandler):
    """Hands on what homed tells."""

    def __init__(self, dispatch: Callable[[Message], None]) -> None:
        self._dispatch = dispatch

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """An event, or that some were lost."""
        if method == "event":
            self._dispatch(Heard(params))
        elif method == "event.lost":
            count = params.get("count")
            self._dispatch(Lost(count if isinstance(count, int) else 1))


class Worker:
    """Runs as the guest of another loop; ``submit`` and ``leave`` are called from that loop, in the same thread."""

    def __init__(self, dispatch: Callable[[Message], None], directory: Directory, words: Words) -> None:
        self._dispatch = dispatch
        self._directory = directory
        self._words = words
        self._todo: deque[Effect] = deque()  # a person's commands: each comes from a key or an answer
        self._wake = trio.Event()
        self._scope = trio.CancelScope()
        self._dialing = trio.CancelScope()
        self._target: Target | None = None
        self._connection: Connection | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    # -- from the other loop -----------------------------------------------------------------------------------------

    def submit(self, effect: Effect) -> None:
        """Have something done; never waits."""
        self._todo.append(effect)
        self._soon(lambda: self._wake.set())

    def leave(self) -> None:
        """End everything."""
        self._soon(self._scope.cancel)

    def _soon(self, what: Callable[[], object]) -> None:
        if self._token is not None:
            self._token.run_sync_soon(what)

    # -- in Trio -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until `leave`.  Raises, in a group, an error that is no connection's: a fault of this program."""
        self._token = trio.lowlevel.current_trio_token()
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._stay)
                    while True:
                        while self._todo:
                            nursery.start_soon(self._do, self._todo.popleft())
                        self._wake = trio.Event()
                        await self._wake.wait()
        finally:
            self._token = None  # after a fault the other loop goes on for a moment: it may still `submit` and `leave`

    async def _stay(self) -> None:
        """Be connected to the target, whichever it is now; wait longer and longer while it cannot be reached."""
        failures, last = 0, self._target
        while True:
            with trio.CancelScope() as self._dialing:
                if self._target is None:
                    await trio.sleep_forever()
                elif await self._converse(self._target):
                    failures = 0
                await trio.sleep(WAITS[min(failures, len(WAITS) - 1)])
            failures, last = (failures + 1, last) if self._target is last else (0, self._target)

    async def _converse(self, target: Target) -> bool:
        """One connection from dialling to its end; True if it stood.  Does not return while nothing would help."""
        stood, final = False, False
        try:
            async with opened(target) as stream, trio.open_nursery() as nursery:
                connection = Connection(stream, stream, _Ears(self._dispatch))
                await nursery.start(connection.run)
                up = await _greet(connection)
                self._connection, stood = connection, True
                self._dispatch(up)
                nursery.start_soon(_beat, connection)
                await connection.closed.wait()
                nursery.cancel_scope.cancel()
            problem: HomedError = Unavailable(self._words("lost"))
        except* (HomedError, *FAILURES) as group:  # any other error is one of this program's, and ends it
            log.debug("the connection failed", exc_info=True)
            known = homed_error(group) or Unavailable(f"The connection failed: {_name(group)}.")
            problem = Unavailable(self._words("lost")) if stood else known
            final = isinstance(known, Denied | InvalidInput | ProtocolError) and not stood
        finally:
            self._connection = None
        self._dispatch(Down(problem.message, problem.hint, final))
        if final:
            await trio.sleep_forever()
        return stood

    async def _do(self, effect: Effect) -> None:
        if isinstance(effect, Call):
            self._dispatch(await self._call(effect))
            return
        try:
            if isinstance(effect, Dial):
                await self._dial(effect)
            elif isinstance(effect, Upload):
                self._dispatch(await upload(self._ask, effect.path, self._words))
            elif isinstance(effect, Export):
                self._dispatch(Told(await export(self._ask, effect, self._words)))
        except NeedsKey as error:
            self._dispatch(Wanted(error.url))
        except HomedError as error:
            self._dispatch(Told(f"{error.message}\n{error.hint}".rstrip(), "error"))

    async def _dial(self, dial: Dial) -> None:
        target = await trio.to_thread.run_sync(self._directory.find, dial)
        if target.url:
            from .remote import Address  # an address that will not do is told before the old connection is given up

            Address(target.url, insecure=target.insecure)
        self._target = target
        self._dispatch(Turned(target.name))
        self._dialing.cancel()

    async def _ask(self, method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        """Call homed.  Raises what it answers, Unavailable without a connection."""
        if self._connection is None:
            raise Unavailable(self._words("lost"))
        result = await self._connection.request(method, params, timeout=CALL_SECONDS)
        return result if isinstance(result, Mapping) else {}

    async def _call(self, call: Call) -> Replied | Refused:
        connection = self._connection
        try:
            return Replied(call.tag, await self._ask(call.method, call.params))
        except HomedError as error:
            gone = connection is None or connection.closed.is_set()
            code = "lost" if gone else "timeout" if isinstance(error, TimedOut) else error.code
            return Refused(call.tag, error.message, error.hint, code)


def _name(error: BaseException) -> str:
    """The kind of the first failure in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__


async def _greet(connection: Connection) -> Up:
    """Say hello and listen.  Raises ProtocolError when homed speaks another protocol."""
    said = await connection.request("hello", {"client": f"waiter/{CORE}", "protocol": PROTOCOL}, timeout=CALL_SECONDS)
    if not isinstance(said, Mapping) or said.get("protocol") != PROTOCOL:
        spoken = said.get("protocol") if isinstance(said, Mapping) else "?"
        raise ProtocolError(
            f"homed speaks protocol {spoken}, this waiter {PROTOCOL}.", hint="Install the same version of both."
        )
    await connection.request("subscribe", {}, timeout=CALL_SECONDS)
    return Up(str(said.get("peer", "")), str(said.get("core_version", "")))


async def _beat(connection: Connection) -> None:
    """Ask now and then whether homed is there; raises TimedOut when it is not, which ends the connection."""
    while True:
        await trio.sleep(BEAT_SECONDS)
        await connection.request("hello", {"client": f"waiter/{CORE}", "protocol": PROTOCOL}, timeout=BEAT_SECONDS)
