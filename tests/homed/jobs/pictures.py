"""Pictures for tests, and such as break programs."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(kind: str = "PNG", size: tuple[int, int] = (64, 48), color: str = "red", **options: object) -> bytes:
    """A plain one."""
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind, **options)
    return out.getvalue()


def two_colors(left: str = "red", right: str = "blue") -> Image.Image:
    """Forty pixels wide and twenty high, the left half in one color and the right one in another."""
    image = Image.new("RGB", (40, 20), left)
    image.paste(right, (20, 0, 40, 20))
    return image


def bomb(side: int = 30_000) -> bytes:
    """A PNG of some kilobytes that says it has ``side`` × ``side`` pixels, all of them there."""
    row = b"\0" * (1 + side // 8)
    packer = zlib.compressobj(9)
    body = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
