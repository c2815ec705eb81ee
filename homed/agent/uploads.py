"""Files on their way in: received piece by piece, then on the disk under their hash, then a row, in this order.

What is being received is known in memory only: after a crash it is thrown away, and whoever sent it begins again.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import trio

from homed.agent import media
from homed.agent.filelimits import FileLimits
from homed.clock import WallClock, new_id, system_wall_clock
from homed.errors import Conflict, InvalidInput, NotFound, StorageError, Unavailable
from homed.failpoints import Failpoints, NoFailpoints
from homed.identity.roles import Identity, visible_scopes
from homed.memory import blocks
from homed.memory.blocks import Block
from homed.memory.filetypes import JUDGED, clean_name, type_of
from homed.store.files import MediaFiles
from homed.store.rows import Storage, Tx

log = logging.getLogger(__name__)

PIECE = 512 * 1024
"""Bytes of one piece: in base64 it fits one line of the wire."""

READY_LIMIT = 30.0
"""Seconds a piece waits, right after the start, until what an earlier run left has been cleared away."""

COMPLETE_LIMIT = 30.0
"""Seconds that putting a complete file away may take, shielded: it is there afterwards, or it is not."""

DROP_LIMIT = 5.0
"""Seconds that removing what came of a refused file may take, shielded; the next start removes it otherwise."""

ALL_OPEN = 64
"""Files that all peers together may be sending at once."""

CALLS_OPEN = 16
"""Files that all tool calls together may be sending at once: people's have room beside them."""

CALL_IDLE = 60.0
"""Seconds after which a file that a tool call sends is given up if nothing comes: it waits for no person."""

COLLECTED = 256
"""Loose files removed with one commit."""


class Redactor(Protocol):
    """``homed.redact.Redactor``, as far as it is used here."""

    def redact(self, text: str) -> str:
        """The text without secrets."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a file.  An empty ``upload`` begins one; ``offset``: bytes that came before, if the sender counts.

    ``caption``, of the first piece: what the channel says is in the file.
    """

    data: bytes
    upload: str = ""
    name: str = ""
    media_type: str = ""
    caption: str = ""
    offset: int | None = None
    last: bool = False


@dataclass(slots=True)
class _Coming:
    """A file that is being received."""

    id: str
    peer: str
    name: str
    declared: str
    caption: str
    touched: float
    bytes: int = 0
    sha: hashlib._Hash = field(default_factory=hashlib.sha256)
    one_piece: trio.Lock = field(default_factory=trio.Lock)

    @property
    def of_call(self) -> bool:
        """Whether a tool call sends it."""
        return blocks.of_call(self.peer)

    @property
    def idle(self) -> float:
        """Seconds it may stand still, whatever is set."""
        return CALL_IDLE if self.of_call else math.inf


