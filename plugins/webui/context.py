"""What every route needs, in one frozen value, and the ways in and out that routes share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from jinja2 import Environment
from quart import Response, g, request

from homed.errors import Denied, HomedError, InvalidInput

from .fragments import Fragments, environment
from .guard import Guard
from .hub import Hub
from .words import LANGUAGES, Words, choose, load

FOLDER = Path(__file__).parent
Data = Mapping[str, Any]

STATUS: Mapping[str, int] = {
    "invalid": 400, "config": 400, "denied": 403, "not_found": 404, "conflict": 409, "stopped": 409, "unavailable": 503,
    "timeout": 504, "plugin": 502, "storage": 507,
}  # fmt: skip
"""HTTP status of an error by its code; any other is 500."""


class KernelPort(Protocol):
    """The kernel as this plugin uses it; the SDK's has this shape."""

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        """Call a kernel method; raises HomedError.  Cancelling it cancels the call in the kernel."""


@dataclass(frozen=True, slots=True)
class Who:
    """The person behind a session."""

    peer: str
    role: str
    session: str

    @property
    def owner(self) -> bool:
        """True for the owner of this daemon."""
        return self.role == "owner"


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

    @classmethod
    def build(cls, kernel: KernelPort, hub: Hub, guard: Guard, *, port: int) -> Site:
        """A site with the templates of this package.  The cookie is named for the port, as cookies ignore ports."""
        words, templates = load(FOLDER / "strings"), environment(FOLDER / "templates")
        return cls(kernel, hub, guard, words, templates, cookie=f"homed_session_{port}")

    async def call(self, method: str, **params: object) -> Any:
        """Call a kernel method for the person of this request; raises HomedError."""
        given = {key: value for key, value in params.items() if value is not None}
        return await self.kernel.call(method, {"peer": who().peer, **given})

    def lang(self) -> Words:
        """The words for this request."""
        return self.words[choose(request.cookies.get("lang", ""), request.headers.get("Accept-Language", ""))]

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


def problem(status: int, code: str, message: str, hint: str = "") -> Response:
    """An error as a JSON response."""
    return reply({"error": {"code": code, "message": message, "hint": hint}}, status=status)


def problem_of(error: HomedError, words: Words) -> Response:
    """One of our errors as a JSON response."""
    said = words.kernel.text
    return problem(STATUS.get(error.code, 500), error.code, said(error.message), said(error.hint))


async def body() -> Data:
    """The JSON object sent with this request.  Raises InvalidInput."""
    given: object = None
    with suppress(ValueError, RecursionError):  # no UTF-8, no JSON, or nested without end
        given = json.loads(bytes(await request.body).decode())
    if not isinstance(given, Mapping):
        raise InvalidInput("The body must be a JSON object.")
    return given


def text(given: Data, key: str, *, limit: int = 2_000, required: bool = True) -> str:
    """A string of ``given``, at most ``limit`` characters.  Raises InvalidInput naming the field."""
    value = given.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{key!r} must be a string.")
    if len(value) > limit:
        raise InvalidInput(f"{key!r} is too long: {len(value)} characters, at most {limit}.")
    if required and not value.strip():
        raise InvalidInput(f"{key!r} is missing.")
    return value


def number(key: str, default: int, *, least: int, most: int) -> int:
    """A whole number from the query, kept between ``least`` and ``most``.  Raises InvalidInput."""
    given = request.args.get(key, "")
    if not given:
        return default
    if not given.isdecimal():
        raise InvalidInput(f"{key!r} must be a whole number.")
    return min(max(whole(given), least), most)


def whole(digits: str) -> int:
    """The number that these digits are, as far as 64 bits hold it: Python reads no more than 4300 of them."""
    return int(digits) if len(digits) < 19 else (1 << 63) - 1
