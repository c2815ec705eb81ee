"""People's programs that speak the kernel's methods as JSON-RPC lines: over the terminal socket, over a WebSocket.

What such a client may ask, how it becomes a call of the kernel with that client's peer filled in, and how it hears what
happens.  The plugin that holds the line brings the stream and says who is at its other end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import trio

from homed.errors import Denied, HomedError, NotFound, ProtocolError, Unavailable
from homed.sdk.feed import Feed
from homed.wire.methods import TO_KERNEL
from homed.wire.stream import Connection, Limits, unknown_method
from homed.wire.version import CORE, PROTOCOL

SHORT = {
    "chat": "io.inject",
    "interrupt": "io.interrupt",
    "wait": "io.wait",
    "stop": "io.stop",
    "threads": "io.threads",
    "history": "io.history",
    "approvals": "io.approvals",
    "approve": "io.approve",
}
"""Names on the line → methods of the kernel."""

ROOMS: Mapping[str, str] = {"io": "chat", "memory": "memory", "admin": "admin", "plugin_mgr": "admin"}
"""The first part of a method → the scope of an API key that lets it pass."""

READ_BY_ALL = frozenset({"admin.status"})
"""Methods that a key of any scope may call: a client shows which model answers."""

PASSED = frozenset(method for method in TO_KERNEL if method.partition(".")[0] in ROOMS)
"""Methods of the kernel that may be asked for by their own name."""

HIDDEN = frozenset({"peer", "call"})
"""Parameters no client can set: who it is, and on whose behalf."""

CLIENTS = 64
"""Connections at once; one more is hung up on."""

LIMITS = Limits(in_flight=32)
"""Calls of one client at once: a few questions beside the messages it waits for."""

log = logging.getLogger(__name__)


class Kernel(Protocol):
    """The part of ``sdk.Kernel`` that is used here."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call the kernel."""


CATCH_UP_SECONDS = 5.0
"""How long the answer to a stop may wait for the notices before it: a client that reads slowly gets it then."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who is at the other end.  ``owner``: hears of the daemon itself.  ``scopes``: those of a key, None is all."""

    peer: str
    owner: bool = False
    scopes: frozenset[str] | None = None

    def may(self, method: str) -> bool:
        """Whether the scopes let a method pass; the kernel decides about everything else."""
        if self.scopes is None or method in READ_BY_ALL:
            return True
        return ROOMS.get(method.partition(".")[0], "") in self.scopes


class Client:
    """One connected client: answers its calls and feeds it the notices it may see."""

    def __init__(self, kernel: Kernel, person: Person) -> None:
        self._kernel = kernel
        self._person = person
        self._subscribed = trio.Event()
        self._feed = Feed(self._visible, owner=person.owner)

    async def request(self, method: str, params: Mapping[str, Any]) -> object:
        """Answer a call.  Raises what the kernel answers, NotFound for an unknown method, Denied beyond the scopes."""
        if method == "hello":
            return {"protocol": PROTOCOL, "core_version": CORE, "peer": self._person.peer}
        if method == "subscribe":
            self._check("io.history")
            self._subscribed.set()
            return {}
        target = SHORT.get(method, method)
        if target not in PASSED:
            raise unknown_method(method)
        self._check(target)
        answer = await self._ask(target, params)
        if target == "io.inject" and isinstance(answer, Mapping):
            self._feed.may_see(str(answer.get("thread", "")))
        if target == "io.stop" and self._subscribed.is_set():
            # what was on its way comes before the answer: behind it nothing more of the stopped turn is seen
            with trio.move_on_after(CATCH_UP_SECONDS):
                await self._feed.wait_passed(int(answer["seq"]))
        return answer

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        """Clients have nothing to notify of."""

    def offer(self, notice: Mapping[str, Any]) -> None:
        """Queue a notice for it if it subscribed; never waits."""
        if self._subscribed.is_set():
            self._feed.offer(notice)
        else:
            self.skip(int(notice.get("seq") or 0))

    def skip(self, seq: int) -> None:
        """Notices up to this number never come here."""
        self._feed.skip(seq)

    def reach(self, seq: int) -> None:
        """There is nothing more up to this number."""
        if self._subscribed.is_set():
            self._feed.reach(seq)
        else:
            self.skip(seq)

    def lose(self, count: int) -> None:
        """Count notices that never came here."""
        if self._subscribed.is_set():
            self._feed.lose(count)

    async def converse(self, stream: trio.abc.Stream) -> None:
        """Serve until the client goes.  Cancelled, calls in progress are cancelled in the kernel too."""
        connection = Connection(stream, stream, self, limits=LIMITS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._feed_once_subscribed, connection)
            try:
                await connection.run()
            except ProtocolError as error:
                log.warning("a client of %s was hung up on: %s", self._person.peer, error.message)
            nursery.cancel_scope.cancel()

    def _check(self, method: str) -> None:
        if not self._person.may(method):
            raise Denied(
                f"This key may not call {method}.",
                hint=f"It has: {', '.join(sorted(self._person.scopes or ())) or 'nothing'}.",
            )

    async def _feed_once_subscribed(self, connection: Connection) -> None:
        await self._subscribed.wait()
        with suppress(Unavailable):  # it went away
            await self._feed.run(connection.notify)

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        kept = {key: value for key, value in params.items() if key not in HIDDEN}
        return await self._kernel.call(method, {**kept, "peer": self._person.peer})

    async def _visible(self, thread: str) -> bool | None:
        try:
            await self._ask("io.history", {"thread": thread, "limit": 1})
        except (NotFound, Denied):
            return False
        except HomedError as error:
            log.warning("whether %s sees %s is not known: %s", self._person.peer, thread, error.message)
            return None
        return True


class Clients:
    """Everybody who is connected; at most ``limit``."""

    def __init__(self, kernel: Kernel, *, limit: int = CLIENTS) -> None:
        self._kernel = kernel
        self._limit = limit
        self._clients: set[Client] = set()
        self._seq = 0

    def begin(self, seq: int) -> None:
        """The plugin's subscription begins behind this number."""
        self._seq = max(self._seq, seq)
        for client in self._clients:
            client.skip(self._seq)

    def offer(self, notice: Mapping[str, Any]) -> None:
        """Hand a notice to every client; never waits for one."""
        self._seq = max(self._seq, int(notice.get("seq") or 0))
        for client in self._clients:
            client.offer(notice)

    def reach(self, seq: int) -> None:
        """There is nothing more up to this number: what was lost or not wanted is waited for by nobody."""
        self._seq = max(self._seq, seq)
        for client in self._clients:
            client.reach(seq)

    def lose(self, count: int) -> None:
        """Tell every client that ``count`` notices were lost on the way here."""
        for client in self._clients:
            client.lose(count)

    @property
    def full(self) -> bool:
        """Whether one more would be too many."""
        return len(self._clients) >= self._limit

    @contextmanager
    def join(self, person: Person) -> Iterator[Client]:
        """A client for the length of the block.  Raises Unavailable when there are too many."""
        if self.full:
            log.warning("more than %d clients; one was hung up on", self._limit)
            raise Unavailable(f"{self._limit} clients are connected already.", hint="Try again later.")
        client = Client(self._kernel, person)
        client.skip(self._seq)
        self._clients.add(client)
        try:
            yield client
        finally:
            self._clients.discard(client)
