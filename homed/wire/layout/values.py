"""Values as bytes of a block, and back.  Pure."""

from __future__ import annotations

from homed.errors import InvalidInput
from homed.wire import rpc
from homed.wire.layout import INLINE
from homed.wire.layout.arena import BYTES, JSON, TEXT

MAX_JSON = 16 << 20
"""Bytes of one value that is parsed as JSON: more would stop everything else for longer than a person should notice."""
MAX_PARTS = 2_000_000
"""Commas and opening brackets in it: each becomes an object of Python's, twenty times the size of its byte."""

_SURELY_SMALL = INLINE // 6
"""Characters that stay below ``INLINE`` however they are escaped."""


def pack(value: object) -> tuple[bytes, str] | None:
    """A large value's bytes and what they are; None for one that belongs into the line.

    Bytes always go by an arena.  What is no JSON is left for whoever writes the line to complain about.
    """
    if isinstance(value, str):
        small = len(value) <= _SURELY_SMALL or (len(value) <= INLINE and len(rpc.utf8(rpc.dumps(value))) <= INLINE)
        return None if small else (rpc.utf8(value), TEXT)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return (bytes(value), BYTES) if len(value) else None
    if isinstance(value, (dict, list, tuple)):
        try:
            text = rpc.dumps(value)
        except InvalidInput:
            return None
        data = rpc.utf8(text) if len(text) > INLINE // 4 else b""
        return (data, JSON) if len(data) > INLINE else None
    return None


def unpack(data: bytes, kind: str) -> object:
    """The value of a block's bytes, a copy that nobody can change any more.

    Raises `InvalidInput` when they are not what they are said to be, or JSON beyond ``MAX_JSON`` or ``MAX_PARTS``.
    """
    if kind == BYTES:
        return data
    if kind == TEXT:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"A text in the arena is invalid UTF-8 at byte {error.start}.") from None
    if len(data) > MAX_JSON:
        raise InvalidInput(
            f"A value of {len(data)} bytes of JSON; at most {MAX_JSON} are read.", hint="Send it as text."
        )
    if (parts := data.count(b",") + data.count(b"[") + data.count(b"{")) > MAX_PARTS:
        raise InvalidInput(f"A value of {parts} parts; at most {MAX_PARTS} are read.", hint="Send it as text.")
    try:
        return rpc.decode(data)
    except ValueError as error:
        raise InvalidInput(f"A value in the arena cannot be read: {error}.") from None
