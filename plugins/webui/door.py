"""Who is let in: runs before every request and every WebSocket."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import trio
from quart import Response, g, request, websocket
from quart.wrappers import Request, Websocket
from werkzeug.exceptions import MethodNotAllowed

from homed.errors import Denied, HomedError

from .bodies import MAX_BODY, Body
from .context import Site, Who, problem, problem_of
from .guard import HEADERS, PROGRAMS, SAFE_METHODS, Refused
from .limits import TooMany
from .route import Route
from .routes import BY_ENDPOINT

OPEN = frozenset({"static", "login.page", "api.login"})
"""The routes that need no session."""

KEY = re.compile(r"hk_[A-Za-z0-9_-]{20,200}")
BEARER = "bearer "

Stranger = Callable[[], Awaitable[Response]]


class Door:
    """The guard, then the session or the key, then the limits."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def enter(self) -> Response | None:
        """None to go on; otherwise the response that ends the request here."""
        route = BY_ENDPOINT.get(request.endpoint or "")
        takes = route.takes if route else "json"
        memory = route is not None and route.changes_memory
        header = request.headers.get
        unknown = request.routing_exception
        if isinstance(unknown, MethodNotAllowed) and self._site.guard.knows(header("Host", "")):
            raise unknown
        if (
            refused := self._site.guard.check(request.method, request.path, header, takes=takes, memory=memory)
        ) is not None:
            return _refusal(refused)
        if _too_long(request.body, route.limit if route else MAX_BODY):
            return problem(413, "invalid", "The body is too large.")
        if request.endpoint == "static":
            return None
        return await self._known(request, route, self._stranger)

    async def enter_socket(self) -> Response | None:
        """The same for a WebSocket, which must also say which page opens it, or bring a key."""
        refused = self._site.guard.check("GET", websocket.path, websocket.headers.get)
        if refused is not None:
            return _refusal(refused)
        return await self._known(websocket, BY_ENDPOINT["api.socket"], _strange_socket, changes=True)

    async def _known(
        self, asked: Request | Websocket, route: Route | None, stranger: Stranger, *, changes: bool = False
    ) -> Response | None:
        limits, address = self._site.limits, asked.remote_addr or ""
        header, api = asked.headers.get, route is not None
        key, session = _key(header("Authorization", "")) if api else "", asked.cookies.get(self._site.cookie, "")
        if route is not None and route.by_key:
            session = ""
        changes = changes or asked.method not in SAFE_METHODS
        by_cookie = not key and bool(session or asked.endpoint == "api.login")
        if changes and by_cookie and (refused := self._site.guard.from_page(header)) is not None:
            return _refusal(refused)
        if asked.endpoint in OPEN:
            limits.strangers.take(address)
            return None
        person = await self._person(session, key, address)
        if person is None:
            limits.strangers.take(address)
            return await stranger()
        limits.requests.take(person.account)
        if route is not None and not person.may(route.scope):
            has = ", ".join(sorted(person.scopes or ()))
            return problem(403, "denied", "This key may not do that.", f"It has: {has}; needed: {route.scope}.")
        g.who = person
        return None

    async def _person(self, session: str, key: str, address: str) -> Who | None:
        """Who it is, None for nobody.  Who tries keys that do not hold is soon asked to wait."""
        if not session and not key:
            return None
        if key and not KEY.fullmatch(key):
            self._site.limits.guesses.take(address)
            return None
        try:
            return await self._site.known(session, key)
        except Denied:
            if key:
                self._site.limits.guesses.take(address)
            return None

    async def _stranger(self) -> Response:
        if request.path.startswith(PROGRAMS):
            # a key opens no address that is none, and who has one should not look for the fault in it
            if request.url_rule is None and request.headers.get("Authorization"):
                return problem(404, "not_found", "There is no such address.", "All of them: /api/v1/openapi.json")
            return await _not_logged_in(request)
        return await self._site.door(status=401)

    async def ours(self, error: HomedError) -> Response:
        """An error of ours, in the person's language."""
        await trio.lowlevel.checkpoint()
        response = problem_of(error, self._site.lang())
        if isinstance(error, TooMany):
            response.headers["Retry-After"] = str(error.detail.get("wait", 1))
        return response

    async def leave(self, response: Response) -> Response:
        """Put the security headers on every answer; a file somebody sent brings a stricter policy of its own."""
        await self.leave_socket(response)
        if request.endpoint == "static":
            response.headers["Cache-Control"] = "no-cache"
        return response

    async def leave_socket(self, response: Response | None) -> Response | None:
        """The same where a WebSocket is refused; one that was open has no answer."""
        await trio.lowlevel.checkpoint()
        if response is not None:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response


async def _not_logged_in(asked: Request | Websocket) -> Response:
    await trio.lowlevel.checkpoint()
    if asked.headers.get("Authorization"):
        made = problem(401, "denied", "This API key does not hold.", "Make one: homed keys add NAME")
    else:
        made = problem(401, "denied", "Not logged in.", "Open the link that homed printed, or run: homed link")
    made.headers["WWW-Authenticate"] = 'Bearer realm="homed"'
    return made


async def _strange_socket() -> Response:
    return await _not_logged_in(websocket)


def _refusal(refused: Refused) -> Response:
    return problem(refused.status, "denied", refused.message, refused.hint)


def _key(authorization: str) -> str:
    """The key of an Authorization header; empty if there is none."""
    return authorization[len(BEARER) :].strip() if authorization[: len(BEARER)].lower() == BEARER else ""


def _too_long(body: object, limit: int) -> bool:
    return isinstance(body, Body) and body.declared is not None and body.declared > limit
