"""Asking a source over HTTP: limits, retries and cancellation, the same for every adapter.

An adapter says what to send and how to read what comes; this module moves the bytes.  Nothing but
``ProviderError`` leaves it, and the key is in none of them.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NoReturn

import httpx2
import trio

from homed.clock import WallClock, system_wall_clock
from homed.providers import failures, pairing
from homed.providers.adapter import Adapter, Asked, Decoder
from homed.providers.base import ChatRequest, ErrorKind, Part, ProviderError, Retrying, Source
from homed.providers.retry import Failure, GiveUp, RetryPolicy, decide, parse_retry_after
from homed.providers.sse import MAX_EVENT
from homed.providers.unpacking import ASKED_FOR, Unpacker

MAX_ERROR_BODY = 64 * 1024
"""Bytes of an error answer that are read."""

MOST_SILENT = 2 * MAX_EVENT
"""Bytes of a body in which nothing is said: signs of life have no limit of time, and need not many bytes."""

CLOSE_LIMIT = 1.0
"""Seconds that closing a connection may take, also under cancellation."""

DRAIN_LIMIT = 0.05
"""Seconds to wait for the last bytes behind a finished answer, so that its connection can serve the next request."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: to connect, from asking to the first byte of the answer, between two of its chunks.  None overall."""

    connect: float = 10.0
    first_byte: float = 60.0
    idle: float = 60.0


@dataclass(frozen=True, slots=True)
class HttpPorts:
    """What the driver needs from outside.  ``limits`` is asked at every request, so settings act at once.

    ``slots``: shared with whoever else asks the same server for this source, as it was before it was changed.
    """

    client: httpx2.AsyncClient
    key: Callable[[], str | None] = field(repr=False)
    limits: Callable[[], Limits] = Limits
    wall: WallClock = system_wall_clock
    jitter: Callable[[], float] = random.random
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    slots: trio.CapacityLimiter | None = None


class HttpProvider:
    """One source asked over HTTP by way of its adapter."""

    def __init__(self, source: Source, adapter: Adapter, ports: HttpPorts) -> None:
        self._source = source
        self._adapter = adapter
        self._ports = ports
        self._slots = ports.slots or trio.CapacityLimiter(source.max_concurrent)

    def __repr__(self) -> str:
        return f"HttpProvider({self._source.name!r})"

    @property
    def source(self) -> Source:
        """What it was configured with."""
        return self._source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``.  Waits for a slot when ``max_concurrent`` requests are already being answered."""
        repaired = pairing.repair(request.messages)
        for note in repaired.notes:
            log.warning("history for %s repaired: %s", self._source.name, note)
        if problems := pairing.check(repaired.messages):
            raise ProviderError(ErrorKind.BAD_REQUEST, f"The history cannot be sent: {problems[0]}.")
        sent = ChatRequest(repaired.messages, request.tools, request.max_tokens, request.temperature)
        answer = _Answer(self._source, self._adapter, self._ports, sent, self._slots)
        try:
            yield answer
        finally:
            await answer.aclose()


class _Answer:
    """Iterates the parts of one answer, over as many tries as it takes.  Owns the open response and the slot."""

    def __init__(
        self, source: Source, adapter: Adapter, ports: HttpPorts, request: ChatRequest, slots: trio.CapacityLimiter
    ) -> None:
        self._source = source
        self._adapter = adapter
        self._ports = ports
        self._request = request
        self._slots = slots
        self._limits = ports.limits()
        self._ready: deque[Part] = deque()
        self._attempt = 0
        self._wait = 0.0
        self._shown = False
        self._over = False
        self._failure: ProviderError | None = None
        self._exchange: _Exchange | None = None

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        """The next part.  Cancelled: no part is lost, but the exchange may be broken; leave the block."""
        await trio.lowlevel.checkpoint()
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            if self._over:
                raise StopAsyncIteration
            try:
                await self._advance()
            except ProviderError as error:
                await self._failed(error)
        part = self._ready.popleft()
        self._shown = self._shown or not isinstance(part, Retrying)
        return part

    async def aclose(self) -> None:
        """Close the connection and free the slot; shielded, done within ``CLOSE_LIMIT`` seconds."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.aclose()

    async def _advance(self) -> None:
        """One step: wait, open, or read a chunk."""
        if self._exchange is None:
            await trio.sleep(self._wait)
            self._attempt += 1
            self._exchange = _Exchange(self._source, self._adapter, self._ports, self._limits, self._slots)
            await self._exchange.open(self._request)
            return
        await self._exchange.read(self._ready)
        if self._exchange.finished:
            self._over = True
            await self.aclose()

    async def _failed(self, error: ProviderError) -> None:
        await self.aclose()
        shown = self._shown or bool(self._ready)
        transient = error.kind is ErrorKind.TRANSIENT
        failure = Failure(self._attempt, transient, shown, error.retry_after)
        verdict = decide(self._ports.policy, failure, self._ports.jitter())
        if isinstance(verdict, GiveUp):
            error.partial = shown
            self._failure = error
            return
        log.info("asking %s again in %.1f s: %s", self._source.name, verdict.wait, error.message)
        self._wait = verdict.wait
        self._ready.append(Retrying(verdict.wait, error.message))


