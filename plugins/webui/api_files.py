"""Files that go with a conversation, evidence word for word, and a whole conversation as a file.

Nothing is ever held whole here: an upload goes to the kernel piece by piece as it comes, a file comes from it as it is
taken.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from quart import Response, request

from homed.errors import HomedError, InvalidInput, Unavailable

from .bodies import Body
from .context import Site, Who, reply, who
from .export import WRITERS, Export
from .files import disposition, handed_over, name_of, type_of
from .routes import MAX_UPLOAD

if TYPE_CHECKING:
    from . import asked

PIECE = 384 * 1024
"""Bytes of a file in one call: as base64 half a line of the wire, and whole groups of three."""


class FilesApi:
    """``uploads``, ``blocks``, ``events`` and ``threads/ID/export``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def upload(self) -> Response:
        """A file's bytes as the body, its name in X-File-Name, its type in Content-Type."""
        name = name_of(request.headers.get("X-File-Name", ""))
        media_type = type_of(request.headers.get("Content-Type", ""))
        body, person = request.body, who()
        assert isinstance(body, Body)
        with self._site.limits.uploads.slot(person.account):
            upload, total = await self._received(body, person, {"name": name, "media_type": media_type})
        return reply({"name": name, "media_type": media_type, **upload, "bytes": total}, status=201)

    async def _received(self, body: Body, person: Who, given: dict[str, str]) -> tuple[dict[str, Any], int]:
        """Pass the body on; the kernel's last answer, and how many bytes there were."""
        waiting, total, answer = bytearray(), 0, {"upload": ""}
        async for piece in body.pieces(MAX_UPLOAD):
            total += len(piece)
            await trio.sleep(self._site.limits.uploaded.wait(person.account, len(piece)))
            waiting += piece
            while len(waiting) > PIECE:  # the last piece is sent below, and is never empty
                answer = await self._passed(bytes(waiting[:PIECE]), person, given, answer, last=False)
                del waiting[:PIECE]
        if not total:
            raise InvalidInput("The file is empty.")
        return await self._passed(bytes(waiting), person, given, answer, last=True), total

    async def _passed(
        self, data: bytes, person: Who, given: dict[str, str], before: dict[str, Any], *, last: bool
    ) -> dict[str, Any]:
        params = {"peer": person.peer, **given, "data": base64.b64encode(data).decode(), "last": last}
        if before["upload"]:
            params["upload"] = before["upload"]
        answer: dict[str, Any] = await self._site.kernel.call("io.upload", params)
        return answer

    async def block(self, block: str) -> Response:
        """A picture to be shown, or anything else to be saved."""
        ask = partial(self._site.kernel.call, "io.block")
        asked_ = {"peer": who().peer, "block": block, "length": PIECE}
        first = await ask({**asked_, "offset": 0})

        async def parts() -> AsyncIterator[bytes]:
            at, part = 0, first
            while True:
                data = base64.b64decode(part["data"])
                yield data
                at += len(data)
                if at >= first["bytes"]:
                    return
                if not data:
                    raise Unavailable("The file ended before its end.")
                part = await ask({**asked_, "offset": at})

        response = _streamed(parts())
        response.headers.update(handed_over(str(first["name"]), str(first["media_type"])))
        response.headers["Content-Length"] = str(first["bytes"])
        return response

    async def event(self, event: str, query: asked.PartQuery) -> Response:
        """An event word for word; of a long text a part, with how long the whole is."""
        return reply(await self._site.call("io.event", event=event, offset=query.offset, length=query.length))

    async def export(self, thread: str, query: asked.ExportQuery) -> Response:
        """A whole thread, oldest first, every text whole."""
        export = Export(self._site.kernel, who().peer, thread)
        head = await export.begin()
        writer, kind, ending = WRITERS[query.format]
        response = _streamed(writer(head, export.events()))
        title = str(head.get("title") or "conversation")[:80]
        response.headers["Content-Type"] = kind
        response.headers["Content-Disposition"] = disposition("attachment", f"{title}{ending}")
        return response


def _streamed(parts: AsyncIterator[bytes]) -> Response:
    """A response that takes as long as its reader does.  One that breaks off is seen to: its length is not kept."""
    response = Response(_whole_or_broken(parts))
    response.headers["Cache-Control"] = "no-store"
    response.timeout = None
    return response


async def _whole_or_broken(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for part in parts:
            yield part
    except HomedError as error:  # the head is out already: break the line, so that nobody takes the part for the whole
        raise ConnectionAbortedError(str(error)) from error
