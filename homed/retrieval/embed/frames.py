"""What homed and an embedding child say to each other, over the child's stdin and stdout.

A frame is two lengths (32 bits each, little-endian), a JSON object and bytes.  To the child: ``open`` {spec},
``texts`` {texts, query}, ``images`` {sizes} with the files as bytes.  From the child, one answer each, in order:
``opened`` {dims, media, baseline}, ``vectors`` {rows} with float32 as bytes, ``failed`` {why, lasting}; and before
an ``opened`` any number of ``busy`` {}, each a sign of life.  Standard library only: the child imports it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LONGEST = 256 << 20
"""Bytes of one frame; a batch of pictures is well below."""

_LENGTHS = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: what to do, or how it went."""

    do: str
    said: Mapping[str, Any] = field(default_factory=dict)
    data: bytes = field(default=b"", repr=False)


class BadFrame(Exception):
    """The other side said what is no frame."""


def encode(do: str, data: bytes = b"", **said: object) -> bytes:
    """One frame.  A lone surrogate goes out escaped, as JSON has it."""
    head = json.dumps({"do": do, **said}, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(head), len(data)) + head + data


class Decoder:
    """Cuts bytes into frames, however they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that ``data`` completes.  Raises BadFrame; what came before it was good."""
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            head, tail = _LENGTHS.unpack_from(self._buffer)
            if head + tail > LONGEST:
                raise BadFrame(f"a frame of {head + tail} bytes")
            end = _LENGTHS.size + head + tail
            if len(self._buffer) < end:
                return
            frame = _frame(
                bytes(self._buffer[_LENGTHS.size : _LENGTHS.size + head]), bytes(self._buffer[end - tail : end])
            )
            del self._buffer[:end]
            yield frame


def _frame(head: bytes, data: bytes) -> Frame:
    try:
        said = json.loads(head)
    except (ValueError, RecursionError):
        raise BadFrame("no JSON") from None
    if not isinstance(said, dict) or not isinstance(do := said.pop("do", None), str):
        raise BadFrame("no frame")
    return Frame(do, said, data)
