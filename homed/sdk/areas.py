"""The plugin's end of the memory it shares with the kernel: its arena, and the stage segment if it was given one.

Large values go through the arena by themselves: what a handler returns, what it passes to `Kernel.call` and what it
gets.  Where nothing is shared (a test's harness, an old kernel) they stay in the line.
"""

from __future__ import annotations

import logging
import mmap
import os
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import trio

from homed.errors import HomedError, ProtocolError, Unavailable
from homed.wire import rpc
from homed.wire.layout import ENV, check_header
from homed.wire.layout.arena import KEY, MAGIC, MAX_NAMED, ROOMY, VERSION, Ref, refs
from homed.wire.layout.segment import Field, SegmentReader
from homed.wire.layout.values import pack, unpack
from homed.wire.stream import Connection

log = logging.getLogger(__name__)

ROOM_WAIT = 5.0
"""Seconds that a value of ours waits for room in the arena."""
_ASK_AGAIN = 0.01
_SETTLE = 2.0
"""Seconds, shielded, for a block to be asked for or given back: the kernel answers both at once."""

ALLOC, FREE = "core.arena_alloc", "core.arena_free"


class Areas:
    """What this process was given.  ``arena`` and ``segment`` are None where it was not."""

    def __init__(self, arena: mmap.mmap | None = None, segment: mmap.mmap | None = None) -> None:
        self.arena = None if arena is None else memoryview(arena)
        self.segment = None if segment is None else SegmentReader(memoryview(segment))
        if self.arena is not None:
            check_header(self.arena, MAGIC, VERSION)

    @property
    def names(self) -> list[str]:
        """What the handshake answers."""
        return [name for name in ("arena", "segment") if getattr(self, name) is not None]


def take_areas(environ: MutableMapping[str, str]) -> Areas:
    """Map the arena and the segment that this process was given, once for its life.

    No program started from here on inherits them or hears of them: they are mapped, their descriptors closed.
    """
    return Areas(_map(environ, "ARENA", mmap.ACCESS_WRITE), _map(environ, "SEGMENT", mmap.ACCESS_READ))


def _map(environ: MutableMapping[str, str], name: str, access: int) -> mmap.mmap | None:
    number = environ.pop(f"{ENV}{name}", "")
    if not number.isdecimal():
        return None
    fd = int(number)
    try:
        return mmap.mmap(fd, os.fstat(fd).st_size, access=access)
    finally:
        os.close(fd)


class Link(Protocol):
    """What carries calls to the kernel."""

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call and return the result."""


class BulkLink:
    """Calls to the kernel whose large values go by the arena, both ways; and the same for the plugin's answers."""

    def __init__(self, connection: Connection, arena: memoryview | None) -> None:
        self._connection, self._arena = connection, arena
        self._unfreed: list[int] = []

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """As `Connection.request`.  Also `Unavailable` when the arena has no room for a large value."""
        await self._free_leftovers()
        framed, taken = await self._framed(params or {})

        def withdrawn() -> None:
            self._unfreed.extend(taken)

        answer = await self._connection.request(method, framed, timeout=timeout, on_withdrawn=withdrawn)
        return await self.taken(answer) if isinstance(answer, dict) and KEY in answer else answer

    async def answered(self, result: object) -> object:
        """A handler's result as the line carries it; the kernel frees what it names once it has read it."""
        if not isinstance(result, Mapping):
            return result
        framed, taken = await self._framed(result)
        try:
            if taken:
                rpc.encode(framed, limit=ROOMY)  # a line that cannot be written would leave them to nobody
        except HomedError:
            self._unfreed.extend(taken)
            raise
        return framed

    def lent(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Params of the kernel's with their large values in place; the kernel frees those when it has our answer."""
        return _placed(params, self._copies(params)) if KEY in params else params

    async def taken(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """A result of the kernel's with its large values in place; their blocks are given back."""
        copies = self._copies(result)
        self._unfreed.extend(ref.off for ref in refs(result).values())
        await self._free_leftovers()
        return _placed(result, copies)

    def untaken(self, frame: object) -> None:
        """Blocks of an answer that came too late for whoever had asked: given back before the next call."""
        if isinstance(frame, Mapping) and KEY in frame:
            self._unfreed.extend(ref.off for ref in refs(frame).values())

    async def _framed(self, values: Mapping[str, object]) -> tuple[Mapping[str, object], list[int]]:
        if self._arena is None:
            return values, []
        packed = {name: data for name, value in values.items() if (data := pack(value)) is not None}
        if not packed:
            return values, []
        taken: list[int] = []
        named: dict[str, object] = {}
        try:
            for name, content in list(packed.items())[:MAX_NAMED]:
                off = await self._alloc(content.length)
                taken.append(off)
                content.write(self._arena, off)
                named[name] = Ref(off, content.length, content.kind).as_json()
        except BaseException:
            self._unfreed.extend(taken)
            raise
        return {**{name: value for name, value in values.items() if name not in named}, KEY: named}, taken

    async def _alloc(self, length: int) -> int:
        until = trio.current_time() + ROOM_WAIT
        while True:
            await self._free_leftovers()
            try:
                # Shielded, for a block whose offset nobody hears of would be lost for the rest of this life.
                with trio.move_on_after(_SETTLE, shield=True):
                    answer = await self._connection.request(ALLOC, {"len": length})
                    return int(answer["off"])
                raise Unavailable("homed did not answer for a place in the arena.")
            except Unavailable:
                if self._connection.closed.is_set() or trio.current_time() > until:
                    raise
            await trio.sleep(_ASK_AGAIN)

    async def _free_leftovers(self) -> None:
        while self._unfreed and not self._connection.closed.is_set():
            off = self._unfreed.pop()
            try:
                with trio.move_on_after(_SETTLE, shield=True):
                    await self._connection.request(FREE, {"off": off})
            except HomedError as error:
                log.warning("a block of the arena was not taken back: %s", error)

    def _copies(self, frame: Mapping[str, Any]) -> dict[str, object]:
        return dict(self._read(frame))

    def _read(self, frame: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
        if self._arena is None:
            raise ProtocolError("homed sent a value by an arena that this plugin does not have.")
        for name, ref in refs(frame).items():
            data = self._arena[ref.off : ref.off + ref.length]
            if len(data) != ref.length:
                raise ProtocolError(f"homed sent {name} by a place outside of the arena.")
            yield name, unpack(data, ref.kind)


def _placed(frame: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    return {**{name: value for name, value in frame.items() if name != KEY}, **values}


class Fields(Mapping[str, Any]):
    """The fields of a stage, each parsed when it is first looked at.  A copy: it stays what it was."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._fields[name].value()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Fields({', '.join(self._fields)})"
