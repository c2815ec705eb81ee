"""Server-sent events out of bytes that may be cut anywhere (fault A24).  Sans-io and pure.

Lines are found in bytes and decoded whole, so a character cut between two chunks is never decoded in halves; bytes
that are not UTF-8 in a finished line are an error, never U+FFFD in somebody's transcript.  (httpx2 decodes with
replacement, which is why its own event source is not used.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from homed.providers.failures import Endless, Unreadable

MAX_EVENT = 4 * 1024 * 1024
"""Bytes one event may have: the longest answer, with every character escaped; a source that sends more is broken."""

_EOL = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its ``event`` name (often empty) and its data lines joined."""

    event: str
    data: str


class SseDecoder:
    """``feed`` it bytes, iterate events; comments and fields of no use here are skipped."""

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._tail: list[bytes] = []
        self._held = 0
        self._after_cr = False
        self._first_line = True
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that this chunk completes.  Raises Unreadable, Endless; iterate it to the end."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return
        # A \r ends its line at once; should the next chunk begin with \n, that one belongs to it.
        self._after_cr = chunk.endswith(b"\r")
        first, *rest = _EOL.split(chunk)
        self._hold(first)
        for piece in rest:
            line = b"".join(self._tail)
            self._tail = []
            yield from self._line(line)
            self._hold(piece)

    def end(self) -> Iterator[ServerEvent]:
        """Yield the last event of a source that closes without the empty line after it."""
        line = b"".join(self._tail)
        self._tail = []
        if line:
            yield from self._line(line)
        yield from self._line(b"")

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._tail.append(piece)
            self._held += len(piece)
        if self._held > self._limit:
            raise Endless(f"one event of it is larger than {self._limit} bytes")

    def _line(self, raw: bytes) -> Iterator[ServerEvent]:
        if self._first_line:
            raw, self._first_line = raw.removeprefix(_BOM), False
        if not raw:
            self._held = 0
            if self._data:
                yield ServerEvent(self._event, "\n".join(self._data))
            self._event, self._data = "", []
            return
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unreadable(f"the stream holds bytes that are not UTF-8 (0x{raw[error.start]:02x})") from None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
