"""``sdk.http``: bounded requests that reach public addresses only.

The name is resolved here, every address of it looked at, and the connection made to an address that was looked at: a
name that answers differently a moment later leads nowhere else.  Each redirect is looked at the same way.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore2
import httpx2
import trio

from homed.errors import InvalidInput, TimedOut, Unavailable

MAX_BYTES = 1 << 20
"""Bytes of an answer, and of a request."""
MAX_REDIRECTS = 5
TIMEOUT = 20.0
_REDIRECTS = (301, 302, 303, 307, 308)
_OPTIONS = frozenset({"headers", "body", "timeout"})
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
_LOOSE = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that do not go on to another host."""
_DOORS = (
    ipaddress.ip_network("64:ff9b::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
    ipaddress.ip_network("2002::/16"),
)
"""Ranges of IPv6 that lead to addresses of IPv4 which nobody has looked at."""


def is_public(address: str) -> bool:
    """Whether an IP address is anybody's, and not this machine, its network, or a door to one of these."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip.is_site_local or any(ip in door for door in _DOORS):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def request(method: str, url: str, options: Mapping[str, Any], *, private: bool = False) -> dict[str, Any]:
    """One request: ``{status, headers, body, url}``, the body as text.

    Raises `InvalidInput` (no http address, an option that is none, too many redirects), `Unavailable` (not reached, or
    where it may not go, or too large), `TimedOut`.
    """
    headers, body, timeout = _options(options)
    try:
        with trio.fail_after(timeout):
            return await _follow(method, url, headers, body, private)
    except trio.TooSlowError:
        raise TimedOut(f"{_shown(url)} took longer than {timeout:g} s.") from None


def _options(options: Mapping[str, Any]) -> tuple[dict[str, str], bytes, float]:
    if unknown := sorted(set(options) - _OPTIONS):
        raise InvalidInput(f"sdk.http does not know {', '.join(unknown)}.", hint="It takes headers, body and timeout.")
    headers, body = options.get("headers", {}), options.get("body", "")
    timeout = options.get("timeout", TIMEOUT)
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise InvalidInput("headers is a table of texts.")
    if not isinstance(body, str) or len(data := body.encode("utf-8", "replace")) > MAX_BYTES:
        raise InvalidInput(f"body is a text of at most {MAX_BYTES} bytes.")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 300:
        raise InvalidInput("timeout is from 0 to 300 seconds.")
    kept = {name: value for name, value in headers.items() if name.lower() not in _OURS}
    return kept, data, timeout


async def _follow(method: str, url: str, headers: dict[str, str], body: bytes, private: bool) -> dict[str, Any]:
    backend = _Guarded(private=private)
    async with httpcore2.AsyncConnectionPool(ssl_context=ssl.create_default_context(), network_backend=backend) as pool:
        for _ in range(MAX_REDIRECTS + 1):
            target = _target(url)
            sent = {
                "Host": target.netloc.decode("ascii"),
                "Accept-Encoding": "identity",
                "User-Agent": "homed",
                **headers,
            }
            try:
                async with pool.stream(method, str(target), headers=list(sent.items()), content=body or None) as answer:
                    got = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
                    if answer.status not in _REDIRECTS or "location" not in got:
                        return await _read(answer, url, got)
                    status, url = answer.status, urljoin(url, got["location"])
            except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, ValueError) as error:
                raise Unavailable(f"{_shown(url)} cannot be reached: {_why(error)}.") from error
            if _target(url).host != target.host or _target(url).scheme != target.scheme:
                headers = {name: value for name, value in headers.items() if name.lower() not in _LOOSE}
            if status in (301, 302, 303):
                method, body = "GET", b""
    raise InvalidInput(f"More than {MAX_REDIRECTS} redirects, the last to {_shown(url)}.")


def _why(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _target(url: str) -> httpx2.URL:
    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise InvalidInput(f"{_shown(url)!r} is no http or https address.") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise InvalidInput(f"{_shown(url)!r} is no http or https address.")
    return target.copy_with(fragment=None, userinfo=b"")


def _shown(url: object) -> str:
    """Without what may be a secret."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return "that"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


async def _read(answer: httpcore2.Response, url: str, headers: dict[str, str]) -> dict[str, Any]:
    data = bytearray()
    async with aclosing(answer.aiter_stream()) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > MAX_BYTES:
                raise Unavailable(f"{_shown(url)} answers more than {MAX_BYTES} bytes.")
    about = Message()
    about["content-type"] = headers.get("content-type", "")
    try:
        text = bytes(data).decode(str(about.get_param("charset") or "utf-8"), "replace")
    except LookupError:
        text = bytes(data).decode("utf-8", "replace")
    return {"status": answer.status, "headers": headers, "body": text, "url": url}


class _Guarded(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were looked at."""

    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._inner = httpcore2.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._addresses(host, port)
        failure: Exception = Unavailable(f"{host} has no address.")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout or 10.0, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Unavailable(f"{host} cannot be found: {error}.") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._private and not all(map(is_public, addresses)):
            raise Unavailable(
                f"{host} is an address of this machine or its network, where Lua plugins may not go.",
                hint="The setting http_private of the plugin, off by default, allows it.",
            )
        return addresses

    async def connect_unix_socket(self, path: str, *_: object, **__: object) -> httpcore2.AsyncNetworkStream:
        raise Unavailable(f"{path}: no sockets of this machine.")

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)
