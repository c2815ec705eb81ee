"""The web application: who is let in, and which routes there are."""

from __future__ import annotations

import logging

import trio
from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from homed.errors import Denied, HomedError

from .api_admin import AdminApi
from .api_chat import ChatApi
from .api_login import LoginApi
from .context import FOLDER, Site, Who, problem, problem_of
from .guard import HEADERS
from .pages import Pages

log = logging.getLogger(__name__)

MAX_BODY = 512 * 1024
"""Bytes of a request's body; a message fits with room to spare, and a line of the wire holds 1 MiB."""
OPEN = frozenset({"static", "login.page", "login.login"})
"""The routes that need no session."""


class Door:
    """Runs before every request: the guard, then the session."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def enter(self) -> Response | None:
        """None to go on; otherwise the response that ends the request here."""
        refused = self._site.guard.check(request.method, request.path, request.headers.get)
        if refused is not None:
            return problem(refused.status, "denied", refused.message, refused.hint)
        if request.endpoint in OPEN:
            return None
        session = request.cookies.get(self._site.cookie, "")
        if session:
            try:
                found = await self._site.kernel.call("auth.check", {"session": session})
            except Denied:
                return await self._stranger()
            g.who = Who(str(found["peer"]), str(found["role"]), session)
            return None
        return await self._stranger()

    async def _stranger(self) -> Response:
        if request.path.startswith("/api/"):
            return problem(401, "denied", "Not logged in.", "Open the link that homed printed, or run: homed link")
        return await self._site.door(status=401)

    async def ours(self, error: HomedError) -> Response:
        """An error of ours, in the person's language."""
        await trio.lowlevel.checkpoint()
        return problem_of(error, self._site.lang())

    async def leave(self, response: Response) -> Response:
        """Put the security headers on every answer."""
        for name, value in HEADERS.items():
            response.headers[name] = value
        if request.endpoint == "static":
            response.headers["Cache-Control"] = "no-cache"
        return response


async def _http(error: HTTPException) -> Response:
    await trio.lowlevel.checkpoint()
    return problem(error.code or 500, "invalid", error.description or error.name)


async def _unforeseen(error: Exception) -> Response:
    await trio.lowlevel.checkpoint()
    log.error("a request failed: %s %s", request.method, request.path, exc_info=error)
    return problem(500, "internal", "Something went wrong in the page's own code.", "Its log has the details.")


def create_app(site: Site) -> QuartTrio:
    """The application for this site.  Serves nothing by itself."""
    app = QuartTrio("webui", root_path=str(FOLDER), static_folder=str(FOLDER / "static"), static_url_path="/static")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.config["PROPAGATE_EXCEPTIONS"] = False
    door = Door(site)
    app.before_request(door.enter)
    app.after_request(door.leave)
    app.register_error_handler(HomedError, door.ours)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unforeseen)
    for part in (LoginApi(site), Pages(site), ChatApi(site), AdminApi(site)):
        app.register_blueprint(part.blueprint())
    return app
