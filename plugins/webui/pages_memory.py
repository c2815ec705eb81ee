"""The pages of the memory console that show records: what there is, where it comes from, and what can be done to it.

Every page extends ``memory_frame.html`` and is rendered with ``part``, the entry of the console's menu it stands under.
What they are made of is brought in when one is first looked at: most starts never show one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from quart import Blueprint, Response, request

from homed.errors import Conflict, InvalidInput, NotFound

from .context import Site
from .words import Words

Render = Callable[..., Awaitable[Response]]

LISTED = 30
"""Records, or cold events, of a page."""


class MemoryPages:
    """``/memory``, ``/memory/records``, ``/memory/records/ID``, ``/memory/cold`` and ``/memory/merges``."""

    def __init__(self, site: Site, render: Render) -> None:
        self._site = site
        self._render = render

    def add_to(self, made: Blueprint) -> None:
        """Add these routes."""
        made.add_url_rule("/memory", "memory", self.overview)
        made.add_url_rule("/memory/records", "records", self.records)
        made.add_url_rule("/memory/records/<record>", "record", self.record)
        made.add_url_rule("/memory/cold", "cold", self.cold)
        made.add_url_rule("/memory/merges", "merges", self.merges)

    async def overview(self) -> Response:
        """What there is."""
        from . import overview

        found = await self._site.call("memory.stats")
        figures = overview.shown(found, datetime.now().astimezone().date())
        return await self._render("memory.html", "memory", part="overview", why=why_of(self._site.lang()), **figures)

    async def records(self) -> Response:
        """A page of them, as the address asks for it; what it cannot ask for is said, and nothing is shown instead."""
        from . import recordview

        asked = recordview.asked(request.args)
        wrong, found = "", NOTHING
        try:
            found = await self._site.call("memory.records", **wanted(asked), limit=LISTED)
        except InvalidInput as error:
            words = self._site.lang()
            wrong = words("records.no_day") if error.message == NO_DAY else words.kernel.text(error.message)
        older = urlencode({**asked, "before": found["next"]}) if found["next"] else ""
        shown = {**dict.fromkeys(("query", "sort", *recordview.FILTERS), ""), **asked}
        return await self._render(
            "records.html", "memory", part="records", asked=shown, older=older,
            wrong=wrong, records_found=found["records"], found_of=found["of"], kinds=recordview.KINDS,
            unread={**READ, **(found.get("unread") or {})},
            narrowed=len(asked.keys() & set(recordview.FILTERS) - {"record"}) + ("sort" in asked),
        )  # fmt: skip

    async def record(self, record: str) -> Response:
        """One, whole.  Eight digits that several ids end with are answered with those."""
        from . import recordview

        try:
            found = await self._site.call("memory.record", id=record, history=True)
        except (NotFound, Conflict) as error:
            return await self._render(
                "record_missing.html", "memory", status=404, part="records",
                message=self._site.lang().kernel.text(error.message), candidates=error.detail.get("candidates", []),
            )  # fmt: skip
        linked = {key: [{**one, "link": recordview.thread_link(one)} for one in found[key]] for key in USES}
        return await self._render(
            "record.html", "memory", part="records", found={**found, **linked}, pieces=recordview.evidence(found),
            links=recordview.chain(found), changes=recordview.history(found), triple=recordview.triple(found),
            kinds=recordview.KINDS, why=why_of(self._site.lang()),
        )  # fmt: skip

    async def cold(self) -> Response:
        """What left the window, the newest first, or what is about something."""
        from . import recordview

        query, before = request.args.get("query", "").strip()[:200], request.args.get("before", "")[:18]
        found = await self._site.call("memory.cold", query=query, before=before or None, limit=LISTED)
        events = [{"score": None, **one, "link": recordview.thread_link(one)} for one in found["events"]]
        more = {**({"query": query} if query else {}), "before": found["next"]}
        older = urlencode(more) if found["next"] else ""
        return await self._render("cold.html", "memory", part="cold", events=events, query=query, older=older)

    async def merges(self) -> Response:
        """Who may be one, and who was made one."""
        found = await self._site.call("admin.merges_list")
        return await self._render("merges.html", "memory", part="merges", merges=found["merges"], done=found["done"])


READ: Mapping[str, Any] = {"count": 0, "held": 0, "due": None, "paused": False}
"""Where no turn waits to be read."""
NOTHING: Mapping[str, Any] = {"records": [], "next": "", "of": 0}
NO_DAY = "That is no day."
USES = ("citations", "injections")


def wanted(asked: Mapping[str, str]) -> dict[str, object]:
    """What `memory.records` is asked with: days as times, the last one whole.  InvalidInput for what is no day."""
    found: dict[str, object] = dict(asked)
    for key, more in (("since", 0), ("until", 1)):
        if key in asked:
            found[key] = (day(asked[key]) + timedelta(days=more)).timestamp()
    if "untrusted" in asked:
        found["untrusted"] = asked["untrusted"] == "1"
    return found


def day(text: str) -> datetime:
    """The beginning of a day, where this daemon is.  InvalidInput for what is none."""
    try:
        found = datetime.combine(date.fromisoformat(text), datetime.min.time()).astimezone()
        found.timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(NO_DAY) from None
    return found


def why_of(words: Words) -> Callable[[str], str]:
    """Says why a revision was made: the kernel's word, and of which other record it speaks."""

    def why(told: str) -> str:
        word, _, of = told.partition(" ")
        said = words.get(f"record.why.{word}", "")
        return f"{said} {of}".rstrip() if said else words.kernel.text(told)

    return why
