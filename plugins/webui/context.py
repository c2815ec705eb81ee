"""What every route needs, in one frozen value, and the ways in and out that routes share."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from jinja2 import Environment
from quart import Response, g, has_request_context, request, websocket

from homed.errors import Denied, HomedError, InvalidInput

from . import v1_shape
from .fragments import Fragments, environment
from .guard import Guard
from .hub import Hub
from .limits import Limits
from .packages import Held
from .schemas import Schemas
from .words import LANGUAGES, Words, choose, load

FOLDER = Path(__file__).parent
Data = Mapping[str, Any]

STATUS: Mapping[str, int] = {
    "invalid": 400, "config": 400, "denied": 403, "not_found": 404, "conflict": 409, "stopped": 409, "unavailable": 503,
    "timeout": 504, "plugin": 502, "storage": 507, "too_many": 429,
}  # fmt: skip
"""HTTP status of an error by its code; any other is 500."""


class KernelPort(Protocol):
    """The kernel as this plugin uses it; the SDK's has this shape."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call a kernel method; raises HomedError.  Cancelling it cancels the call in the kernel."""


@dataclass(frozen=True, slots=True)
class Who:
    """The person behind a session or an API key.  ``scopes`` are the key's; None: a session, which may everything."""

    peer: str
    role: str
    session: str
    key: str = field(default="", repr=False)
    name: str = ""
    scopes: frozenset[str] | None = None

    @property
    def owner(self) -> bool:
        """True for the owner of this daemon."""
        return self.role == "owner"

    @property
    def hears_daemon(self) -> bool:
        """Whether notices of no thread (plugin states, the system's) are theirs."""
        return self.owner and (self.scopes is None or "admin" in self.scopes)

    @property
    def account(self) -> str:
        """Whose limits count: the peer's, or this key's own."""
        return f"key:{self.name}" if self.key else self.peer

    def may(self, scope: str) -> bool:
        """Whether a key's scopes let a route of this scope pass (``any``: all of them do, ``session``: none does)."""
        return self.scopes is None or scope == "any" or scope in self.scopes


@dataclass(frozen=True, slots=True)
class Site:
    """The kernel, the hub, and how this page is dressed.  ``heartbeat``: seconds between signs of life on a stream."""

    kernel: KernelPort
    hub: Hub
    guard: Guard
    words: Mapping[str, Words]
    templates: Environment
    cookie: str = "homed_session"
    heartbeat: float = 15.0
    limits: Limits = field(default_factory=Limits)
    schemas: Schemas = field(default_factory=Schemas)
    packages: Held = field(default_factory=lambda: Held(None))

    @classmethod
    def build(cls, kernel: KernelPort, hub: Hub, guard: Guard, *, port: int, folder: Path | None = None) -> Site:
        """A site with the templates of this package.  The cookie is named for the port, as cookies ignore ports.

        ``folder`` is the page's own, for packages on their way."""
        words, templates = load(FOLDER / "strings"), environment(FOLDER / "templates")
        return cls(kernel, hub, guard, words, templates, cookie=f"homed_session_{port}", packages=Held(folder))

    async def call(self, method: str, **params: object) -> Any:
        """Call a kernel method for the person of this request; raises HomedError."""
        given = {key: value for key, value in params.items() if value is not None}
        return await self.kernel.call(method, {"peer": who().peer, **given})

    def person(self) -> Who:
        """The person of this request.  Raises Denied where nobody is logged in."""
        return who()

    async def known(self, session: str, key: str) -> Who:
        """The person behind a session's secret or, if there is one, an API key.  Raises Denied."""
        if key:
            found = await self.kernel.call("auth.key", {"key": key})
            scopes = frozenset(str(scope) for scope in found["scopes"])
            return Who(str(found["peer"]), str(found["role"]), "", key, str(found["name"]), scopes)
        found = await self.kernel.call("auth.check", {"session": session})
        return Who(str(found["peer"]), str(found["role"]), session)

    def lang(self) -> Words:
        """The words for this request, or this WebSocket."""
        asked = request if has_request_context() else websocket
        return self.words[choose(asked.cookies.get("lang", ""), asked.headers.get("Accept-Language", ""))]

    def fragments(self) -> Fragments:
        """The pieces of page in this request's language."""
        return Fragments(self.templates, self.lang())

    async def door(self, *, status: int = 200) -> Response:
        """The login page; it asks for a password only where one is set.  Raises HomedError."""
        state = await self.kernel.call("auth.state", {})
        return self.page("login.html", status=status, password_set=bool(state["password_set"]))

    def page(self, template: str, *, status: int = 200, **values: object) -> Response:
        """A whole page from a template."""
        theme = request.cookies.get("theme", "")
        words = self.lang()
        html = self.templates.get_template(template).render(
            t=words, languages=LANGUAGES, theme=theme if theme in ("light", "dark") else "", **values
        )
        return answer(html, status=status, kind="text/html; charset=utf-8")


def who() -> Who:
    """The person of this request; only for routes behind the login."""
    found = g.get("who")
    if found is None:
        raise Denied("Nobody is logged in.")
    return cast(Who, found)


def answer(body: str, *, status: int = 200, kind: str = "application/json") -> Response:
    """A response that no cache keeps."""
    made = Response(body, status=status, content_type=kind)
    made.headers["Cache-Control"] = "no-store"
    return made


def reply(value: object, *, status: int = 200) -> Response:
    """``value`` as a JSON response."""
    return answer(json.dumps(value, ensure_ascii=False), status=status)


def streamed(parts: AsyncIterator[bytes]) -> Response:
    """A response that takes as long as its reader does.  Who asks for its head alone gets that; nothing is begun."""
    response = Response(b"" if request.method == "HEAD" else parts)
    if request.method == "HEAD":
        del response.headers["Content-Length"]  # it would be that of nothing
    response.headers["Cache-Control"] = "no-store"
    response.timeout = None
    return response


def problem(status: int, code: str, message: str, hint: str = "", *, param: str = "", needs: str = "") -> Response:
    """An error as a JSON response, below ``/v1`` in the form of the clients there; ``param``: what was wrong of it,
    ``needs``: what to ask the person for, to try again with (``reason``)."""
    if has_request_context() and request.path.startswith(v1_shape.PREFIX + "/"):
        return reply(v1_shape.error(status, code, f"{message} {hint}".rstrip(), param), status=status)
    told = {"code": code, "message": message, "hint": hint, **({"needs": needs} if needs else {})}
    return reply({"error": told}, status=status)


def problem_of(error: HomedError, words: Words) -> Response:
    """One of our errors as a JSON response."""
    said = words.kernel.text
    code = "model_not_found" if error.detail.get("param") == "model" and error.code == "not_found" else error.code
    param = str(error.detail.get("param", ""))
    needs = str(error.detail.get("needs", ""))
    return problem(STATUS.get(error.code, 500), code, said(error.message), said(error.hint), param=param, needs=needs)


def parsed(data: bytes) -> object:
    """The JSON value of these bytes.  Raises InvalidInput: no UTF-8, no JSON (NaN is none), or nested without end."""
    with suppress(ValueError, RecursionError):
        return json.loads(data.decode(), parse_constant=_refused)
    raise InvalidInput("The body must be a JSON object.")


def _refused(name: str) -> object:
    raise ValueError(name)
