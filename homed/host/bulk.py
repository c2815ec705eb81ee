"""Large values of one conversation: into the plugin's arena and out of it, both ways.

Who frees: the kernel what it lent to one of its calls, when that is answered, and what a plugin sent, as soon as it is
copied; the plugin what it got as a result.  Nothing is trusted that the plugin can still change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import trio

from homed.errors import InvalidInput, ProtocolError, Unavailable
from homed.host.arena import KERNEL, PLUGIN, Arena, Scratch, give_back
from homed.wire import rpc
from homed.wire.layout.arena import BYTES, KEY, MAX_NAMED, ROOMY, Ref, refs
from homed.wire.layout.values import Packed, pack, unpack

ROOM_WAIT = 5.0
"""Seconds that a result of the kernel's waits for room in the arena; a call waits as long as it may take in all."""


class Bulk:
    """``arena`` is None where nothing is shared: then every value stays in its line.

    ``on_misuse`` hears of each frame that names what is not the plugin's to name.
    """

    def __init__(self, arena: Arena | None, on_misuse: Callable[[str], None], scratch: Scratch | None = None) -> None:
        self._arena, self._on_misuse, self._scratch = arena, on_misuse, scratch or Scratch()
        self._freed = trio.Event()
        self._ended = False
        self.used = False
        """Whether the plugin reads what the kernel puts there; it says so in the handshake."""

    # From the kernel to the plugin.

    async def lend(self, params: Mapping[str, object], *, timeout: float) -> tuple[Mapping[str, object], Sequence[int]]:
        """The params as the line carries them, and the blocks that hold the rest of them: `take_back` those.

        Waits up to ``timeout`` seconds for room, then raises `Unavailable`.  No checkpoint where none is needed.
        """
        packed = self._large(params)
        return await self._put(params, packed, KERNEL, timeout) if packed else (params, [])

    def take_back(self, lent: Sequence[int]) -> None:
        """The call is over."""
        self._free(lent, KERNEL)

    def end(self) -> None:
        """The plugin is gone: whoever waits for room hears so at once."""
        self._ended = True
        self._freed.set()

    async def given(self, result: object) -> object:
        """The kernel's result as the line carries it; what lies in the arena for it is the plugin's to free."""
        if not isinstance(result, Mapping):
            return result
        packed = self._large(result)
        if not packed:
            return result
        framed, taken = await self._put(result, packed, PLUGIN, ROOM_WAIT)
        try:
            rpc.encode(framed, limit=ROOMY)  # a line that cannot be written would leave them to nobody
        except InvalidInput:
            self._free(taken, PLUGIN)
            raise
        return framed

    def _large(self, values: Mapping[str, object]) -> dict[str, Packed]:
        if self._arena is None or not self.used:
            return {}
        return {name: data for name, value in values.items() if (data := pack(value)) is not None}

    async def _put(
        self, values: Mapping[str, object], packed: Mapping[str, Packed], owner: str, timeout: float
    ) -> tuple[Mapping[str, object], list[int]]:
        if KEY in values or len(packed) > MAX_NAMED:
            raise InvalidInput(f"These values cannot go by the arena: {', '.join(packed)[:200]}.")
        taken: list[int] = []
        named: dict[str, object] = {}
        try:
            for name, content in packed.items():
                taken.append(await self._write(content, owner, timeout))
                named[name] = Ref(taken[-1], content.length, content.kind).as_json()
        except BaseException:
            self._free(taken, owner)
            raise
        return {**{name: value for name, value in values.items() if name not in packed}, KEY: named}, taken

    async def _write(self, content: Packed, owner: str, timeout: float) -> int:
        arena = self._arena
        assert arena is not None
        with trio.move_on_after(timeout):
            while not self._ended:
                if (block := arena.alloc(content.length, owner)) is not None:
                    arena.write(block, content)
                    return block.off
                await self._freed.wait()
            raise Unavailable("The plugin is gone.")
        raise Unavailable(
            f"The plugin's arena had no room for {content.length} bytes within {timeout:.0f} s.",
            hint="It holds too many large values at once, or does not free those it was given.",
        )

    # From the plugin to the kernel.

    def taken(self, frame: object, *, binary: str = "") -> object:
        """Params or a result of the plugin's with its values in their places; their blocks are free again.

        ``binary`` is the one value that may be bytes, if any may.

        Raises `ProtocolError` (after ``on_misuse``) when it names what it may not, `InvalidInput` for a value that
        cannot be read.
        """
        if not isinstance(frame, Mapping) or KEY not in frame:
            return frame
        values = {name: value for name, value in frame.items() if name != KEY}
        return values | self._values(frame, binary)

    def untaken(self, frame: object) -> None:
        """Free what a frame of the plugin's named that nobody reads."""
        if isinstance(frame, Mapping) and KEY in frame:
            with suppress(ProtocolError):  # counted
                self._release(self._named(frame))

    def _values(self, frame: Mapping[str, object], binary: str) -> dict[str, object]:
        named = self._named(frame)
        assert self._arena is not None
        try:
            return {name: self._value(self._arena, name, ref, binary) for name, ref in named.items()}
        finally:
            self._release(named)

    def _value(self, arena: Arena, name: str, ref: Ref, binary: str) -> object:
        if ref.kind == BYTES and name != binary:
            raise InvalidInput(f"{name[:80]} is bytes where text or JSON belongs.")
        return unpack(arena.copy(ref.off, ref.length, self._scratch), ref.kind)

    def _named(self, frame: Mapping[str, object]) -> dict[str, Ref]:
        """What the frame names, all of it the plugin's to name."""
        try:
            named = refs(frame)
            if self._arena is None:
                raise ProtocolError("This plugin has no arena.")
            if len({ref.off for ref in named.values()}) != len(named):
                raise ProtocolError(f"{KEY} names a block twice.")
            for ref in named.values():
                self._arena.check(ref.off, ref.length)
        except ProtocolError as error:
            self._on_misuse(error.message)
            raise
        return named

    def _release(self, named: Mapping[str, Ref]) -> None:
        self._free([ref.off for ref in named.values()], PLUGIN)

    def alloc(self, length: int) -> int:
        """A block for the plugin to write into.  `Unavailable` when there is no room now, `InvalidInput` never."""
        if self._arena is None:
            raise Unavailable("This plugin has no arena.")
        block = self._arena.alloc(length, PLUGIN)
        if block is None:
            raise Unavailable(f"The arena has no room for {length} bytes now.", hint="Free blocks, then try again.")
        return block.off

    def free(self, off: int) -> None:
        """Take a block of the plugin's back.  Raises `ProtocolError` (after ``on_misuse``) for any other."""
        if self._arena is None:
            raise Unavailable("This plugin has no arena.")
        try:
            self._free([off], PLUGIN)
        except ProtocolError as error:
            self._on_misuse(error.message)
            raise

    def trim(self) -> None:
        """Give memory back that has not been used lately."""
        if self._arena is not None:
            self._scratch.trim()
            if self._arena.trim():
                give_back()

    def _free(self, offs: Sequence[int], owner: str) -> None:
        if self._arena is None:
            return
        for off in offs:
            self._arena.free(off, owner)
        if offs:
            self._freed.set()
            self._freed = trio.Event()
