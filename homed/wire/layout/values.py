"""Values as bytes of a block, and back.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from homed.errors import InvalidInput
from homed.wire import rpc
from homed.wire.layout import INLINE, Buffer
from homed.wire.layout.arena import BYTES, JSON, TEXT

MAX_JSON = 16 << 20
"""Bytes of one value that is parsed as JSON: more would stop everything else for longer than a person should notice."""
MAX_PARTS = 2_000_000
"""Commas and opening brackets in it: each becomes an object of Python's, twenty times the size of its byte."""

_SURELY_SMALL = INLINE // 6
"""Characters that stay below ``INLINE`` however they are escaped."""
_FEW, _ROUND, _BIG = 64, 32, 1 << 63
"""Parts that are looked at one by one, the characters round each or of a number, and what is no small number."""
_PIECE = 64 << 10
"""Characters encoded at once: in the processor's cache, and without new pages from the system."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A large value on its way into a block of ``length`` bytes; ``pieces`` are good for one use."""

    kind: str
    length: int
    pieces: Iterable[Buffer]

    def write(self, buffer: memoryview, off: int) -> None:
        """Write it into a block."""
        for piece in self.pieces:
            buffer[off : off + len(piece)] = piece
            off += len(piece)


def pack(value: object) -> Packed | None:
    """A large value, ready to be written; None for one that belongs into the line.

    Bytes always go by an arena.  What is no JSON is left for whoever writes the line to complain about.
    """
    if isinstance(value, str):
        if len(value) <= _SURELY_SMALL or (len(value) <= INLINE and len(rpc.utf8(rpc.dumps(value))) <= INLINE):
            return None
        if value.isascii():
            return Packed(TEXT, len(value), _ascii(value))
        return _whole(TEXT, rpc.utf8(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _whole(BYTES, value) if len(value) else None
    if isinstance(value, (dict, list, tuple)) and not _plainly_small(value):
        try:
            text = rpc.dumps(value)
        except InvalidInput:
            return None
        data = rpc.utf8(text) if len(text) > INLINE // 4 else b""
        return _whole(JSON, data) if len(data) > INLINE else None
    return None


def _plainly_small(value: dict[object, object] | list[object] | tuple[object, ...]) -> bool:
    """Seen without writing it: a few texts and numbers, as most arguments are."""
    if len(value) > _FEW:
        return False
    left = _SURELY_SMALL
    parts: Iterable[object] = value
    if isinstance(value, dict):
        left -= sum(len(name) if isinstance(name, str) else left for name in value)
        parts = value.values()
    for part in parts:
        if isinstance(part, str):
            left -= len(part) + _ROUND
        elif isinstance(part, (float, bool)) or part is None or (isinstance(part, int) and -_BIG < part < _BIG):
            left -= _ROUND
        else:
            return False
    return left > 0


def _whole(kind: str, data: Buffer) -> Packed:
    return Packed(kind, memoryview(data).nbytes, (memoryview(data).cast("B"),))


def _ascii(value: str) -> Iterator[bytes]:
    for at in range(0, len(value), _PIECE):
        yield value[at : at + _PIECE].encode("ascii")


def unpack(data: Buffer, kind: str) -> object:
    """The value of a block's bytes, which nobody else may be changing.

    Raises `InvalidInput` when they are not what they are said to be, or JSON beyond ``MAX_JSON`` or ``MAX_PARTS``.
    """
    if kind == BYTES:
        return bytes(data)
    if kind == JSON and len(data) > MAX_JSON:
        raise InvalidInput(f"A value has {len(data)} bytes of JSON; at most {MAX_JSON} are read.", hint=_AS_TEXT)
    try:
        text = str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"A value in the arena is invalid UTF-8 at byte {error.start}.") from None
    if kind == TEXT:
        return text
    if (parts := text.count(",") + text.count("[") + text.count("{")) > MAX_PARTS:
        raise InvalidInput(f"A value has {parts} parts; at most {MAX_PARTS} are read.", hint=_AS_TEXT)
    try:
        return rpc.loads(text)
    except ValueError as error:
        raise InvalidInput(f"A value in the arena cannot be read: {error}.") from None


_AS_TEXT = "Send it as text."
