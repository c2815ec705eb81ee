"""The conversation with one running plugin: calls to it, its calls to the kernel, notices, pings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import trio

from homed.errors import Denied, HomedError, InvalidInput, PluginFailed, ProtocolError, TimedOut, Unavailable
from homed.events import SYSTEM, Bus
from homed.host import grants
from homed.host.areas import NONE, LifeAreas
from homed.host.bulk import Bulk
from homed.host.follow import Follower
from homed.host.life import Cause, Life
from homed.host.limits import HostLimits
from homed.host.pluginlog import PluginLog
from homed.host.refusals import Refusals
from homed.host.states import Trust
from homed.host.throttle import Bucket, Throttle
from homed.proc.spawn import Child
from homed.wire import methods
from homed.wire.stream import Connection, Limits

_log = logging.getLogger(__name__)

STOP_ANSWER = 3.0
"""Seconds that ``plugin.stop`` may take before stdin is closed as well; both are within the ladder's grace."""
_CALLS_A_SECOND, _CALLS_BURST = 1000.0, 4000.0
"""What a plugin may ask of the kernel.  A page with a hundred readers stays far below; a runaway loop does not."""
_LINES_A_SECOND, _LINES_BURST = 20_000.0, 40_000.0
"""Lines of every kind, empty ones and cancellations too: twice what a plugin that only answers can say at best."""
_LONGEST_LINE = 64 << 20
"""Bytes without a newline after which a plugin is given up; what is over 1 MiB was skipped already."""
_WORK = frozenset(name for name in methods.TO_PLUGIN if name.endswith(".invoke"))
_MISUSES = 3
"""Frames naming memory that is not the plugin's: an author's mistake shows with the first, the rest are for nothing."""


class Dispatcher(Protocol):
    """What answers a plugin's calls; the capability has been checked before."""

    async def dispatch(self, caller: Caller, method: str, params: Mapping[str, object]) -> object:
        """A JSON-able result, or a `HomedError`.  Cancelled when the plugin withdraws the call or dies."""
        ...


@dataclass(frozen=True, slots=True)
class SessionPorts:
    """What a conversation needs of the kernel."""

    bus: Bus
    dispatcher: Dispatcher
    log: PluginLog
    limits: Callable[[], HostLimits] = HostLimits


class Caller:
    """A plugin as the kernel's methods see it: who calls, with which rights, and what it may ask of its host."""

    def __init__(self, session: Session, plugin: str, trust: Trust, capabilities: frozenset[str]) -> None:
        self._session = session
        self.plugin, self.trust, self.capabilities = plugin, trust, capabilities

    @property
    def seq(self) -> int:
        """The number of the last notice posted."""
        return self._session.ports.bus.seq

    def subscribe(self, types: frozenset[str] | None, *, content: bool, via: str = "rpc") -> int:
        """Let it hear of these types (None: all) from here on; replaces an earlier subscription.

        Returns the number of the last notice before it.  ``content`` needs ``events.content``, else `Denied`.  ``via``:
        ``ring`` (`Unavailable` where it was given none) or ``rpc``, notifications in its pipe.
        """
        if content and methods.CONTENT not in self.capabilities:
            raise Denied(
                f"The plugin {self.plugin} may not read the content of events: it lacks {methods.CONTENT}.",
                detail={"plugin": self.plugin, "capability": methods.CONTENT, "has": sorted(self.capabilities)},
            )
        return self._session.subscribe(types, content=content, via=via)

    def announce(self, kind: str, address: str) -> None:
        """Say where people reach this plugin (``url`` or ``socket``); forgotten when it ends."""
        self._session.address = (kind, address)
        data = {"code": "announced", "plugin": self.plugin, "kind": kind, "message": address}
        self._session.ports.bus.post(SYSTEM, data=data)

    def arena_alloc(self, length: int) -> int:
        """A block of the plugin's arena, for it to write into: its offset.  `Unavailable` when there is no room."""
        return self._session.bulk.alloc(length)

    def arena_free(self, off: int) -> None:
        """Take back a block that the plugin has or was given.  `ProtocolError` for any other."""
        self._session.bulk.free(off)

    async def log(self, level: str, message: str) -> None:
        """Add a line to this plugin's own log."""
        await self._session.ports.log.note(f"{level}: {message}")


