"""The pages of what was told before turns: the ledger of injections, and why a turn was answered as it was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quart import Blueprint, Response, request

from homed.errors import HomedError, InvalidInput, NotFound

from . import why
from .context import Site
from .reading import mappings, string

Render = Callable[..., Awaitable[Response]]

LISTED = 30
THREADS = 60
"""Conversations that the filter offers by their titles; the id of any other does as well."""


class LedgerPages:
    """``/memory/injections`` and ``/turns/TURN/why``."""

    def __init__(self, site: Site, render: Render) -> None:
        self._site = site
        self._render = render

    def add_to(self, made: Blueprint) -> None:
        """Add these routes."""
        made.add_url_rule("/memory/injections", "injections", self.injections)
        made.add_url_rule("/turns/<turn>/why", "why", self.why)

    async def injections(self) -> Response:
        """What was told, newest first, of one conversation or of one record where that is asked for."""
        thread, record = (request.args.get(key, "").strip()[:200] for key in ("thread", "record"))
        wrong = ""
        found: Mapping[str, Any] = {"injections": [], "next": None}
        try:
            of = await self._meant(thread)
            found = await self._site.call(
                "memory.injections", limit=LISTED, before=place(request.args.get("before", "")),
                thread=of or None, record=record.removeprefix("id:") or None,
            )  # fmt: skip
        except (InvalidInput, NotFound) as error:  # a filter that means nothing is no reason for another page
            wrong = self._site.lang().kernel.text(error.message)
        return await self._render(
            "injections.html", "memory", part="injections", rows=found["injections"], next=found.get("next"),
            thread=thread, record=record, wrong=wrong,
        )  # fmt: skip

    async def _meant(self, thread: str) -> str:
        """The id of the conversation that an id or a title means: the latest with the title, else with it in it."""
        if not thread:
            return ""
        listed = mappings((await self._site.call("io.threads", query=thread, limit=THREADS)).get("threads"))
        titles = [(string(one, "title").casefold(), string(one, "id")) for one in listed]
        asked = thread.casefold()
        exact = (id_ for title, id_ in titles if title == asked)
        return next(exact, "") or next((id_ for title, id_ in titles if asked in title), thread)

    async def why(self, turn: str) -> Response:
        """Why a turn was answered as it was: of any turn whose record is kept."""
        try:
            explained = await self._site.call("memory.explain", turn=turn)
        except NotFound:
            return await self._render("why_missing.html", "memory", status=404, part="injections")
        told = await self._told(str(explained["turn"]))
        found = why.page(explained, mappings(told.get("injections")), told.get("written"))
        return await self._render("why.html", "memory", part="injections", found=found)

    async def _told(self, turn: str) -> Mapping[str, Any]:
        """The ledger's rows of the turn, and what was made of it; without them the page says what the records alone
        say."""
        try:
            found: Mapping[str, Any] = await self._site.call("memory.injections", turn=turn, limit=LISTED)
        except HomedError:
            return {}
        return found


def place(before: str) -> int | None:
    """A place in a list as an address has it; None for what is none."""
    return int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None
