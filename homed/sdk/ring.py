"""A plugin's end of the event rings: an own place in what happens, read from memory that the kernel alone writes.

A plugin that falls behind is told how many notices it lost, and the kernel never noticed it was slow.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import trio

from homed.errors import ProtocolError, Unavailable
from homed.sdk.client import Link, Notice
from homed.wire.layout import ENV
from homed.wire.layout.ring import NAMES, Cursor

log = logging.getLogger(__name__)

SUBSCRIBE = "events.subscribe"
RINGS = ("notices", "content")
BATCH = 256
"""Events that are read before other tasks of the plugin get a turn."""

MANY, PAUSE = 8, 0.001
"""Where so many events were there at once, it looks again after so many seconds, and again as long as it is so.  It is
not woken meanwhile: at a hundred events a millisecond a wake for each would cost both sides more than all the rest."""

Item = Notice | int
"""A notice, or the number of those lost before the next."""


@dataclass(frozen=True, slots=True)
class RingFds:
    """What the kernel gave this process of one ring: the memory, and what becomes readable when there is news."""

    memory: int
    wake: int


def take_rings(environ: MutableMapping[str, str]) -> dict[str, RingFds]:
    """The rings that this process was given, by name; no program started from here inherits them or hears of them."""
    found = {}
    for name in RINGS:
        fds = [environ.pop(f"{ENV}{name.upper()}{suffix}", "") for suffix in ("", "_WAKE")]
        if all(fd.isdecimal() for fd in fds):
            memory, wake = (int(fd) for fd in fds)
            os.set_inheritable(memory, False)
            os.set_inheritable(wake, False)
            found[name] = RingFds(memory, wake)
    return found


class RingReader:
    """Reads one ring from behind some number on; `close` it."""

    def __init__(self, fds: RingFds, seq: int, mask: int) -> None:
        """Raises `ProtocolError` for what is no ring that this SDK can read."""
        self._wake, self._gone = fds.wake, False
        with ExitStack() as undo:
            memory = mmap.mmap(fds.memory, os.fstat(fds.memory).st_size, prot=mmap.PROT_READ)
            undo.callback(memory.close)
            view = memoryview(memory)
            undo.callback(view.release)
            self._cursor = Cursor(view, seq, mask)
            undo.callback(self._cursor.close)
            self._close = undo.pop_all()

    @property
    def seq(self) -> int:
        """The number up to which everything was read, skipped or counted as lost."""
        return self._cursor.seq

    @property
    def behind(self) -> int:
        """How many events it has not come to."""
        return self._cursor.behind

    def read(self, limit: int = BATCH) -> list[Item]:
        """What is there, oldest first, at most ``limit`` notices; empty when it is at the end."""
        items: list[Item] = []
        cursor = self._cursor
        for _ in range(limit):
            event = cursor.take()
            if cursor.lost:
                items.append(cursor.lost)
                cursor.lost = 0
            if event is None:
                break
            if (name := NAMES.get(event.type)) is not None:  # a later kernel's news is nothing to this SDK
                said = json.loads(str(event.payload, "utf-8"))
                items.append(
                    Notice(event.seq, event.at, name, said["thread"], said["turn"], said["scope"], said["data"])
                )
        return items

    async def news(self) -> None:
        """Wait until the kernel has said that there is news.  It says no more until `drain`.  Cancelled, it loses none.

        For ever, once the kernel is gone.
        """
        await trio.lowlevel.wait_readable(self._wake)
        if self._gone:
            await trio.sleep_forever()

    def drain(self) -> None:
        """Have the kernel say so again, of what comes from here on.  What came before must be read after this."""
        with suppress(BlockingIOError):
            self._gone = not os.read(self._wake, 4096)

    def close(self) -> None:
        """Unmap the ring; its descriptors stay for another reader."""
        self._close.close()


class RingLink:
    """A link to the kernel that has notices come by ring where there is one; everything else passes."""

    def __init__(self, link: Link, rings: Mapping[str, RingFds]) -> None:
        self._link, self._rings = link, rings
        self._reader: RingReader | None = None
        self._waiting = trio.CancelScope()

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call and return the result.  A subscription that does not say ``via`` is by ring where there is one."""
        if method != SUBSCRIBE:
            return await self._link.request(method, params, timeout=timeout)
        asked = dict(params or {})
        before, self._reader = self._reader, None  # the kernel replaces it: what is read from here on is the new one's
        try:
            answer, reader = await self._subscribe(asked, timeout)
        except BaseException:
            self._switch(before)
            raise
        if before is not None:
            before.close()
        self._switch(reader)
        return answer

    async def run(self, deliver: Callable[[list[Item], int], Awaitable[None]]) -> None:
        """Read for ever: ``deliver(items, seq)``, where ``seq`` is how far the ring was read with them."""
        try:
            while True:
                reader = self._reader
                with trio.CancelScope() as self._waiting:
                    if reader is None:
                        await trio.sleep_forever()
                    await reader.news()
                many = MANY
                while many >= MANY:
                    many = await self._catch_up(deliver)
                    if many >= MANY:
                        await trio.sleep(PAUSE)
                if self._reader is not None:
                    self._reader.drain()
                    await self._catch_up(deliver)
        finally:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    async def _catch_up(self, deliver: Callable[[list[Item], int], Awaitable[None]]) -> int:
        """Read until there is nothing more now; how many numbers that was."""
        passed = 0
        while (reader := self._reader) is not None:
            before = reader.seq
            items = reader.read()
            if reader.seq == before:
                break
            passed += reader.seq - before
            await deliver(items, reader.seq)
            await trio.lowlevel.checkpoint()
        return passed

    async def _subscribe(self, asked: Mapping[str, object], timeout: float | None) -> tuple[Any, RingReader | None]:
        fds = self._rings.get("content" if asked.get("content") else "notices")
        if fds is not None and asked.get("via", "ring") == "ring":
            try:
                answer = await self._link.request(SUBSCRIBE, {**asked, "via": "ring"}, timeout=timeout)
                return answer, RingReader(fds, int(answer["cursor"]), int(answer["mask"]))
            except (Unavailable, ProtocolError) as error:
                log.warning("the event ring cannot be read, events come in lines: %s", error)
        return await self._link.request(SUBSCRIBE, {**asked, "via": "rpc"}, timeout=timeout), None

    def _switch(self, reader: RingReader | None) -> None:
        if self._reader is not None:  # of another subscription meanwhile
            self._reader.close()
        self._reader = reader
        self._waiting.cancel()
