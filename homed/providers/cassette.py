"""What sources were asked and what they answered, as a file for tests, with the secrets taken out; and played back.

A line of JSON each: ``{v, source, adapter, url, request, status, headers, chunks, ended}``.  ``request`` is the body's
JSON, ``chunks`` what came, piece by piece: text, or ``{"bytes": base64}`` where a piece ends within a character;
``ended`` is whole, or cut when nobody read to the end.  The answer is what it was on the line but for compression; it
is in one piece where a secret was taken out of it, also one that came in several.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import httpx2
import trio

from homed.errors import InvalidInput, NotFound
from homed.providers.base import Source
from homed.providers.failures import Unreadable
from homed.providers.scrubbing import scrub
from homed.providers.unpacking import Unpacker
from homed.redact import MARKER, SHORTEST_KNOWN, marker, redact_with

log = logging.getLogger(__name__)

VERSION = 1
KEEP_LIMIT = 2.0
"""Seconds, shielded, that writing an exchange down may take: the answer waits for it."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST = 32 << 20
"""Bytes of one exchange; of a longer one only that it was too long is noted."""

MOST_LINES = 1 << 19
"""Lines of one likewise: a frame takes a kilobyte and some microseconds however short it is, and an answer of a hundred
thousand tokens has half as many."""

KEPT_HEADERS = ("content-type", "retry-after")
"""Of the answer; of the request none is kept: keys and cookies stand there."""

_ARGUMENTS = ("key", "api_key", "api-key", "access_token", "token", "sig", "signature")
_KEY = marker("key")


@dataclass(frozen=True, slots=True)
class Tape:
    """A recording that is added to.  ``redact`` takes out what homed knows or recognises as secret."""

    path: Path
    redact: Callable[[str], str] = field(repr=False)

    def client(self, source: Source, key: Callable[[], str | None], http: httpx2.AsyncClient) -> httpx2.AsyncClient:
        """A client that asks by way of ``http`` and writes down what is said; whoever closes that closes all of it."""
        return httpx2.AsyncClient(transport=_Recording(self, source, key, http), follow_redirects=False)


