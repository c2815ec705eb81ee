"""The Trio driver of the JSON-RPC peer: one `Connection` over a pair of byte streams.

Host, SDK, the cli plugin and ``waiter`` all use it.  Both sides may call at any time; replies come in any order.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import trio

from homed.errors import Conflict, HomedError, InvalidInput, NotFound, ProtocolError, Stopped, TimedOut, Unavailable
from homed.wire import rpc
from homed.wire.methods import CANCEL

log = logging.getLogger(__name__)

UNKNOWN_METHOD = "unknown_method"
"""The key of an error's detail that makes it JSON-RPC's own "method not found"."""
_READ_SIZE = 1 << 16
_AT_ONCE = 64
"""Messages taken before everybody else has a turn: a millisecond's worth."""
_OUTBOX = 16
"""Lines that may wait for a slow reader (at most 16 MiB); then whoever wants to say more waits."""


class Handler(Protocol):
    """What a connection does with what the other side sends."""

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer a call with a JSON-able value, or raise a `HomedError`.  Runs as a task of its own; ``$/cancel`` and
        the end of the connection cancel it."""

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification.  In order, and without waiting: the reader stands still meanwhile."""


class NoHandler:
    """Answers every call with `NotFound`: for an end that only calls."""

    async def request(self, method: str, params: Mapping[str, Any]) -> object:  # noqa: ARG002
        """Refuse."""
        await trio.lowlevel.checkpoint()
        raise unknown_method(method)

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Ignore."""


def unknown_method(method: str) -> NotFound:
    """The error for a method that nobody here answers."""
    return NotFound(f"There is no method {method[:100]!r}.", detail={UNKNOWN_METHOD: method[:100]})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection will bear, and tell.

    ``in_flight``: calls of the other side running at once, more are refused.  ``broken`` lines within ``broken_window``
    seconds end the connection.  ``cancel_grace``: seconds that a cancelled call is waited for.
    ``quoting``: see `rpc.Peer`.
    """

    in_flight: int = 256
    broken: int = 50
    broken_window: float = 60.0
    cancel_grace: float = 1.0
    quoting: bool = False


@dataclass(slots=True, eq=False)
class _Slot:
    """One request of ours and what became of it."""

    id: int
    method: str
    done: trio.Event = field(default_factory=trio.Event)
    taken: bool = False
    withdrawn: bool = False
    response: rpc.Response | None = None


_Item = tuple[bytes, _Slot | None]


