"""A homed elsewhere: the WebSocket of its page as a stream of bytes.

The same JSON-RPC lines go over it as over the socket on this machine, one or more whole lines a message.  TLS is
checked always; without it a key goes to this machine only, unless the person insists.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

import h11
import trio
import trio_websocket
import wsproto.utilities

from homed.errors import Denied, InvalidInput, Unavailable

from .endpoint import Target

PATH = "/api/v1/socket"
DIAL_SECONDS, CLOSE_SECONDS = 15.0, 2.0
MESSAGE_BYTES = 16 << 20
"""Several lines of a MiB each in one message."""
_HINT_CA = "Name its certificate authority as ca: in waiter.yaml, or in SSL_CERT_FILE."
_HINT_ADDRESS = "Is this the address of its page?"

NONSENSE = (h11.ProtocolError, wsproto.utilities.ProtocolError)
"""What the libraries raise when the other side sends no HTTP: a head without end, for instance."""


Tcp = trio.SocketStream | trio.SSLStream[trio.SocketStream]


class Address:
    """An address taken apart; raises InvalidInput with what to write instead."""

    def __init__(self, url: str, *, insecure: bool) -> None:
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            port = parts.port
        except ValueError:
            raise InvalidInput(f"{url[:200]!r} is no address.", hint="Write it as https://HOST:PORT.") from None
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise InvalidInput(f"{url[:200]!r} is no address of a page.", hint="Write it as https://HOST:PORT.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InvalidInput("The address holds more than host, port and path.", hint="A key goes into --api-key.")
        self.tls = parts.scheme in ("https", "wss")
        self.host = parts.hostname
        self.port = port or (443 if self.tls else 80)
        self.path = parts.path.rstrip("/").removesuffix(PATH) + PATH
        shown = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = shown if self.port in (80, 443) else f"{shown}:{self.port}"
        if not self.tls and not insecure and not loopback(self.host):
            raise InvalidInput(
                f"{self.host} would get the key over an open connection.",
                hint="Use its https address, or --insecure if you know the way is safe.",
            )


def loopback(host: str) -> bool:
    """Whether this is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class WebSocketStream(trio.abc.Stream):
    """Bytes over text messages.  As for any stream: one sender and one receiver at a time."""

    def __init__(self, socket: trio_websocket.WebSocketConnection) -> None:
        self._socket = socket
        self._rest = b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send whole lines as one message.  Raises BrokenResourceError when the other side is gone."""
        try:
            await self._socket.send_message(bytes(data).decode())
        except trio_websocket.ConnectionClosed as error:
            raise trio.BrokenResourceError(str(error.reason)) from error

    async def wait_send_all_might_not_block(self) -> None:
        """A message is taken at once or waits its turn: nothing to wait for here."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What came; empty at the end.  Cancelled, it loses nothing."""
        if not self._rest:
            try:
                message = await self._socket.get_message()
            except trio_websocket.ConnectionClosed:
                return b""
            raw = message.encode() if isinstance(message, str) else bytes(message)
            self._rest = raw if raw.endswith(b"\n") else raw + b"\n"
        else:
            await trio.lowlevel.checkpoint()
        size = len(self._rest) if max_bytes is None else max_bytes
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    async def aclose(self) -> None:
        """Say goodbye, for at most `CLOSE_SECONDS`."""
        with trio.move_on_after(CLOSE_SECONDS):
            await self._socket.aclose()


class _Watched(trio.abc.Stream):
    """A stream that says when it ended: the library waits for ever for an answer that can no longer come."""

    def __init__(self, stream: Tcp) -> None:
        self._stream = stream
        self.ended = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError:
            self.ended.set()
            raise

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        try:
            data = await self._stream.receive_some(max_bytes)
        except trio.BrokenResourceError:
            self.ended.set()
            raise
        if not data:
            self.ended.set()
        return data

    async def aclose(self) -> None:
        self.ended.set()
        await self._stream.aclose()


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[trio.abc.Stream]:
    """A stream to the homed at the target's URL for the length of the block.

    Raises Denied when it refuses the key, InvalidInput for an address that will not do, Unavailable otherwise.
    """
    address = Address(target.url, insecure=target.insecure)
    with trio.move_on_after(DIAL_SECONDS) as limit:
        stream = await _stream(address, target)
    if limit.cancelled_caught:
        raise Unavailable(f"{address.authority} does not answer within {DIAL_SECONDS:g} s.")
    try:
        async with trio.open_nursery() as nursery:
            socket = WebSocketStream(await _shaken(nursery, stream, address, target.key))
            try:
                yield socket
            finally:
                with trio.move_on_after(CLOSE_SECONDS, shield=True):
                    await socket.aclose()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # the library raises a refusal, and what it cannot read, in the nursery
        refused, rest = group.split(trio_websocket.ConnectionRejected)
        if refused is not None and rest is None:
            raise _refusal(refused, address.authority) from group
        if group.split(NONSENSE)[1] is None:
            raise Unavailable(f"{address.authority} does not speak with us.", hint=_HINT_ADDRESS) from group
        raise
    finally:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await trio.aclose_forcefully(stream)


def _refusal(group: BaseExceptionGroup[trio_websocket.ConnectionRejected], where: str) -> Denied | Unavailable:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    status = error.status_code if isinstance(error, trio_websocket.ConnectionRejected) else 0
    if status in (401, 403):
        return Denied(f"{where} refuses this key.", hint="Make one with `homed keys add NAME` on that machine.")
    said = f"{where} answers with {status}, not with the socket of homed."
    return Unavailable(said, hint=_HINT_ADDRESS)


async def _stream(address: Address, target: Target) -> Tcp:
    where = address.authority
    try:
        tcp = await trio.open_tcp_stream(address.host, address.port)
    except OSError as error:
        raise Unavailable(f"{where} cannot be reached: {error.strerror or error}.") from error
    if not address.tls:
        return tcp
    safe = False
    try:
        context = ssl.create_default_context(cafile=target.ca or None)
        tls = trio.SSLStream(tcp, context, server_hostname=address.host, https_compatible=True)
        await tls.do_handshake()
        safe = True
    except (OSError, trio.BrokenResourceError) as error:
        cause = error.__cause__ or error
        if isinstance(cause, ssl.SSLCertVerificationError):
            said = f"The certificate of {where} is not trusted: {cause.verify_message}."
            raise Denied(said, hint=_HINT_CA) from error
        raise Unavailable(f"There is no TLS with {where}: {cause}.") from error
    finally:
        if not safe:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await trio.aclose_forcefully(tcp)
    return tls


async def _shaken(nursery: trio.Nursery, stream: Tcp, address: Address, key: str) -> trio_websocket.WebSocketConnection:
    headers = [(b"Authorization", f"Bearer {key}".encode())]
    watched, scope = _Watched(stream), trio.CancelScope(deadline=trio.current_time() + DIAL_SECONDS)

    async def give_up() -> None:
        await watched.ended.wait()
        scope.cancel()

    nursery.start_soon(give_up)
    try:
        with scope:
            return await trio_websocket.wrap_client_stream(
                nursery,
                watched,  # type: ignore[arg-type]  # only what every stream has is used
                address.authority,
                address.path,
                extra_headers=headers,
                max_message_size=MESSAGE_BYTES,
            )
    except (trio_websocket.HandshakeError, trio_websocket.ConnectionClosed) as error:
        raise Unavailable(f"{address.authority} does not speak with us.") from error
    raise Unavailable(f"{address.authority} does not speak with us.", hint=_HINT_ADDRESS)
