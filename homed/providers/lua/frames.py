"""What homed and a script's child say to each other: frames of a length and one JSON object, over stdin and stdout.

To the child: ``load`` {id, version, name, source}, ``call`` {id, version, stream, kind, given} and ``answer`` {id, ok,
value}; every one may bring ``drop`` (streams that are over), ``unload`` (versions nobody uses) and ``leave`` (calls
that nobody waits for any more).  From the child: ``done`` {id, value, text}, ``fail`` {id, why, kind, trace, parts},
``ask`` {id, name, given} and ``log`` {level, text}.  The key of a source is in none of them.  Standard library only:
the child imports it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 32 << 20
"""Bytes of one frame: the text of the largest window with every character escaped; pictures are not in it."""

_HEAD = struct.Struct(">I")

Frame = Mapping[str, Any]


def text(value: object) -> str:
    """A JSON value as it stands in frames."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class BadFrame(Exception):
    """The other side said what is no frame."""


def encode(do: str, **fields: object) -> bytes:
    """One frame.  A lone surrogate in what is sent becomes a question mark, as in every request of ours.

    Raises BadFrame for one that is too long.
    """
    return framed(text({"do": do, **fields}).encode("utf-8", "replace"))


def framed(data: bytes) -> bytes:
    """The JSON text of one frame with its length before it."""
    if len(data) > LONGEST:
        raise BadFrame(f"it is larger than {LONGEST} bytes")
    return _HEAD.pack(len(data)) + data


class Decoder:
    """Cuts bytes into frames, however they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that ``data`` completes.  Raises BadFrame; what came before it was good."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._buffer)
            if length > LONGEST:
                raise BadFrame(f"a frame of {length} bytes")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield decoded(payload)


def decoded(payload: bytes) -> Frame:
    """The frame in these bytes; BadFrame for anything else.

    Half a surrogate pair may stand in them as three bytes of its own: a source's JSON was cut there, and the other half
    is in the next chunk.
    """
    try:
        frame = json.loads(payload.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise BadFrame(f"no JSON: {payload[:80]!r}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("do"), str):
        raise BadFrame(f"no frame: {payload[:80]!r}")
    return frame
