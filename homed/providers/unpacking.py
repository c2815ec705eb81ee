"""A packed body, a little at a time: three kilobytes may be gigabytes, and the server says what comes.  Pure.

The HTTP library unpacks all that a packet brought, through as many layers as there are, also what nobody reads any
more; nothing else of the daemon runs meanwhile.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from homed.providers.failures import Unreadable

ASKED_FOR = "gzip, deflate"
"""What an `Accept-Encoding` of ours says."""

PIECE = 64 * 1024
"""Bytes of the largest piece that comes out of a packed body."""

_AUTO = 32 + zlib.MAX_WBITS
_PLAIN = frozenset({"", "identity"})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class Unpacker:
    """For one body, by its `Content-Encoding`."""

    def __init__(self, coding: str) -> None:
        self._coding = coding.strip().lower()
        self._zlib = zlib.decompressobj(_AUTO)

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """The pieces that ``packed`` brings, unpacked as they are asked for.  Raises Unreadable."""
        if self._coding in _PLAIN:
            yield packed
            return
        if self._coding not in _PACKED:  # among them all that are packed more than once
            raise Unreadable(f"it is packed as nobody asked for: {self._coding[:40]!r}")
        try:
            while piece := self._zlib.decompress(packed, PIECE):
                yield piece
                packed = self._zlib.unconsumed_tail
        except zlib.error as error:
            raise Unreadable(f"it cannot be unpacked: {error}") from None
