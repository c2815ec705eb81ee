"""``core.attach``: files that a tool gives back with its result, sent while its call runs."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from pydantic import Field

from homed.agent.uploads import PIECE, Piece
from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, lent, of_call
from homed.errors import InvalidInput
from homed.memory.blocks import CAPTION

BASE64 = 4 * -(-PIECE // 3)
FAR = 1 << 53


class Attach(PeerParams):
    """``core.attach``: ``data`` is base64, or bytes by the arena."""

    data: str | bytes = Field(max_length=BASE64)
    file: str = Field(default="", max_length=MAX_NAME)
    name: str = Field(default="", max_length=4096)
    media_type: str = Field(default="", max_length=256)
    caption: str = Field(default="", max_length=CAPTION)
    offset: int | None = Field(default=None, ge=0, le=FAR)
    last: bool = False


async def attach(call: PeerCall[Attach]) -> Mapping[str, object]:
    """Take a piece of a file of the tool call's result; with ``last`` the result can name it."""
    params = call.params
    turn, place = call.ports.calling.attaching(lent(call))
    piece = Piece(
        data=_decoded(params.data), upload=params.file, name=params.name, media_type=params.media_type,
        caption=params.caption, offset=params.offset, last=params.last,
    )  # fmt: skip
    id_, count = await call.ports.uploads.of_call(turn, place, piece)
    return {"file": id_, "bytes": count}


def _decoded(data: str | bytes) -> bytes:
    if isinstance(data, bytes):
        if len(data) > PIECE:
            raise InvalidInput(f"core.attach: data has {len(data)} bytes; {PIECE} are the limit of a piece.")
        return data
    try:
        found = base64.b64decode(data, validate=True)
    except ValueError:
        found = b""
    if len(data) != 4 * -(-len(found) // 3):
        raise InvalidInput(
            "core.attach: data is not valid base64.",
            hint="Encode it with padding, in one line; or send bytes by the arena.",
        )
    return found


METHODS: dict[str, Method] = {"core.attach": of_call(Attach, attach)}
