"""The conversation as REST: say, listen, look back, stop, approve."""

from __future__ import annotations

from typing import Any

from quart import Blueprint, Response, request

from homed.errors import InvalidInput

from .context import Site, body, number, reply, text, who
from .stream import EventStream
from .view import ThreadView

MAX_SAID = 100_000
"""Characters of one message."""
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
    """``/api/v1/chat/*``, ``/api/v1/approvals`` and ``/api/v1/threads``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def blueprint(self) -> Blueprint:
        """These routes."""
        made = Blueprint("chat", __name__, url_prefix="/api/v1")
        made.add_url_rule("/chat", "say", self.say, methods=["POST"])
        made.add_url_rule("/chat/events", "events", self.events)
        made.add_url_rule("/chat/history", "history", self.history)
        made.add_url_rule("/chat/stop", "stop", self.stop, methods=["POST"])
        made.add_url_rule("/approvals", "approvals", self.approvals)
        made.add_url_rule("/approvals/<approval>", "approve", self.approve, methods=["POST"])
        made.add_url_rule("/threads", "threads", self.threads)
        made.add_url_rule("/threads/<thread>", "rename", self.rename, methods=["POST"])
        return made

    async def say(self) -> Response:
        """``{text, thread?, client_msg_id}``.  The same ``client_msg_id`` again gets the first one's input."""
        given = await body()
        result = await self._site.call(
            "io.inject",
            text=text(given, "text", limit=MAX_SAID),
            thread=text(given, "thread", required=False) or None,
            client_msg_id=text(given, "client_msg_id", limit=100),
            can_ask=True,
        )
        return reply(result, status=200 if result.get("duplicate") else 202)

    async def events(self) -> Response:
        """Server-sent events of ``thread`` after the cursor in Last-Event-ID or ``after``."""
        thread = request.args.get("thread", "")
        cursor = request.headers.get("Last-Event-ID") or request.args.get("after", "")
        if thread:
            await self._site.call("io.history", thread=thread, limit=1)  # not theirs to see: an error before the stream
        view = ThreadView(self._site.fragments(), thread)
        stream = EventStream(self._site, who(), view, thread=thread, cursor=cursor)
        response = Response(stream, content_type="text/event-stream; charset=utf-8")
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"
        response.timeout = None
        return response

    async def history(self) -> Response:
        """A page of ``thread`` before ``before``; ``view=html`` gives it as the pieces of page it is shown with."""
        thread = request.args.get("thread", "")
        if not thread:
            raise InvalidInput("'thread' is missing.")
        limit = number("limit", PAGE, least=1, most=500)
        before = number("before", 0, least=0, most=1 << 62) or None
        history = await self._site.call("io.history", thread=thread, before=before, limit=limit)
        history = {**history, "cursor": self._site.hub.cursor(history["seq"])}
        if request.args.get("view") != "html":
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

    async def stop(self) -> Response:
        """``{thread}``: stop what it is doing, now."""
        return reply(await self._site.call("io.stop", thread=text(await body(), "thread")))

    async def approvals(self) -> Response:
        """What waits for an answer."""
        return reply(await self._site.call("io.approvals"))

    async def approve(self, approval: str) -> Response:
        """``{decision: allow|deny, remember: once|thread}``."""
        given = await body()
        decision, remember = text(given, "decision"), text(given, "remember", required=False) or "once"
        if decision not in ("allow", "deny") or remember not in ("once", "thread"):
            raise InvalidInput("'decision' must be allow or deny, and 'remember' once or thread.")
        return reply(await self._site.call("io.approve", approval=approval, decision=decision, remember=remember))

    async def threads(self) -> Response:
        """The threads, newest first; ``query`` searches, ``before`` pages."""
        before = request.args.get("before", "")
        try:
            at = float(before) if before else None
        except ValueError:
            raise InvalidInput("'before' must be a number.") from None
        limit = number("limit", 50, least=1, most=200)
        query = request.args.get("query", "")[:200] or None
        return reply(await self._site.call("io.threads", query=query, limit=limit, before=at))

    async def rename(self, thread: str) -> Response:
        """``{title}``."""
        title = text(await body(), "title", limit=200)
        return reply(await self._site.call("io.thread_rename", thread=thread, title=title))
