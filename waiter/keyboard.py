"""Lines a person types, and Ctrl-C, both as things ``select`` can wait for."""

from __future__ import annotations

import codecs
import os
import select
import signal
import socket
import termios
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Protocol

_READ = 1 << 16


class Readable(Protocol):
    """What ``select`` can wait for."""

    def fileno(self) -> int:
        """The descriptor."""


class Keyboard:
    """Lines from a descriptor, without waiting for more than has come.  ``ended`` after the last line."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._lines: deque[str] = deque()
        self.ended = False

    def fileno(self) -> int:
        """For ``select``."""
        return self._fd

    def take(self) -> str | None:
        """The next whole line without its end, if one has come."""
        return self._lines.popleft() if self._lines else None

    def put_back(self, lines: Iterable[str]) -> None:
        """Lines that were taken too early come first again."""
        self._lines.extendleft(reversed(list(lines)))

    def flush(self) -> None:
        """Forget what was typed on a terminal but not read yet."""
        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def read(self) -> None:
        """Read what has come; blocks if nothing has."""
        try:
            data = os.read(self._fd, _READ)
        except OSError:  # the terminal went away
            data = b""
        self._partial += self._decode(data, final=not data)
        *lines, self._partial = self._partial.split("\n")
        self._lines.extend(line.removesuffix("\r") for line in lines)
        if not data:
            self.ended = True
            if self._partial:
                self._lines.append(self._partial)
                self._partial = ""


class Interrupts:
    """Counts Ctrl-C instead of raising in the middle of something; ``wait`` returns at once when one comes.

    One more before ``wait`` has seen the last raises KeyboardInterrupt: something else blocks, such as a hung homed.
    """

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self.count = 0
        self._seen = 0

    def __enter__(self) -> Interrupts:
        self._wakeup = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_problem: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        signal.set_wakeup_fd(self._wakeup)
        self._near.close()
        self._far.close()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > self._seen + 1:
            raise KeyboardInterrupt

    def wait(self, sources: Iterable[Readable], timeout: float | None = None) -> list[Readable]:
        """Those of ``sources`` that have something to read; none after ``timeout`` seconds or on Ctrl-C."""
        wanted = list(sources)
        ready, _, _ = select.select([*wanted, self._near], [], [], timeout)
        if self._near in ready:
            self._near.recv(_READ)
        self._seen = self.count
        return [source for source in wanted if source in ready]
