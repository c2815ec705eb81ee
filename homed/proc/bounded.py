"""Run a program to its end within limits of time and output."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import trio

from homed.proc.spawn import Child, Command, Exit, spawn

_CHUNK = 65536
_DRAIN = 0.5
"""Seconds to read on after the program ended, while something it left running still holds its pipes."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a program left: of each stream at most ``limit`` bytes, head and tail, with the gap named between them."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    timed_out: bool = False


class Excerpt:
    """Keeps the first and the last half of ``limit`` bytes of a stream, in constant memory."""

    def __init__(self, limit: int) -> None:
        self._room = math.ceil(limit / 2)
        self._tail_room = limit - self._room
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        fits = self._room - len(self._head)
        if fits > 0:
            self._head += data[:fits]
            data = data[fits:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    @property
    def left_out(self) -> int:
        """Bytes that are not kept."""
        return max(0, self.total - self._room - self._tail_room)

    def value(self) -> bytes:
        """What is kept; a gap says its size."""
        tail = b"".join(self._tail)[-self._tail_room :] if self._tail_room else b""
        if not self.left_out:
            return bytes(self._head) + tail
        return bytes(self._head) + f"\n[… {self.left_out} bytes left out …]\n".encode() + tail


async def run_bounded(
    cmd: Command, *, input: bytes = b"", limit: int = 1 << 20, timeout: float = math.inf, mark: str
) -> Completed:
    """Run ``cmd`` with ``input`` on its stdin, at most ``timeout`` seconds, keeping at most ``limit`` bytes per stream.

    Everything that is still in its group when the program ends is killed.  A process that left the group on purpose (a
    daemon) lives on after a normal end; after a timeout or a cancellation it is killed too.  On timeout the result
    holds what was written so far.  Cancelling kills, reaps and raises.  Errors of starting are ``spawn``'s.
    """
    out, err = Excerpt(limit), Excerpt(limit)
    ended: Exit | None = None
    async with spawn(cmd, mark=mark) as child:
        with trio.move_on_after(timeout):
            ended = await _communicate(child, input, out, err)
            child.hunt_strays = False
        if ended is None:
            child.signal_group(9)
            final = await child.wait()
    left_out = bool(out.left_out or err.left_out)
    return Completed(ended or final, out.value(), err.value(), left_out, timed_out=ended is None)


async def _communicate(child: Child, input_: bytes, out: Excerpt, err: Excerpt) -> Exit:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_feed, child, input_)
        async with trio.open_nursery() as readers:
            readers.start_soon(_read, child.stdout, out)
            readers.start_soon(_read, child.stderr, err)
            ended = await child.wait()
            readers.cancel_scope.deadline = trio.current_time() + _DRAIN
        nursery.cancel_scope.cancel()
    return ended


async def _feed(child: Child, data: bytes) -> None:
    try:
        await child.stdin.send_all(data)
    except trio.BrokenResourceError:
        pass  # it does not read: its right
    finally:
        await trio.aclose_forcefully(child.stdin)


async def _read(stream: trio.abc.ReceiveStream, into: Excerpt) -> None:
    while chunk := await stream.receive_some(_CHUNK):
        into.add(bytes(chunk))
