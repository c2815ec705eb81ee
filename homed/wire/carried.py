"""What an output can carry, by name and as a bit of the number that its help tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TEXT, FILE, IMAGE, AUDIO, STRUCTURED = "text", "file", "image", "audio", "structured"

BITS: Mapping[str, int] = {TEXT: 1, FILE: 2, IMAGE: 4, AUDIO: 8, STRUCTURED: 16}
"""Name → flag."""


def flags(caps: Iterable[str]) -> int:
    """The number that says all of them."""
    return sum(BITS[cap] for cap in set(caps))