class _Exchange:
    """One HTTP request and its answer."""

    def __init__(
        self, source: Source, adapter: Adapter, ports: HttpPorts, limits: Limits, slots: trio.CapacityLimiter
    ) -> None:
        self._source = source
        self._adapter = adapter
        self._ports = ports
        self._limits = limits
        self._slots = slots
        self._holds_slot = False
        self._decoder: Decoder | None = None
        self._where = failures.Where.of(source)
        self._response: httpx2.Response | None = None
        self._packed: AsyncIterator[bytes] | None = None
        self._unpacker = Unpacker("")
        self._pieces: Iterator[bytes] = iter(())
        self._silent = 0
        self._first_byte_by = 0.0
        self._waiting_for_first = True

    @property
    def finished(self) -> bool:
        """True once the last part has been read."""
        return self._decoder is not None and self._decoder.finished

    async def open(self, request: ChatRequest) -> None:
        """Take a slot, ask, and return when the answer begins well."""
        await self._slots.acquire_on_behalf_of(self)
        self._holds_slot = True
        outgoing = await self._build(request)  # once it is our turn: the key may have been changed meanwhile
        self._first_byte_by = trio.current_time() + self._limits.first_byte
        try:
            with trio.fail_at(self._first_byte_by):
                self._response = await self._ports.client.send(outgoing, stream=True)
        except httpx2.ConnectTimeout:
            raise failures.too_slow(
                self._where, "could not be connected to", self._limits.connect, "core.llm.connect_timeout", unsent=True
            ) from None
        except trio.TooSlowError:
            raise self._no_first_byte() from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            self._network(error)
        self._packed = self._response.aiter_raw()
        self._unpacker = Unpacker(self._response.headers.get("content-encoding", ""))
        if not self._response.is_success:
            await self._refused(self._response)

    async def read(self, out: deque[Part]) -> None:
        """Read one chunk and append the parts it completes to ``out``, also those before an error in it."""
        assert self._decoder is not None
        try:
            chunk = await self._chunk()
            if chunk is None:
                await self._decoder.end(out)
            else:
                await self._decoder.feed(chunk, out)
                self._heed_silence(len(chunk), said=bool(out))
        except failures.Unreadable as error:
            raise failures.unreadable(self._where, str(error)) from None
        except failures.Endless as error:
            raise failures.endless(self._where, str(error)) from None
        except failures.Reported as error:
            raise failures.from_report(self._where, error.body) from None
        except failures.BrokenOff:
            raise failures.broken_off(self._where) from None

    def _heed_silence(self, size: int, *, said: bool) -> None:
        self._silent = 0 if said or self.finished else self._silent + size
        if self._silent > MOST_SILENT:
            raise failures.Endless(f"it says nothing in {MOST_SILENT} bytes")

    async def aclose(self) -> None:
        """Close; a finished answer's last bytes are awaited for a moment, so that the connection can be kept."""
        try:
            with trio.move_on_after(CLOSE_LIMIT, shield=True):
                await self._close()
        finally:
            if self._decoder is not None:
                self._decoder.close()
            if self._holds_slot:
                self._holds_slot = False
                self._slots.release_on_behalf_of(self)

    async def _close(self) -> None:
        if self._response is None:
            return
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
            if self.finished:
                with trio.move_on_after(DRAIN_LIMIT):
                    await self._run_out()
            await self._response.aclose()
            # httpx2 leaves its inner generators suspended; run against the closed connection they end in order.
            await self._run_out()

    async def _run_out(self) -> None:
        if self._packed is not None:
            async for _ in self._packed:
                pass

    async def _build(self, request: ChatRequest) -> httpx2.Request:
        key = (self._ports.key() or "").strip()
        # Checked here, because the HTTP library repeats an impossible header in its error.
        if not key.isascii() or not key.isprintable() or " " in key:
            raise failures.no_key(self._where, "its API key holds characters that no key has")
        self._where = failures.Where.of(self._source, key)
        timeout = httpx2.Timeout(connect=self._limits.connect, write=self._limits.first_byte, read=None, pool=None)
        asked = await self._asked(key, request)
        self._decoder = asked.decoder
        try:
            return self._ports.client.build_request(
                "POST",
                asked.url,
                headers={"Accept-Encoding": ASKED_FOR, **asked.headers},
                content=asked.body,
                timeout=timeout,
            )
        except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError) as error:
            raise failures.bad_address(self._where, str(error)) from None

    async def _asked(self, key: str, request: ChatRequest) -> Asked:
        try:
            return await self._adapter.open(self._source, key, request)
        except ValueError as error:
            raise failures.bad_address(self._where, str(error)) from None

    async def _chunk(self) -> bytes | None:
        """The next piece of the body, or None at its end."""
        while True:
            try:
                piece = next(self._pieces, None)
            except failures.Unreadable as error:
                raise failures.unreadable(self._where, str(error)) from None
            if piece is not None:
                await trio.lowlevel.checkpoint()  # one packet may bring a thousand of them
                return piece
            if (packet := await self._packet()) is None:
                return None
            self._pieces = self._unpacker.feed(packet)

    async def _packet(self) -> bytes | None:
        """What comes next from the network, or None at the end of the body."""
        assert self._packed is not None
        deadline = trio.current_time() + self._limits.idle
        if self._waiting_for_first:
            deadline = max(self._first_byte_by, trio.current_time())
        try:
            with trio.fail_at(deadline):
                packet = await anext(self._packed, None)
        except trio.TooSlowError:
            if self._waiting_for_first:
                raise self._no_first_byte() from None
            raise failures.too_slow(
                self._where, "sent nothing more", self._limits.idle, "core.llm.idle_timeout"
            ) from None
        except httpx2.HTTPError as error:
            raise failures.broken_off(self._where, str(error) or type(error).__name__) from None
        self._waiting_for_first = False
        return packet

    async def _refused(self, response: httpx2.Response) -> NoReturn:
        raw = b""
        while len(raw) < MAX_ERROR_BODY:
            try:
                chunk = await self._chunk()
            except ProviderError:  # the status says enough
                break
            if chunk is None:
                break
            raw += chunk
        retry_after = parse_retry_after(response.headers.get("retry-after"), self._ports.wall())
        raise failures.from_response(self._where, response.status_code, raw, retry_after=retry_after)

    def _no_first_byte(self) -> ProviderError:
        return failures.too_slow(
            self._where, "did not begin to answer", self._limits.first_byte, "core.llm.first_byte_timeout"
        )

    def _network(self, error: Exception) -> NoReturn:
        if isinstance(error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
            raise failures.bad_address(self._where, str(error)) from None
        how = str(error) or type(error).__name__
        if isinstance(error, (httpx2.ConnectError, httpx2.ProxyError)):
            raise failures.unreachable(self._where, how) from None
        raise failures.broken_off(self._where, how) from None
