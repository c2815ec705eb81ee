"""A program on a terminal of its own: what it shows, what is typed, Ctrl-C, its exit.  Real, so on the real clock."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Self

PATIENCE = 60.0


class Pty:
    """Runs ``argv`` as leader of a session whose controlling terminal we hold the other end of.  A context manager."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, columns: int = 80) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        inherited = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**inherited, "TERM": "xterm-256color", **(env or {})},
        )
        os.close(slave)
        self._bytes = bytearray()
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        os.close(self._master)

    @property
    def shown(self) -> str:
        """Everything shown so far, with ``\\r\\n`` as line ends."""
        return self._bytes.decode("utf-8", "replace")

    def expect(self, text: str, *, within: float = PATIENCE) -> str:
        """Wait until ``text`` is shown after what was expected last; returns what stood before it."""
        wanted = text.replace("\n", "\r\n").encode()
        deadline = time.monotonic() + within
        while (at := self._bytes.find(wanted, self._seen)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} is not in {self._bytes[self._seen :].decode('utf-8', 'replace')!r}")
        before = self._bytes[self._seen : at].decode("utf-8", "replace")
        self._seen = at + len(wanted)
        return before

    def type(self, text: str) -> None:
        """Type; ``\\n`` is Enter."""
        os.write(self._master, text.encode())

    def ctrl_c(self) -> None:
        """Press Ctrl-C."""
        self.type("\x03")

    def ctrl_d(self) -> None:
        """Press Ctrl-D."""
        self.type("\x04")

    def leave(self, *, within: float = PATIENCE) -> int:
        """Wait for the program's end and return its exit status."""
        deadline = time.monotonic() + within
        while self._read(deadline):
            pass
        return self._process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, deadline: float) -> bool:
        """More of what is shown; False at the end of the program or of the patience."""
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._master], [], [], left)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # EIO: nobody holds the other end any more
            return False
        self._bytes += data
        return bool(data)