@dataclass(slots=True)
class Exchange:
    """One request and what comes of it."""

    tape: Tape
    source: Source
    key: str = field(repr=False)
    url: str = field(repr=False)
    body: bytes = field(repr=False)
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    coding: str = ""
    chunks: list[bytes] = field(default_factory=list, repr=False)
    taken: int = 0
    whole: bool = False

    def answered(self, response: httpx2.Response) -> None:
        """The answer begins."""
        self.status = response.status_code
        self.headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        self.coding = response.headers.get("content-encoding", "")

    def came(self, chunk: bytes | None) -> None:
        """A piece of it; None: that was all."""
        if chunk is None:
            self.whole = True
            return
        self.taken += len(chunk)
        if self.taken <= MOST:
            self.chunks.append(chunk)

    async def keep(self) -> None:
        """Write it down; a disk that refuses is logged.  Cancelled: it is written, or not."""
        try:
            await trio.to_thread.run_sync(self._write)
        except OSError as error:
            log.warning("an exchange with %s was not recorded: %s", self.source.name, error.strerror)

    def _write(self) -> None:
        line = json.dumps(self.view(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        _append(self.tape.path, line)

    def view(self) -> dict[str, object]:
        """As it is written, without a secret.  What it takes grows with the answer: not for the loop."""
        chunks = self._unpacked()
        said: dict[str, object] = {
            "v": VERSION, "source": self.source.name, "adapter": self.source.adapter, "url": self._clean_url(),
            "request": self._clean_request(), "status": self.status,
            "headers": {name: self._clean(value) for name, value in self.headers.items()},
            "chunks": self._clean_chunks(chunks or ()), "ended": "whole" if self.whole else "cut",
        }  # fmt: skip
        return {**said, "ended": "too long"} if chunks is None else said

    def _unpacked(self) -> list[bytes] | None:
        """The pieces that came, as they are read: a source may pack them though it was asked not to, and no secret is
        seen in what is packed.  What cannot be unpacked is left out.  None: too long."""
        unpacker, taken, lines, pieces = Unpacker(self.coding), 0, 0, []
        if self.taken > MOST:
            return None
        try:
            for chunk in self.chunks:
                for piece in unpacker.feed(chunk):
                    taken += len(piece)
                    lines += max(piece.count(b"\n"), piece.count(b"\r"))
                    if taken > MOST or lines > MOST_LINES:
                        return None
                    pieces.append(piece)
        except Unreadable as error:
            log.warning("an answer of %s is recorded in part: %s", self.source.name, error)
        return pieces

    def _clean(self, text: str) -> str:
        # Shorter ones are none ("x", "none" for a server of one's own), and would be found in every name of a frame.
        key = self.key if len(self.key) >= SHORTEST_KNOWN else ""
        for form in {key, quote(key, safe=""), json.dumps(key)[1:-1]} - {""}:
            # Not in a marker: "key" would be found in that again and again.
            parts = MARKER.split(text)
            text = "".join(part if at % 2 else part.replace(form, _KEY) for at, part in enumerate(parts))
        return self.tape.redact(text)

    def _clean_url(self) -> str:
        parts = urlsplit(self.url)
        query = [(name, _KEY if name.lower() in _ARGUMENTS else value) for name, value in parse_qsl(parts.query)]
        host = parts.netloc.rpartition("@")[2]  # what stands before the host is a name and a password
        return self._clean(urlunsplit((parts.scheme, host, parts.path, urlencode(query), "")))

    def _clean_request(self) -> object:
        try:
            return redact_with(json.loads(self.body), self._clean)
        except (ValueError, RecursionError):
            return self._clean(self.body.decode("utf-8", "replace"))

    def _clean_chunks(self, chunks: Sequence[bytes]) -> list[object]:
        """Piece by piece, if nothing is to be taken out; else in one, for a secret may go over the border of two."""
        joined = b"".join(chunks).decode("utf-8", "replace")
        clean = scrub(joined, self._clean)
        if clean != joined:
            return [clean]
        return [_shown(chunk) for chunk in chunks]


class _Recording(httpx2.AsyncBaseTransport):
    def __init__(self, tape: Tape, source: Source, key: Callable[[], str | None], http: httpx2.AsyncClient) -> None:
        self._tape, self._source, self._key, self._http = tape, source, key, http

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # else what is written down could not be read
        body = await request.aread()
        exchange = Exchange(self._tape, self._source, (self._key() or "").strip(), str(request.url), body)
        response = await self._http.send(request, stream=True, auth=httpx2.Auth())
        exchange.answered(response)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=_Noted(response, exchange),
            extensions=response.extensions,
        )  # fmt: skip


class _Noted(httpx2.AsyncByteStream):
    """The body of an answer, written down once it is closed."""

    def __init__(self, response: httpx2.Response, exchange: Exchange) -> None:
        self._response, self._exchange = response, exchange
        self._kept = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_raw():
            self._exchange.came(chunk)
            yield chunk
        self._exchange.came(None)

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            if not self._kept:
                self._kept = True
                with trio.move_on_after(KEEP_LIMIT, shield=True):
                    await self._exchange.keep()


def _shown(chunk: bytes) -> object:
    try:
        return chunk.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(chunk).decode("ascii")}


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def tape_named(folder: Path, name: str, redact: Callable[[str], str]) -> Tape:
    """The recording of this name.  InvalidInput for what cannot be one."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} cannot be a recording's name.", hint="Use letters, digits, dots and dashes.")
    return Tape(folder / f"{name}.jsonl", redact)


def read(path: Path) -> list[Mapping[str, Any]]:
    """The exchanges of a recording.  InvalidInput for what is none."""
    try:
        found = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is no recording: {error}.") from None
    for number, one in enumerate(found, 1):
        if not isinstance(one, dict):
            raise InvalidInput(f"{path.name} is no recording: its exchange {number} is no object.")
        if one.get("v") != VERSION:
            raise InvalidInput(f"{path.name} is a recording of another version.")
        if not _playable(one):
            raise InvalidInput(f"{path.name} is no recording: the answer of its exchange {number} cannot be played.")
    return found


def _playable(one: Mapping[str, Any]) -> bool:
    status, headers, chunks = one.get("status", 0), one.get("headers", {}), one.get("chunks", [])
    texts = [*headers.values(), one.get("url", "")] if isinstance(headers, dict) else [None]
    if type(status) is not int or not isinstance(chunks, list) or not all(isinstance(text, str) for text in texts):
        return False
    try:
        return all(isinstance(_bytes_of(chunk), bytes) for chunk in chunks)
    except (ValueError, TypeError, LookupError):
        return False


def _bytes_of(chunk: Any) -> bytes:
    return chunk.encode("utf-8") if isinstance(chunk, str) else base64.b64decode(chunk["bytes"], validate=True)


class Replay(httpx2.AsyncBaseTransport):
    """Answers as it was recorded: the first exchange not yet played whose place and request are the same.

    For ``homed.net.open_http``.  A request that was not recorded raises NotFound: the test has changed what it sends.
    """

    def __init__(self, exchanges: Sequence[Mapping[str, Any]]) -> None:
        self._left = list(exchanges)

    @property
    def left(self) -> int:
        """Exchanges that were not asked for yet."""
        return len(self._left)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The recorded answer."""
        await trio.lowlevel.checkpoint()
        body = json.loads(await request.aread() or b"null")
        path = urlsplit(str(request.url)).path
        for at, one in enumerate(self._left):
            if urlsplit(one["url"]).path == path and one["request"] == body:
                del self._left[at]
                return httpx2.Response(one["status"], headers=one["headers"], stream=Played(one["chunks"]))
        raise NotFound(f"This request to {path} was not recorded.", hint="Record it again.")


class Played(httpx2.AsyncByteStream):
    """The body of an answer, in the pieces in which it was recorded."""

    def __init__(self, chunks: Sequence[Any]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            await trio.lowlevel.checkpoint()
            yield _bytes_of(chunk)