class Session:
    """Runs a conversation over a child's pipes.  It dooms the life when the plugin breaks the rules or hangs."""

    def __init__(self, life: Life, child: Child, ports: SessionPorts, areas: LifeAreas = NONE) -> None:
        plan = life.plan
        self.ports, self.areas = ports, areas
        self.uses: frozenset[str] = frozenset()
        """The areas that it said in the handshake it can use; what would go by another comes in the line."""
        self.pid = child.pid
        self.address: tuple[str, str] | None = None
        self.lost: tuple[str, ...] = ()
        """Calls that had no answer when the conversation ended."""
        self._life, self._child, self._name = life, child, plan.name
        self._caller = Caller(self, plan.name, plan.trust, plan.capabilities)
        self.bulk, self._misuses = Bulk(areas.arena, self._misused, areas.scratch), 0
        self._connection = Connection(
            _Metered(child.stdout, life), child.stdin, self, limits=Limits(quoting=True),
            on_broken=self._broken, on_unanswered=self._unanswered,
        )  # fmt: skip
        self._connection.on_untaken = self.bulk.untaken
        self._calls: dict[object, tuple[str, Mapping[str, object]]] = {}
        slots = plan.manifest.in_flight
        self._tools, self._others = trio.Semaphore(slots), trio.Semaphore(slots)
        self._bucket = Bucket(rate=_CALLS_A_SECOND, burst=_CALLS_BURST, now=trio.current_time())
        self._complaints = Throttle(count=5, window=60.0)
        self._refusals = Refusals(plan.name, plan.manifest.capabilities, ports.log)
        self._settings: dict[str, object] = {}
        self._settings_wake = trio.Event()
        self._follower = Follower(ports.bus, areas.rings, self._connection.notify)
        self._nursery: trio.Nursery | None = None

    def agree(self, answer: object) -> None:
        """Note what the handshake's answer says of areas."""
        named = answer.get("areas") if isinstance(answer, dict) else None
        if isinstance(named, list):
            self.uses = frozenset(name for name in named if isinstance(name, str)) & self.areas.handshake.keys()
        self.bulk.used = "arena" in self.uses
        if self.areas.segment is not None:
            self.areas.segment.read_by(self._name, "segment" in self.uses)

    async def converse(self) -> None:
        """Talk until either side ends it."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._tell_settings)
                try:
                    await self._connection.run()
                finally:
                    self._hang_up()
                nursery.cancel_scope.cancel()
        except* ProtocolError as group:
            self._life.doom(Cause.BROKEN, f"it broke the protocol: {_first(group)}")
        with trio.move_on_after(1.0):
            await self._child.wait()
        self._life.doom(Cause.BROKEN, "it closed its stdout, yet went on running")

    def _hang_up(self) -> None:
        """Before any caller wakes to the news: note what was pending, and be ready for nobody."""
        self._nursery = None
        self.bulk.end()
        self.lost = tuple(_label(*call) for call in self._calls.values())
        self._life.fell_silent()

    # The plugin's calls to the kernel.

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer a call of the plugin."""
        if not self._bucket.take(trio.current_time()):
            self._life.doom(Cause.BROKEN, f"it floods homed with calls (over {_CALLS_A_SECOND:g} a second)")
            raise Unavailable("Too many calls.")
        values: Any = self.bulk.taken(params, binary=methods.BINARY.get(method, ""))
        try:
            grants.require(self._name, self._caller.capabilities, method)
            answer = await self.ports.dispatcher.dispatch(self._caller, method, values)
        except Denied as error:
            refused = error
        else:
            return await self.bulk.given(answer)
        await self._refusals.note(method, refused)
        raise refused

    def notification(self, method: str, params: Mapping[str, Any]) -> None:  # noqa: ARG002 - the port says so
        """Count it; and complain, for none but a cancellation that came too late means anything yet."""
        if method != methods.CANCEL:
            self._complain(f"unknown notification {method[:80]!r}")
        if not self._bucket.take(trio.current_time()):
            self._life.doom(Cause.BROKEN, "it floods homed with notifications")

    def subscribe(self, types: frozenset[str] | None, *, content: bool, via: str = "rpc") -> int:
        """As `Caller.subscribe`."""
        if self._nursery is None:
            raise Unavailable("The plugin is leaving.")
        if via == "ring":
            return self._follower.by_ring(types, content=content)
        return self._follower.by_line(types, self._nursery, content=content)

    # The kernel's calls to the plugin.

    async def call(self, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Call the plugin; see `Host.call` for errors.  ``timeout`` (seconds) includes waiting for a free slot."""
        until = trio.current_time() + timeout
        slots = self._tools if method == methods.TOOL_INVOKE else self._others
        try:
            slots.acquire_nowait()
        except trio.WouldBlock:
            await self._wait_for(slots, timeout)
        key = object()
        self._calls[key] = method, params
        try:
            return await self._exchange(method, params, until)
        except HomedError as error:
            cause, label = error, _label(method, params)
        finally:
            del self._calls[key]
            slots.release()
        explained = self._explain(cause, label, timeout)
        if method == methods.STAGE_INVOKE:  # what a stage withheld is told with the plugin's name: here is why
            await self.ports.log.note(f"{label} failed: {explained.message}")
        raise explained from cause

    async def _wait_for(self, slots: trio.Semaphore, timeout: float) -> None:
        with trio.move_on_after(timeout) as waiting:
            await slots.acquire()
        if waiting.cancelled_caught:
            raise TimedOut(
                f"{self._name} was busy with other calls for {timeout:g} s; this one was not started.",
                detail={"ended": True},
            )

    async def _exchange(self, method: str, params: Mapping[str, object], until: float) -> object:
        framed, lent = await self.bulk.lend(params, timeout=max(0.001, until - trio.current_time()))
        try:
            left = max(0.001, until - trio.current_time())
            answer = await self._connection.request(method, framed, timeout=left)
        finally:
            self.bulk.take_back(lent)
        try:
            return self.bulk.taken(answer)
        except (ProtocolError, InvalidInput) as error:
            raise PluginFailed(f"{self._name} answered with what cannot be read: {error.message}") from error

    async def ask(self, method: str, params: Mapping[str, object], *, timeout: float | None = None) -> Any:
        """A call of the host's own (handshake, init, start), outside the in-flight limit."""
        key = object()
        self._calls[key] = method, {}
        try:
            return await self._connection.request(method, params, timeout=timeout)
        finally:
            del self._calls[key]

    async def ask_to_stop(self) -> None:
        """``plugin.stop``, then EOF on its stdin.  One that never came up is not asked: EOF says it all."""
        try:
            if self._life.was_ready:
                await self._connection.request(methods.STOP, timeout=STOP_ANSWER)
        finally:
            await trio.aclose_forcefully(self._child.stdin)

    async def ping(self) -> None:
        """Ping for ever; dooms the life after some misses in a row."""
        missed = 0
        while missed < (limits := self.ports.limits()).misses:
            next_one = trio.current_time() + limits.ping
            try:
                await self._connection.request(methods.PING, timeout=limits.ping - 1)
                missed = 0
                self.bulk.trim()
            except TimedOut:
                missed += 1
                _log.warning("%s did not answer ping %d of %d", self._name, missed, limits.misses)
            except Unavailable:
                return
            except HomedError as error:
                _log.debug("%s answers pings with an error: %s", self._name, error)
            await trio.sleep_until(next_one)
        self._life.doom(Cause.HUNG, f"it hung: {missed} pings without an answer")

    def settings_changed(self, key: str, value: object) -> None:
        """Queue a changed setting; a later value of the same key replaces one not yet sent."""
        self._settings[key] = value
        self._settings_wake.set()

    async def _tell_settings(self) -> None:
        with suppress(Unavailable):  # it is leaving; `converse` says why
            while True:
                await self._settings_wake.wait()
                self._settings_wake = trio.Event()
                waiting, self._settings = self._settings, {}
                for key, value in waiting.items():
                    await self._connection.notify(methods.SETTINGS_CHANGED, {"key": key, "value": value})

    def _explain(self, error: HomedError, label: str, timeout: float) -> HomedError:
        """The same error in words that are true for whoever called."""
        if isinstance(error, TimedOut) and "ended" in error.detail:
            if error.detail["ended"]:
                text = f"{label} took longer than {timeout:g} s and was stopped."
            else:
                text = (
                    f"{label} took longer than {timeout:g} s and did not stop when told to; the plugin {self._name}"
                    " is being ended (up to 8 s), until then it may still be running."
                )
            return TimedOut(text, detail=error.detail)
        if isinstance(error, Unavailable) and self._connection.closed.is_set():
            return Unavailable(
                f"The plugin {self._name} ended during {label}; how much of it was done is not known.",
                hint="It starts again by itself unless it needs attention.",
            )
        if type(error) is HomedError:
            return PluginFailed(f"{self._name}: {error.message}", hint=error.hint, detail=error.detail)
        return error

    def _unanswered(self, method: str) -> None:
        if method in _WORK:
            self._life.doom(Cause.UNANSWERED, f"it did not stop {method} when told to")

    def _misused(self, reason: str) -> None:
        self._complain(f"misuse of its arena: {reason}")
        self._misuses += 1
        if self._misuses >= _MISUSES:
            self._life.doom(Cause.BROKEN, f"it broke the protocol of its arena: {reason[:200]}")

    def _broken(self, reason: str) -> None:
        self._complain(f"unreadable output: {reason}")

    def _complain(self, what: str) -> None:
        silenced = self._complaints.admit(trio.current_time())
        if silenced is not None:
            more = f" (and {silenced} more before)" if silenced else ""
            _log.warning("plugin %s: %s%s", self._name, what[:300], more)


class _Metered(trio.abc.ReceiveStream):
    """A plugin's stdout, given up when a line never ends or too many come.

    Once the plugin has broken the rules nothing more of it is read: its own full pipe stops it until it is ended, and
    a flood takes no time from the others.
    """

    def __init__(self, stream: trio.abc.ReceiveStream, life: Life) -> None:
        self._stream, self._life = stream, life
        self._line = 0
        self._bucket = Bucket(rate=_LINES_A_SECOND, burst=_LINES_BURST, now=trio.current_time())

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """The next bytes; `ProtocolError` once a line is far beyond what could still be an accident."""
        data = bytes(await self._stream.receive_some(max_bytes))
        if (fate := self._life.fate) is not None and fate.cause is Cause.BROKEN:
            return b""
        if not self._bucket.take(trio.current_time(), data.count(b"\n")):
            raise ProtocolError(f"it floods homed with lines (over {_LINES_A_SECOND:g} a second).")
        newline = data.rfind(b"\n")
        self._line = self._line + len(data) if newline < 0 else len(data) - newline - 1
        if self._line > _LONGEST_LINE:
            raise ProtocolError(f"A line of over {_LONGEST_LINE >> 20} MiB.")
        return data

    async def aclose(self) -> None:
        """Close the pipe."""
        await self._stream.aclose()


def _first(group: BaseExceptionGroup[ProtocolError]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


def _label(method: str, params: Mapping[str, object]) -> str:
    """``tool.invoke cmd_run``: what a person would call this call."""
    what = next((params[key] for key in ("tool", "stage", "output", "cleaner") if key in params), "")
    return f"{method} {what}".strip()
