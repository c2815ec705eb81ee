"""Recordings as models take them: told by their first bytes, not by their name.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

RECORDINGS = 2
"""Of a prompt, the newest; older ones are described only.  Each is sent anew with every call of every turn."""

RECORDING_BYTES = 4 * 1024 * 1024
"""Of one that is sent on: four minutes of speech as MP3, two of WAV; a larger one is described."""

HEAD = 16
"""Bytes that tell."""

_BEGINS: Mapping[str, Callable[[bytes], bool]] = {
    "audio/wav": lambda head: head[:4] == b"RIFF" and head[8:12] == b"WAVE",
    "audio/mpeg": lambda head: head[:3] == b"ID3" or (head[:1] == b"\xff" and head[1:2] >= b"\xe0"),
    "audio/ogg": lambda head: head[:4] == b"OggS",
    "audio/flac": lambda head: head[:4] == b"fLaC",
    "audio/aiff": lambda head: head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"),
}


def sound(declared: str, head: bytes) -> str:
    """The media type of a recording that begins with ``head``; empty for what is declared otherwise, or is none."""
    if not declared.startswith("audio/"):
        return ""
    return next((kind for kind, begins in _BEGINS.items() if begins(head)), "")
