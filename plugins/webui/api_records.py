"""Records as REST: searched, opened, written, changed, hidden, made one, forgotten for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quart import Response

from homed.errors import NotFound

from .context import Site, reply

if TYPE_CHECKING:
    from . import asked_memory as asked

LAYERS = {"l1": "summary", "l2": "fact", "l3": "capsule"}
"""What the original called records."""


class RecordsApi:
    """``memory/*`` of records, of cold memory and of merges; the kernel shows everybody what is theirs to see."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def memory_stats(self) -> Response:
        """What there is."""
        return reply(await self._site.call("memory.stats"))

    async def records(self, query: asked.RecordsQuery) -> Response:
        """A page of them."""
        return reply(await self._site.call("memory.records", **wanted(query.model_dump())))

    async def holo_records(self, query: asked.HoloRecordsQuery) -> Response:
        """The same, asked for as the original did."""
        given = {"record": query.layer, "query": query.q, "before": query.cursor, "limit": query.limit}
        return reply(await self._site.call("memory.records", **wanted(given)))

    async def record(self, record: str, query: asked.RecordQuery) -> Response:
        """One, with where it comes from."""
        return reply(await self._site.call("memory.record", id=record, history=query.history == "1"))

    async def record_note(self, body: asked.RecordNote) -> Response:
        """Write one by hand."""
        given = body.model_dump(exclude_none=True)
        return reply(await self._site.call("memory.note", **{**given, "record": called(body.record)}))

    async def record_edit(self, record: str, body: asked.RecordEdit) -> Response:
        """Change one."""
        return reply(await self._site.call("memory.edit", id=record, **body.model_dump(exclude_none=True)))

    async def record_do(self, record: str, action: str) -> Response:
        """Hide, restore or reinstate one; the router knows which actions there are."""
        return reply(await self._site.call(f"memory.{action}", id=record))

    async def record_forget(self, record: str, body: asked.RecordForget) -> Response:
        """Forget one for good."""
        return reply(await self._site.call("admin.memory_forget", kind="fact", target=record, wide=body.wide))

    async def records_combine(self, body: asked.Combine) -> Response:
        """Two become one."""
        return reply(await self._site.call("memory.combine", keep=body.keep, gone=body.gone))

    async def forget_preview(self, body: asked.Forgetting) -> Response:
        """What would go."""
        return reply(await self._site.call("admin.memory_preview", **body.model_dump()))

    async def forget_for_good(self, body: asked.Forgetting) -> Response:
        """It goes."""
        return reply(await self._site.call("admin.memory_forget", **body.model_dump()))

    async def cold(self, query: asked.ColdQuery) -> Response:
        """What left the window."""
        return reply(await self._site.call("memory.cold", **wanted(query.model_dump())))

    async def cold_back(self, event: str) -> Response:
        """Bring it back."""
        return reply(await self._site.call("memory.bring_back", event=event))

    async def merges(self) -> Response:
        """Who may be one."""
        return reply(await self._site.call("admin.merges_list"))

    async def merge_accept(self, merge: str, body: asked.MergeAccept) -> Response:
        """They are one."""
        return reply(await self._site.call("admin.merges_accept", merge=merge, keep=body.keep))

    async def merge_reject(self, merge: str) -> Response:
        """They are two."""
        return reply(await self._site.call("admin.merges_reject", merge=merge))

    async def merge_undo(self, done: str) -> Response:
        """They are two again."""
        return reply(await self._site.call("admin.merges_undo", done=numbered(done)))


def numbered(text: str) -> int:
    """The number of a merge that was made.  Raises NotFound for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text)):
        raise NotFound("There is no such merge.")
    return int(text)


def called(record: str) -> str:
    """A record's name for the original's name of it."""
    return LAYERS.get(record, record)


def wanted(given: dict[str, Any]) -> dict[str, Any]:
    """Of what a query holds, what was asked for: an empty value asks for nothing."""
    found = {key: value for key, value in given.items() if value not in ("", None)}
    if "record" in found:
        found["record"] = called(found["record"])
    if "peer" in found:
        found["person"] = found.pop("peer")
    if "untrusted" in found:
        found["untrusted"] = found["untrusted"] == "1"
    return found
