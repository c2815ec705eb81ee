"""The arena of one plugin: where its large arguments and results lie while a frame names them.

The header, then from ``CONTENT`` on the blocks, each at a multiple of a page.  Which are in use is the kernel's own
knowledge and stands nowhere in the area.  A frame names a block beside the values that it carries itself::

    {"content": …}  →  {"$arena": {"content": {"off": 4096, "len": 8388608, "as": "text"}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from homed.errors import ProtocolError
from homed.wire.version import MAX_LINE

MAGIC, VERSION = b"HOMEDARN", 1
CONTENT = 4096
SIZE = 64 << 20
"""Bytes of one arena.  It costs what is in use: untouched pages do not exist."""

KEY = "$arena"
"""The key of params or of a result under which the blocks stand, by the names of the values that they hold."""

JSON, TEXT, BYTES = "json", "text", "bytes"
KINDS = frozenset({JSON, TEXT, BYTES})
"""What the bytes of a block are: a JSON text, a UTF-8 text (the value is the string), or just bytes."""

MAX_NAMED = 16
"""Values of one frame that may lie in the arena."""

ROOMY = MAX_LINE - 256
"""Bytes of a result with blocks that surely fit one line, whatever stands around it there."""


@dataclass(frozen=True, slots=True)
class Ref:
    """One value that lies in the arena: ``length`` bytes at ``off``, to be read as ``kind``."""

    off: int
    length: int
    kind: str

    def as_json(self) -> dict[str, object]:
        """As it stands in a frame."""
        return {"off": self.off, "len": self.length, "as": self.kind}


def refs(frame: Mapping[str, object]) -> dict[str, Ref]:
    """What a frame (params or a result) says lies in the arena, by name.

    Raises `ProtocolError` for anything but a clean statement; whether such blocks exist is for the arena to say.
    """
    named = frame.get(KEY)
    if named is None and KEY not in frame:
        return {}
    if not isinstance(named, dict) or not 0 < len(named) <= MAX_NAMED:
        raise ProtocolError(f"{KEY} must be an object of 1 to {MAX_NAMED} values.")
    return {str(name): _ref(str(name), value, frame) for name, value in named.items()}


def _ref(name: str, value: object, frame: Mapping[str, object]) -> Ref:
    if name in frame:
        raise ProtocolError(f"{KEY} names {name[:80]!r}, which the frame has already.")
    if not isinstance(value, dict) or value.keys() != {"off", "len", "as"}:
        raise ProtocolError(f"{KEY}: {name[:80]!r} must have off, len and as, nothing else.")
    off, length, kind = value["off"], value["len"], value["as"]
    if not _is_offset(off) or not _is_offset(length):
        raise ProtocolError(f"{KEY}: off and len of {name[:80]!r} must be whole numbers.")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ProtocolError(f"{KEY}: {name[:80]!r} must be json, text or bytes.")
    return Ref(off, length, kind)


def _is_offset(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
