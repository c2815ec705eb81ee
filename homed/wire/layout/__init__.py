"""The layouts of memory that the kernel shares with plugins, byte by byte.  Nothing else knows them.

Little-endian, offsets and no pointers.  Every area begins with the same header of 64 bytes::

    0  magic      8 bytes, says which area it is
    8  version    u32
    12 content    u32, the offset where what is in it begins
    16 size       u64, bytes of the whole area
    24 … 64       the area's own, zero where not said otherwise

Pure: works on buffers that others have mapped.  ``docs/wire.md`` says the same for other languages.
"""

from __future__ import annotations

import struct
import sys

from homed.errors import ProtocolError

Buffer = bytes | bytearray | memoryview

HEADER = struct.Struct("<8sIIQ")
HEADER_BYTES = 64
PAGE = 4096

INLINE = 64 << 10
"""Bytes of JSON from which a value goes by an arena instead of in the line."""

ENV = "HOMED_FD_"
"""How the variables begin that tell a plugin the numbers of its areas' file descriptors: ``HOMED_FD_ARENA``, …"""


def write_header(buffer: memoryview, magic: bytes, version: int, content: int) -> None:
    """Begin an area that fills ``buffer``."""
    HEADER.pack_into(buffer, 0, magic, version, content, len(buffer))


def check_header(buffer: Buffer, magic: bytes, version: int) -> int:
    """Where the content begins.  Raises `ProtocolError` when the area is another, or newer than this code."""
    if len(buffer) < HEADER_BYTES:
        raise ProtocolError("The shared area is too short to have a header.")
    found, theirs, content, size = HEADER.unpack_from(buffer, 0)
    if found != magic:
        raise ProtocolError(f"The shared area begins with {found!r}, not with {magic!r}.")
    if theirs != version:
        raise ProtocolError(
            f"The shared area {magic.decode()} has version {theirs}, this SDK reads {version}.",
            hint="Install the plugin and homed in versions that go together.",
        )
    if size != len(buffer) or not HEADER_BYTES <= content <= size:
        raise ProtocolError(f"The shared area {magic.decode()} says it has {size} bytes; it has {len(buffer)}.")
    return int(content)


def words(buffer: memoryview) -> memoryview:
    """The same bytes as u64 numbers, each read and written at once and not byte by byte, as ``struct`` would."""
    if sys.byteorder != "little":
        raise ProtocolError("Shared areas need a little-endian machine.")
    return buffer.cast("Q")
