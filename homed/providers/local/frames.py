"""What homed and a model's child say to each other: one JSON object a line, over the child's stdin and stdout.

To the child: ``load`` {path, context, batch, threads}, ``ask`` {id, body}, ``stop`` {id}.  From the child:
``loaded`` {}, ``failed`` {why}, ``chunk`` {id, data}, ``error`` {id, body}, ``end`` {id}.  Standard library only: the
child imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST = 8 << 20
"""Bytes of one line; a prompt that fills the largest window is well below."""

Frame = Mapping[str, Any]


class BadFrame(Exception):
    """The other side said what is no frame."""


def encode(do: str, **fields: object) -> bytes:
    """One frame as a line.  A lone surrogate goes out escaped, as JSON has it."""
    return json.dumps({"do": do, **fields}, separators=(",", ":")).encode() + b"\n"


class Decoder:
    """Cuts bytes into frames, however they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that ``data`` completes.  Raises BadFrame; what came before it was good."""
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            yield decoded(line)
        if len(self._buffer) > LONGEST:
            raise BadFrame(f"a line of more than {LONGEST} bytes")


def decoded(line: bytes) -> Frame:
    """The frame in one line; BadFrame for anything else."""
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        raise BadFrame(f"no JSON: {line[:80]!r}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("do"), str):
        raise BadFrame(f"no frame: {line[:80]!r}")
    return frame
