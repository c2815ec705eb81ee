"""Files that go with a conversation, evidence word for word, and a whole conversation as a file.

Nothing is ever held whole here: an upload goes to the kernel piece by piece as it comes, a file comes from it as it is
taken.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from quart import Response, request

from homed.errors import HomedError, InvalidInput, Unavailable

from .bodies import Body
from .context import Site, Who, reply, streamed, who
from .export import WRITERS, Export
from .files import disposition, handed_over, name_of, type_of
from .routes import MAX_UPLOAD

if TYPE_CHECKING:
    from . import asked

PIECE = 384 * 1024
"""Bytes of a file in one call: as base64 half a line of the wire, and whole groups of three."""
CHUNK = 128 * 1024
"""Bytes of an answer that are gathered before they are sent: an export is written line by line."""
CANCEL_SECONDS = 1.0
"""How long telling the kernel that an upload broke off may take."""


class Sending:
    """A file on its way to the kernel.  Holds one piece."""

    def __init__(self, site: Site, person: Who, name: str, media_type: str) -> None:
        self._site, self._account, self._upload = site, person.account, ""
        self._given = {"peer": person.peer, "name": name, "media_type": media_type}
        self._waiting = bytearray()
        self._sent = 0

    async def more(self, data: bytes) -> None:
        """Take what came; who sends more than their share is taken from slowly."""
        while True:  # until it was taken: others may take what there is meanwhile
            wait = self._site.limits.uploaded.wait(self._account, len(data))
            await trio.sleep(wait)
            if not wait:
                break
        self._waiting += data
        while len(self._waiting) > PIECE:  # so that the last piece is never empty
            await self._send(bytes(self._waiting[:PIECE]), last=False)
            del self._waiting[:PIECE]

    async def end(self) -> dict[str, Any]:
        """The kernel's answer to the last piece.  Raises InvalidInput if there was nothing at all."""
        if not self._waiting:
            raise InvalidInput("The file is empty.")
        return await self._send(bytes(self._waiting), last=True)

    async def cancel(self) -> None:
        """It will not be whole: the kernel can forget it."""
        if self._upload:
            with suppress(HomedError):
                params = {"peer": self._given["peer"], "upload": self._upload}
                await self._site.kernel.call("io.upload_cancel", params)

    async def _send(self, data: bytes, *, last: bool) -> dict[str, Any]:
        params = {**self._given, "data": base64.b64encode(data).decode(), "offset": self._sent, "last": last}
        answer: dict[str, Any] = await self._site.kernel.call(
            "io.upload", {**params, "upload": self._upload} if self._upload else params
        )
        self._upload = str(answer["upload"])
        self._sent += len(data)
        return answer


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
            sending = Sending(self._site, person, name, media_type)
            try:
                async for piece in body.pieces(MAX_UPLOAD):
                    await sending.more(piece)
                answer = await sending.end()
            except BaseException:
                with trio.move_on_after(CANCEL_SECONDS, shield=True):
                    await sending.cancel()
                raise
        return reply({**answer, "name": name, "media_type": media_type}, status=201)

    async def block(self, block: str, query: asked.BlockQuery) -> Response:
        """A picture to be shown, small on request, or anything else to be saved."""
        ask = partial(self._site.kernel.call, "io.block")
        asked_ = {"peer": who().peer, "block": block, "length": 1 if request.method == "HEAD" else PIECE}
        first = await ask({**asked_, "offset": 0, **({"small": True} if query.small else {})})
        if first.get("small"):
            asked_["small"] = True  # the rest of the same file: another may have been made meanwhile

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
        if request.method == "HEAD":
            head = (await self._site.call("io.history", thread=thread, limit=1))["thread"]
        else:
            head = await export.begin()
        writer, kind, ending = WRITERS[query.format]
        response = _streamed(writer(head, export.events()))
        title = str(head.get("title") or "conversation")[:80]
        response.headers["Content-Type"] = kind
        response.headers["Content-Disposition"] = disposition("attachment", f"{title}{ending}")
        return response


def _streamed(parts: AsyncIterator[bytes]) -> Response:
    """A response that takes as long as its reader does.  One that breaks off is seen to: its length is not kept."""
    return streamed(_whole_or_broken(parts))


async def _whole_or_broken(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    waiting = bytearray()
    try:
        async for part in parts:
            waiting += part
            if len(waiting) >= CHUNK:
                yield bytes(waiting)
                waiting.clear()
        yield bytes(waiting)
    except HomedError as error:  # the head is out already: break the line, so that nobody takes the part for the whole
        raise ConnectionAbortedError(str(error)) from error
