"""The conversation as REST: say, listen, look back, stop, approve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quart import Response, request

from .context import Site, reply, streamed, who
from .stream import EventStream
from .view import ThreadView

if TYPE_CHECKING:
    from . import asked

PAGE = 60
"""Events of history in one page."""


def whole_turns(history: dict[str, Any]) -> dict[str, Any]:
    """The same history without a turn that the page's edge cut in two; it comes whole with the page before."""
    events = history["events"]
    if not history["more"]:
        return history
    first = next((index for index, event in enumerate(events) if event.get("kind") == "user"), 0)
    return {**history, "events": events[first:]}


class ChatApi:
    """``chat/*``, ``approvals`` and ``threads``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def say(self, body: asked.Say) -> Response:
        """Say something.  The same ``client_msg_id`` again gets the first one's input."""
        return await self._say("io.inject", body)

    async def interrupt(self, body: asked.Say) -> Response:
        """Say something that does not wait its turn: level 2, a person's message."""
        return await self._say("io.interrupt", body)

    async def _say(self, method: str, body: asked.Say) -> Response:
        result = await self._site.call(
            method,
            text=body.text,
            thread=body.thread or None,
            client_msg_id=body.client_msg_id,
            attachments=body.attachments or None,
            can_ask=True,
        )
        return reply(result, status=200 if result.get("duplicate") else 202)

    async def events(self, query: asked.EventsQuery) -> Response:
        """Server-sent events of a thread after the cursor in Last-Event-ID or ``after``."""
        self._site.limits.streams.check(who().account)
        cursor = request.headers.get("Last-Event-ID") or query.after
        if query.thread:  # not theirs to see: an error before the stream
            await self._site.call("io.history", thread=query.thread, limit=1)
        view = ThreadView(self._site.fragments(), query.thread)
        stream = EventStream(self._site, who(), view, thread=query.thread, cursor=cursor)
        response = streamed(stream)
        response.headers["Content-Type"] = "text/event-stream; charset=utf-8"
        response.headers["X-Accel-Buffering"] = "no"
        return response

    async def history(self, query: asked.HistoryQuery) -> Response:
        """A page of a thread before ``before``; ``view=html`` gives it as the pieces of page it is shown with."""
        before = query.before or None
        history = await self._site.call("io.history", thread=query.thread, before=before, limit=query.limit)
        history = {**history, "cursor": self._site.hub.cursor(history["seq"])}
        if query.view != "html":
            return reply(history)
        return reply(self.shown(history, earlier=before is not None))

    def shown(self, history: dict[str, Any], *, earlier: bool = False) -> dict[str, Any]:
        """A history as ``{thread, html, more, before, busy, cursor}``; an ``earlier`` page has no turn under way."""
        history = whole_turns(history)
        if earlier:
            history = {**history, "live": None, "approvals": []}
        view = ThreadView(self._site.fragments(), history["thread"]["id"])
        template = self._site.templates.get_template("talk.html")
        events = history["events"]
        return {
            "thread": history["thread"],
            "html": template.render(sections=view.sections(history)),
            "more": history["more"],
            "before": events[0]["seq"] if events else 0,
            "busy": history["live"] is not None,
            "cursor": history["cursor"],
        }

    async def stop(self, body: asked.ThreadOnly) -> Response:
        """Stop what the thread is doing, now."""
        return reply(await self._site.call("io.stop", thread=body.thread))

    async def approvals(self) -> Response:
        """What waits for an answer."""
        return reply(await self._site.call("io.approvals"))

    async def approve(self, approval: str, body: asked.Decision) -> Response:
        """Answer it."""
        given = {"approval": approval, "decision": body.decision, "remember": body.remember}
        return reply(await self._site.call("io.approve", **given))

    async def threads(self, query: asked.ThreadsQuery) -> Response:
        """The threads, newest first; ``query`` searches, ``before`` pages."""
        given = {"query": query.query or None, "limit": query.limit, "before": query.before}
        return reply(await self._site.call("io.threads", **given))

    async def rename(self, thread: str, body: asked.Title) -> Response:
        """Give a thread a title."""
        return reply(await self._site.call("io.thread_rename", thread=thread, title=body.title))

    async def forget(self, thread: str) -> Response:
        """Delete a thread, its events and its files."""
        return reply(await self._site.call("io.thread_delete", thread=thread))

    async def explain(self, turn: str) -> Response:
        """What went into a turn's window and why."""
        return reply(await self._site.call("memory.explain", turn=turn))