class Connection:
    """A JSON-RPC conversation over ``receive`` and ``send`` (may be one stream), which stay the owner's to close.

    Run it with ``await nursery.start(connection.run)``.  Unless ``limits.quoting`` nothing of an unreadable line is in
    any log or error.  ``on_broken`` hears the reason for each of those, ``on_unanswered`` the method of each cancelled
    call that was not answered within the grace; both must not wait.
    """

    def __init__(
        self,
        receive: trio.abc.ReceiveStream,
        send: trio.abc.SendStream,
        handler: Handler,
        *,
        limits: Limits = Limits(),
        on_broken: Callable[[str], None] | None = None,
        on_unanswered: Callable[[str], None] | None = None,
    ) -> None:
        self._receive, self._send, self._handler, self._limits = receive, send, handler, limits
        self._on_broken = on_broken or (lambda reason: log.warning("unreadable line: %s", reason))
        self._on_unanswered = on_unanswered or (lambda method: log.warning("%s was cancelled; no answer", method))
        self.on_untaken: Callable[[object], None] = lambda _frame: None
        """Hears of params and results that nobody was there to take; must not wait."""
        self._peer, self._quoting = rpc.Peer(quoting=limits.quoting, late=True), limits.quoting
        self._queue, self._queued = trio.open_memory_channel[_Item](_OUTBOX)
        # Cancellations overtake what is queued; there are never more of them than requests pending.
        self._urgent: deque[bytes] = deque()
        self._pending: dict[rpc.Id, _Slot] = {}
        self._serving: dict[rpc.Id, trio.CancelScope] = {}
        self._broken: deque[float] = deque(maxlen=max(1, limits.broken))
        self._unanswered = 0
        self._finishing = False
        self.closed = trio.Event()
        """Set when the conversation is over, whoever ended it."""

    @property
    def pending(self) -> list[str]:
        """The methods of our calls that wait for a reply, oldest first."""
        return [slot.method for slot in self._pending.values()]

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read, serve and write until the other side goes, `finish` is called, or this is cancelled.

        Raises `ProtocolError` after too many broken lines.  However it ends, our pending calls fail with `Unavailable`
        and the handlers still running are cancelled.
        """
        failure: ProtocolError | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, nursery.cancel_scope)
                task_status.started()
                try:
                    await self._read(nursery)
                except ProtocolError as error:
                    failure = error  # carried out by hand: a nursery would wrap it in a group
                nursery.cancel_scope.cancel()
        finally:
            self._close()
        if failure is not None:
            raise failure

    def finish(self) -> None:
        """End the conversation once the calls being served are answered and everything queued is written."""
        self._finishing = True
        self._finish_if_idle()

    async def request(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        *,
        timeout: float | None = None,
        on_withdrawn: Callable[[], None] | None = None,
    ) -> Any:
        """Call the other side and return its result.

        Raises the error that it answered, `Unavailable` when it goes away first, `TimedOut` after ``timeout`` seconds.
        Cancellation and time-out send ``$/cancel`` and wait (shielded) up to the grace for the reply, so that the work
        is known to have ended; without one, ``on_unanswered`` hears of it.  A call still queued is withdrawn silently:
        only ``on_withdrawn`` is told, as it is of one that cannot be written.
        """
        if self.closed.is_set():
            raise _gone(method)
        try:
            id_, line = self._peer.request(method, params or {})
        except InvalidInput:
            if on_withdrawn is not None:
                on_withdrawn()
            raise
        slot = self._pending[id_] = _Slot(id_, method)
        with trio.move_on_after(math.inf if timeout is None else timeout):
            try:
                return await self._exchange(slot, line)
            finally:
                if slot.withdrawn and on_withdrawn is not None:
                    on_withdrawn()
        ended = slot.withdrawn or slot.response is not None
        state = "it was stopped." if ended else "it did not answer the request to stop and may still be running."
        raise TimedOut(f"{method} did not finish within {timeout:g} s; {state}", detail={"ended": ended})

    async def notify(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Queue a notification; waits while the outbox is full.  Raises `Unavailable` when the other side is gone."""
        await self._post(self._peer.notify(method, params or {}))

    async def _exchange(self, slot: _Slot, line: bytes) -> Any:
        try:
            await self._push(line, slot)
            await slot.done.wait()
        except trio.Cancelled:
            self._ask_to_stop(slot)
            with trio.move_on_after(self._limits.cancel_grace, shield=True):
                await slot.done.wait()
            if not slot.done.is_set():
                self._on_unanswered(slot.method)
            elif slot.response is not None:
                self.on_untaken(slot.response.result)
            raise
        finally:
            self._pending.pop(slot.id, None)
            self._peer.forget(slot.id)
        if slot.response is None:
            raise _gone(slot.method)
        if slot.response.error is not None:
            raise slot.response.error.as_error()
        return slot.response.result

    def _ask_to_stop(self, slot: _Slot) -> None:
        if not slot.taken:
            slot.withdrawn = True
            slot.done.set()
        elif not slot.done.is_set():
            self._urgent.append(self._peer.notify(CANCEL, {"id": slot.id}))
            # An empty line wakes the writer; when there is no room it is awake already, or gone.
            with suppress(trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
                self._queue.send_nowait((b"", None))

    async def _push(self, line: bytes, slot: _Slot | None = None) -> None:
        """As `_post`, without a checkpoint when there is room: a quarter of what a small call takes."""
        try:
            self._queue.send_nowait((line, slot))
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            await self._post(line, slot)

    async def _post(self, line: bytes, slot: _Slot | None = None) -> None:
        try:
            await self._queue.send((line, slot))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise _gone(slot.method if slot else "the message") from None

    async def _write(self, everything: trio.CancelScope) -> None:
        try:
            async for line, slot in self._queued:
                if slot is not None:
                    if slot.withdrawn:
                        continue
                    slot.taken = True
                if line:
                    await self._send.send_all(line)
                while self._urgent:
                    await self._send.send_all(self._urgent.popleft())
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            log.debug("the other side stopped reading")
        everything.cancel()

    async def _read(self, nursery: trio.Nursery) -> None:
        while True:
            try:
                data = bytes(await self._receive.receive_some(_READ_SIZE))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            for number, message in enumerate(self._peer.feed(data) if data else self._peer.end()):
                if number % _AT_ONCE == _AT_ONCE - 1:
                    await trio.lowlevel.checkpoint()
                await self._take(message, nursery)
            if not data:
                return

    async def _take(self, message: rpc.Incoming, nursery: trio.Nursery) -> None:
        match message:
            case rpc.Response():
                slot = self._pending.get(message.id)
                if slot is not None:
                    slot.response = message
                    slot.done.set()
                else:
                    self.on_untaken(message.result)
            case rpc.Request():
                await self._accept(message, nursery)
            case rpc.Notification():
                self._hear(message)
            case rpc.Broken():
                self._count_broken(message.reason)
                if message.id is not None:
                    error = ProtocolError(f"The request cannot be read: {message.reason}.")
                    await self._reply(self._peer.error(message.id, error, code=rpc.INVALID_REQUEST))

    def _hear(self, message: rpc.Notification) -> None:
        if message.method == CANCEL:
            id_ = message.params.get("id")
            if rpc.is_id(id_) and id_ in self._serving:
                self._serving[id_].cancel()
                return
            # Answered already, most likely; the handler hears of it all the same, and may mind how many come.
        try:
            self._handler.notification(message.method, message.params)
        except Exception as error:
            log.debug("a notification was not understood", exc_info=self._quoting)
            cited = f": {message.method[:100]!r}: {error}" if self._quoting else ""
            self._count_broken(f"a notification was not understood: {type(error).__name__}{cited}")

    async def _accept(self, request: rpc.Request, nursery: trio.Nursery) -> None:
        # Refusing, not waiting: a reader that stands still could read no reply and no cancellation either.  It does so
        # only when not even the refusal finds room: then the other side has to read first.
        if request.id in self._serving:
            error: HomedError = Conflict(f"A request with the id {request.id} is still running.")
        elif self._finishing:
            error = Unavailable("It is stopping and takes no new calls.")
        elif self._unanswered >= self._limits.in_flight:
            # Answers that wait for a slow reader count too, or one that never reads would pile them up without end.
            error = Unavailable(f"{self._limits.in_flight} calls are running already.", hint="Try again later.")
        else:
            scope = self._serving[request.id] = trio.CancelScope()
            self._unanswered += 1
            nursery.start_soon(self._serve, request, scope)
            return
        self.on_untaken(request.params)
        await self._reply(self._peer.error(request.id, error))

    async def _serve(self, request: rpc.Request, scope: trio.CancelScope) -> None:
        line = b""
        try:
            with scope:
                line = await self._answer(request)
            if scope.cancelled_caught:
                line = self._peer.error(request.id, Stopped(f"{request.method} was stopped."))
        finally:
            del self._serving[request.id]
        await self._reply(line)
        self._unanswered -= 1
        self._finish_if_idle()

    async def _reply(self, line: bytes) -> None:
        try:
            await self._push(line)
        except Unavailable:
            log.debug("nobody is left to hear an answer")

    async def _answer(self, request: rpc.Request) -> bytes:
        try:
            return self._peer.reply(request.id, await self._handler.request(request.method, request.params))
        except Exception as error:
            problem = homed_error(error)
            if problem is None:
                log.exception("%s failed", request.method)
                problem = HomedError(f"{request.method} failed: {type(error).__name__}.")
            code = rpc.METHOD_NOT_FOUND if UNKNOWN_METHOD in problem.detail else rpc.APPLICATION_ERROR
            return self._peer.error(request.id, problem, code=code)

    def _count_broken(self, reason: str) -> None:
        self._on_broken(reason)
        now = trio.current_time()
        self._broken.append(now)
        if len(self._broken) == self._broken.maxlen and now - self._broken[0] < self._limits.broken_window:
            raise ProtocolError(
                f"{len(self._broken)} unreadable lines within {self._limits.broken_window:g} s; the last: {reason}."
            )

    def _finish_if_idle(self) -> None:
        if self._finishing and not self._unanswered:
            self._queue.close()

    def _close(self) -> None:
        self._queue.close()
        self._queued.close()
        self.closed.set()
        for slot in self._pending.values():
            slot.done.set()


def _gone(method: str) -> Unavailable:
    return Unavailable(f"The connection ended before {method} was answered.")


def homed_error(error: BaseException) -> HomedError | None:
    """The one error of ours that this is, or that a nursery wrapped in groups; None for any other failure."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, HomedError) else None
