"""Files that a tool gives back: ``return sdk.WithFiles("Here it is.", [sdk.File("plot.png", data)])``."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from pathlib import Path

    from homed.sdk.client import Kernel

PIECE = 512 * 1024
"""Bytes that go over the wire at once."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a result: its bytes, or the path of one that is read in pieces when the tool has returned.

    What it is (a picture, a recording) is judged by its bytes; ``media_type`` counts where they do not tell.  The
    conversation is found by ``name`` and by ``caption``, what you know to be in it.
    """

    name: str
    data: bytes | Path
    media_type: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class WithFiles:
    """A tool's result with up to ten files.  ``content``: text, or anything JSON-able; best say what the files are.

    A model that can see gets pictures to see, any other model their names, types and sizes; people see them in the
    conversation.
    """

    content: Any
    files: Sequence[File] = field(default_factory=tuple)


async def send(kernel: Kernel, call: str, file: File, *, raw: bool) -> str:
    """Hand a file over for the result of the call with this token; its id.  ``raw``: bytes can go by the arena.

    Raises what the kernel says against it, and OSError for a path that cannot be read.  Cancelled in the middle: what
    has come of it is thrown away when the turn ends.
    """
    said: dict[str, object] = {"name": file.name, "media_type": file.media_type, "caption": file.caption}
    id_, at = "", 0
    while True:
        piece, more = await _piece(file.data, at)
        params: dict[str, object] = {
            "call": call, "data": piece if raw and piece else base64.b64encode(piece).decode("ascii"), "offset": at,
            "last": not more, **({"file": id_} if id_ else {k: v for k, v in said.items() if v}),
        }  # fmt: skip
        at += len(piece)
        id_ = str((await kernel.call("core.attach", params))["file"])
        if not more:
            return id_


async def _piece(data: bytes | Path, at: int) -> tuple[bytes, bool]:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data[at : at + PIECE]), at + PIECE < len(data)

    def read() -> tuple[bytes, bool]:
        with data.open("rb") as file:
            file.seek(at)
            piece = file.read(PIECE + 1)
        return piece[:PIECE], len(piece) > PIECE

    return await trio.to_thread.run_sync(read)