class Uploads:
    """Receives files, gives them out again, and removes those that nothing names any more."""

    def __init__(
        self,
        store: Storage,
        files: MediaFiles,
        redactor: Redactor,
        *,
        wall: WallClock = system_wall_clock,
        failpoints: Failpoints | None = None,
        limits: Callable[[], FileLimits] = FileLimits,
    ) -> None:
        self._store = store
        self._files = files
        self._redactor = redactor
        self._wall = wall
        self._limits = limits
        self._failpoints = failpoints or NoFailpoints()
        self._coming: dict[str, _Coming] = {}
        # Held from before a file is put in its place until a row names it, and while loose ones are removed: so none
        # is removed that is about to be named.
        self._files_gate = trio.Lock()
        self._ready = trio.Event()

    async def prepare(self) -> None:
        """At a start: forget what was never sent, remove what a crash left without a name.

        What the disk or a damaged database refuses is logged: homed starts all the same.
        """
        at = self._wall()
        try:
            await self._files.prepare()
            if count := await self._store.write(lambda tx: blocks.drop_leftovers(tx, at=at)):
                log.info("%d uploads that no message took were forgotten", count)
            await self.collect()
        except StorageError as error:
            log.warning("attachments were not looked through: %s", error)
        self._ready.set()

    # -- in --------------------------------------------------------------------------------------------------------

    async def receive(self, who: Identity, piece: Piece) -> tuple[str, int]:
        """Take a piece; the upload's id and how many bytes of it are here.  With ``last`` it can be attached.

        Raises InvalidInput (too large, empty), NotFound for an upload that is over or another peer's, Conflict when
        ``offset`` is not where the file stands, Unavailable when too much waits.  A piece that fails for its size or
        the disk ends the upload.  Cancelled: the piece is here or not; with ``offset`` it can be sent again.
        """
        return await self._receive(who.peer, piece)

    async def of_call(self, turn: str, call: str, piece: Piece) -> tuple[str, int]:
        """The same for a file that a tool call sends, for its result: ``call`` is its place among the turn's links.

        Its result takes it (``blocks.adopt_attached``), or the end of the turn throws it away.
        """
        return await self._receive(blocks.owner_of(turn, call), piece)

    async def _receive(self, owner: str, piece: Piece) -> tuple[str, int]:
        if len(piece.data) > PIECE:
            raise InvalidInput(f"The piece is too large: {len(piece.data)} bytes; {PIECE} is the limit.")
        with trio.move_on_after(READY_LIMIT):
            await self._ready.wait()  # what comes before would be taken for what an earlier run left
        if not self._ready.is_set():
            raise Unavailable("homed is still starting and takes no files now.", hint="Try again in a moment.")
        coming = self._coming.get(piece.upload) if piece.upload else await self._begin(owner, piece)
        if coming is None or coming.peer != owner:
            raise NotFound("There is no such upload.", hint="Begin again: it may have been given up, or be complete.")
        async with coming.one_piece:
            if coming.id not in self._coming:
                raise NotFound("This upload has ended.", hint="Begin again.")
            if piece.offset not in (None, coming.bytes):
                raise Conflict(
                    f"The upload stands at {coming.bytes} bytes.", hint="Go on there.", detail={"bytes": coming.bytes}
                )
            try:
                await self._append(coming, piece)
                if piece.last:
                    await self._complete(coming)
            except Exception:
                with trio.move_on_after(DROP_LIMIT, shield=True):
                    await self._give_up(coming)
                raise
        return coming.id, coming.bytes

    async def _begin(self, owner: str, piece: Piece) -> _Coming:
        await self._make_room(owner)
        # The name is somebody's text: what looks like a secret in it is taken out as anywhere else.
        name = clean_name(self._redactor.redact(clean_name(piece.name)))
        caption = self._redactor.redact(piece.caption)[: blocks.CAPTION]
        coming = _Coming(new_id("blk"), owner, name, piece.media_type, caption, trio.current_time())
        count, size, everybody = await self._store.read(lambda tx: blocks.room(tx, owner))
        mine = [other for other in self._coming.values() if other.peer == owner]
        size += sum(other.bytes for other in mine)
        everybody += sum(other.bytes for other in self._coming.values())
        limits = self._limits()
        calls = sum(1 for other in self._coming.values() if other.of_call)
        if len(mine) >= limits.open or len(self._coming) >= ALL_OPEN or (coming.of_call and calls >= CALLS_OPEN):
            raise Unavailable("Too many files are being sent at once.", hint="Wait until some are complete.")
        if coming.of_call and count + len(mine) >= blocks.MOST:
            raise InvalidInput(f"A result takes {blocks.MOST} files at the most.")
        if limits.waiting.refuses(count + 1, size + 1, everybody + 1):
            raise blocks.full()
        self._coming[coming.id] = coming
        return coming

    async def _make_room(self, owner: str) -> None:
        """Give up what stands still, and forget this peer's leftovers: nobody waits for the next start."""
        now, limit = trio.current_time(), self._limits().idle
        for idle in [c for c in self._coming.values() if now - c.touched > min(limit, c.idle)]:
            if not idle.one_piece.locked():
                await self._give_up(idle)
        at = self._wall()
        old = await self._store.read(
            lambda tx: tx.value(
                "SELECT 1 FROM uploads WHERE peer = ? AND input = '' AND created_at < ?",
                (owner, at - blocks.LEFTOVER),
            )
        )
        if old:
            await self._store.write(lambda tx: blocks.drop_leftovers(tx, at=at))
            await self.collect()

    async def _append(self, coming: _Coming, piece: Piece) -> None:
        if coming.bytes + len(piece.data) > (largest := self._limits().bytes):
            raise InvalidInput(f"The file is too large; {largest} bytes is the limit.")
        await self._files.write_part(coming.id, piece.data, coming.bytes)
        coming.sha.update(piece.data)
        coming.bytes += len(piece.data)
        coming.touched = trio.current_time()
        self._failpoints.reach("upload.piece")

    async def _complete(self, coming: _Coming) -> None:
        if not coming.bytes:
            raise InvalidInput("The file is empty.")
        with trio.move_on_after(COMPLETE_LIMIT, shield=True):
            await self._settle(coming)
            return
        raise StorageError("The file could not be stored in time.", hint="Is the disk full or hanging?")

    async def _settle(self, coming: _Coming) -> None:
        head = await self._files.read_part(coming.id, JUDGED)
        kind, hash_ = type_of(head, coming.declared), coming.sha.hexdigest()
        block = Block(coming.id, hash_, coming.name, kind, coming.bytes)
        block = replace(block, tokens=await trio.to_thread.run_sync(media.tokens_of, block, head, self._limits().text))
        at = self._wall()
        async with self._files_gate:
            await self._store.write(lambda tx: blocks.announce(tx, coming.peer, block, self._limits().waiting))
            await self._files.keep(coming.id, hash_)
            self._failpoints.reach("upload.placed")
            await self._store.write(lambda tx: blocks.put(tx, coming.peer, block, at=at, caption=coming.caption))
        self._failpoints.reach("upload.stored")
        self._coming.pop(coming.id, None)

    async def cancel(self, who: Identity, upload: str) -> None:
        """Take off a file that no message has taken; raises NotFound."""
        coming = self._coming.get(upload)
        if coming is not None and coming.peer == who.peer:
            async with coming.one_piece:
                if coming.id in self._coming:
                    await self._give_up(coming)
                    return
        if not await self._store.write(lambda tx: blocks.drop(tx, who.peer, upload)):
            raise NotFound("There is no such upload.", hint="It may have been sent already.")
        await self.collect()

    async def _give_up(self, coming: _Coming) -> None:
        self._coming.pop(coming.id, None)
        await self._files.drop_part(coming.id)

    # -- out -------------------------------------------------------------------------------------------------------

    async def block(self, who: Identity, id_: str, offset: int, length: int) -> tuple[Block, bytes]:
        """A file this peer may see, and ``length`` bytes of it from ``offset``.  Raises NotFound."""
        found = await self._visible(who, id_)
        return found, await self._files.read(found.hash, offset, max(0, min(length, found.bytes - offset)))

    async def small(self, who: Identity, id_: str) -> tuple[Block, bytes | None]:
        """A picture this peer may see, small; None in the place of its bytes where there is no small one (yet)."""
        found = await self._visible(who, id_)
        return found, await self._files.read_small(found.hash)

    async def keep_small(self, hash_: str, data: bytes) -> bool:
        """Put a small picture beside the file it was made of; False, and nothing kept, if nothing names that any more.

        Looked at under the gate: whatever lets go of the file from here on takes the small one along.
        """
        async with self._files_gate:
            if not await self._store.read(lambda tx: blocks.named(tx, hash_)):
                return False
            await self._files.keep_small(hash_, data)
        return True

    async def _visible(self, who: Identity, id_: str) -> Block:
        found = await self._store.read(lambda tx: blocks.visible(tx, id_, peer=who.peer, scopes=visible_scopes(who)))
        if found is None:
            raise NotFound("There is no such attachment.")
        return found

    async def collect(self) -> int:
        """Remove the files that nothing names; how many there were.

        Cancelled or killed in the middle: what is left is removed by the next call, or at the next start.
        """
        count = 0
        async with self._files_gate:
            while found := await self._store.read(lambda tx: blocks.loose(tx, COLLECTED)):
                count += await self._files.remove(found)
                await self._store.write(_removed(found))
        return count


def _removed(hashes: Sequence[str]) -> Callable[[Tx], None]:
    def write(tx: Tx) -> None:
        blocks.removed(tx, hashes)

    return write
