"""A plugin's stderr: drained always, kept in bounds, redacted before anything of it is stored."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path

import trio

from homed.host.limits import HostLimits
from homed.host.throttle import Bucket

_log = logging.getLogger(__name__)

TAIL = 16 * 1024
"""Bytes of stderr that a crash report keeps."""
_CHUNK = 65536
_LINE = 12288
"""Bytes of one line that are kept; the rest of it is dropped."""
_MARGIN = 4096
"""Characters taken off where a line was cut, once it is redacted: no secret cut in two is longer than that."""
_MEMORY = 256 * 1024
_BURST = 1_000_000
_RATE = 64 * 1024
"""A flood is written at this many bytes a second once it has spent its burst; what is over is counted, not kept."""


class PluginLog:
    """The log of one plugin over all its lives: a file, and its last lines in memory.

    ``redact`` sees whole lines; where one is cut, what stands next to the cut is dropped.  ``file`` may not be
    writable: then only memory is kept, and that is logged once.  One older file is kept beside it.
    """

    def __init__(self, file: Path, redact: Callable[[str], str], limits: Callable[[], HostLimits] = HostLimits) -> None:
        self._file, self._redact, self._limits = file, redact, limits
        self._lines: deque[str] = deque()
        self._size = 0
        self._partial = bytearray()
        self._cut = False
        self._tail = bytearray()
        self._bucket = Bucket(rate=_RATE, burst=_BURST, now=-math.inf)
        self._dropped = 0
        self._file_works = True

    def lines(self, limit: int) -> list[str]:
        """The last ``limit`` lines, oldest first."""
        return list(self._lines)[-limit:] if limit > 0 else []

    def tail(self) -> str:
        """The redacted last ``TAIL`` bytes of this life; a line that the cut left incomplete is dropped."""
        raw = bytes(self._tail)
        if len(raw) <= TAIL:
            return self._redact(raw.decode("utf-8", "replace"))
        _, newline, whole = raw[-TAIL:].partition(b"\n")
        if newline and whole:
            return self._redact(whole.decode("utf-8", "replace"))
        return self._redact(raw[-TAIL:].decode("utf-8", "replace"))[_MARGIN:]

    async def load(self) -> None:
        """Read what earlier runs of the daemon left in the file."""
        for line in (await trio.to_thread.run_sync(self._read_file)).splitlines():
            self._remember(line)

    def begin(self) -> None:
        """A new life begins: its tail starts empty."""
        self._tail.clear()
        self._partial.clear()
        self._cut = False

    async def drain(self, stream: trio.abc.ReceiveStream) -> None:
        """Read ``stream`` to its end, whatever the disk does; a slow disk pushes back on this plugin's pipe only."""
        while True:
            try:
                chunk = bytes(await stream.receive_some(_CHUNK))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                chunk = b""
            if not chunk:
                break
            self._tail += chunk
            del self._tail[: -2 * TAIL]
            await self._store(self._complete(chunk))
        if self._partial:
            await self._store([self._line()])

    async def note(self, text: str) -> None:
        """A line of the host's own among the plugin's."""
        await self._store([text.encode()])

    def _complete(self, chunk: bytes) -> list[bytes]:
        *whole, rest = chunk.split(b"\n")
        lines = []
        for piece in whole:
            self._grow(piece)
            lines.append(self._line())
        self._grow(rest)
        return lines

    def _grow(self, piece: bytes) -> None:
        room = _LINE - len(self._partial)
        self._partial += piece[:room]
        self._cut = self._cut or len(piece) > room

    def _line(self) -> bytes:
        """The line that is complete now.  One that was cut is redacted first, and then loses what is next to the cut:
        there may stand a part of a secret, which only the whole would show to be one."""
        line, cut = bytes(self._partial), self._cut
        self._partial.clear()
        self._cut = False
        if not cut:
            return line
        return self._redact(line.decode("utf-8", "replace"))[:-_MARGIN].encode() + b" [cut]"

    async def _store(self, lines: list[bytes]) -> None:
        now = trio.current_time()
        kept = [line for line in lines if self._bucket.take(now, len(line) + 1)]
        self._dropped += len(lines) - len(kept)
        if not kept:
            return
        text = self._redact(b"\n".join(kept).decode("utf-8", "replace"))
        if self._dropped:
            text, self._dropped = f"[{self._dropped} lines left out: too many at once]\n{text}", 0
        for line in text.split("\n"):
            self._remember(line)
        if self._file_works:
            await trio.to_thread.run_sync(self._append, text + "\n")

    def _remember(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1  # an empty line takes room too
        while self._size > _MEMORY:
            self._size -= len(self._lines.popleft()) + 1

    def _append(self, text: str) -> None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._file.exists() and self._file.stat().st_size > self._limits().log:
                self._file.replace(self._file.with_suffix(".log.1"))
            with self._file.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self._file_works = False
            _log.warning("%s cannot be written (%s); the log of this plugin stays in memory", self._file, error)

    def _read_file(self) -> str:
        try:
            with self._file.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - _MEMORY))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""
