"""``fetch``: a download for programs that do not import the SDK: progress on stderr, one JSON object on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import trio

from homed.errors import HomedError
from homed.sdk.fetch import fetch

_EVERY = 0.1
"""Seconds between two words about the progress."""


async def download(url: str, into: Path) -> int:
    """Download ``url`` into the new file ``into``.

    Prints ``{size, sha256, url}`` and returns 0, or ``{code, message, hint}`` and returns 1.
    """
    progress = _Progress()
    try:
        done = await fetch(url, into, on_progress=progress)
    except HomedError as error:
        progress.end()
        sys.stdout.write(json.dumps({"code": error.code, "message": error.message, "hint": error.hint}) + "\n")
        return 1
    progress.end()
    sys.stdout.write(json.dumps({"size": done.size, "sha256": done.sha256, "url": done.url}) + "\n")
    return 0


class _Progress:
    """A line on a terminal that counts; nothing where nobody looks."""

    def __init__(self) -> None:
        self._last = 0.0
        self._shown = False

    def __call__(self, done: int, whole: int | None) -> None:
        now = trio.current_time()
        if sys.stderr.isatty() and now - self._last >= _EVERY:
            self._last, self._shown = now, True
            of = f" of {whole / 1e6:.1f}" if whole else ""
            sys.stderr.write(f"\rDownloading: {done / 1e6:.1f}{of} MB\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
