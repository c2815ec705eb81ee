"""Which files are pictures that models can be shown; told by their first bytes.  Pure."""

from __future__ import annotations

LARGEST = 8 << 20
"""Bytes of a picture that is given to look at: what servers take of one, with room for base64."""


def picture(data: bytes) -> str:
    """The media type of a picture, or empty."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""
