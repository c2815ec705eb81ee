"""The web application: made from the table of routes, with the door before it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio
from quart import Blueprint, Response, has_request_context, request, websocket
from quart.routing import QuartRule
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from homed.errors import HomedError
from homed.sdk.clients import Clients

from .api_admin import AdminApi
from .api_chat import ChatApi
from .api_console import ConsoleApi
from .api_files import FilesApi
from .api_kept import KeptApi
from .api_login import LoginApi
from .api_packages import PackagesApi
from .api_records import RecordsApi
from .api_settings import SettingsApi
from .api_usage import UsageApi
from .api_v1 import V1Api
from .bodies import Body, BoundedConnection, BoundedRequest
from .context import FOLDER, Site, parsed, problem, reply
from .door import Door
from .pages import Pages
from .route import HOLO, PREFIX, V1, Route
from .routes import EVERY_ROUTE, ROUTES, V1_ROUTES
from .routes_memory import HOLO_ROUTES
from .websocket import SocketApi

log = logging.getLogger(__name__)

CODES = {404: "not_found", 408: "timeout", 413: "too_large"}
"""Statuses of the application's own errors → the codes that go with them; any other is ``invalid``."""

Handler = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class View:
    """One route at work: reads what is asked, checks it, and has it answered."""

    site: Site
    route: Route
    handler: Handler

    async def __call__(self, **path: str) -> Response:
        """Answer a request.  Raises InvalidInput for what is not as the route's models say."""
        given: dict[str, object] = dict(path)
        if self.route.query or self.route.body:
            asked = await self.site.schemas.asked()
            if self.route.query:
                query = await self.site.schemas.model(self.route.query)
                given["query"] = asked.read(query, request.args.to_dict())
            if self.route.body:
                body = request.body
                assert isinstance(body, Body)
                data = await body.whole(self.route.limit)
                value = parsed(b"{}" if self.route.method == "DELETE" and not data else data)
                body_ = asked.read(await self.site.schemas.model(self.route.body), value)
                given |= {"body": body_} if self.route.body != "Empty" else {}
        return await self.handler(**given)


class MatchedRule(QuartRule):
    """A rule whose way back, from an endpoint to an address, is made only when an address is asked for.

    None is here: every page writes the addresses that it links to.  Werkzeug compiles two functions a rule for it,
    which is most of what it takes to make the application."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder

        def build(rule: QuartRule, *args: object, **values: object) -> tuple[str, str]:
            return compiled(append_unknown)(rule, *args, **values)

        return build


class App(QuartTrio):
    """Quart on Trio, with bodies that are bounded as they come."""

    asgi_http_class = BoundedConnection
    request_class = BoundedRequest
    url_rule_class = MatchedRule  # type: ignore[assignment]  # Flask's declaration stands beside Quart's


async def _http(error: HTTPException) -> Response:
    await trio.lowlevel.checkpoint()
    status = error.code or 500
    made = problem(status, CODES.get(status, "invalid"), error.description or error.name)
    for name, value in error.get_headers():
        if name.lower() == "allow":
            made.headers["Allow"] = value
    return made


async def _unforeseen(error: Exception) -> Response:
    await trio.lowlevel.checkpoint()
    asked = request if has_request_context() else websocket
    log.error("a request failed: %s %s", asked.method, asked.path, exc_info=error)
    return problem(500, "internal", "Something went wrong in the page's own code.", "Its log has the details.")


def handlers(site: Site, socket: SocketApi) -> dict[str, Handler]:
    """Endpoint name → what answers it, for every route of the table."""

    async def openapi() -> Response:
        return reply(await site.schemas.document())

    found: dict[str, Handler] = {"openapi": openapi, "socket": socket.upgrade}
    parts = (
        LoginApi(site), ChatApi(site), FilesApi(site), AdminApi(site), SettingsApi(site), UsageApi(site),
        KeptApi(site), RecordsApi(site), ConsoleApi(site),
        PackagesApi(site), V1Api(site),
    )  # fmt: skip
    for part in parts:
        names = {route.same_as or route.name for route in EVERY_ROUTE} - found.keys()
        found |= {name: getattr(part, name) for name in names if hasattr(part, name)}
    return found


def create_app(site: Site, clients: Clients | None = None) -> QuartTrio:
    """The application for this site.  Serves nothing by itself."""
    app = App("webui", root_path=str(FOLDER), static_folder=str(FOLDER / "static"), static_url_path="/static")
    app.config["MAX_CONTENT_LENGTH"] = None  # each route has its own limit
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.url_map.merge_slashes = False  # a path is what it is, or nothing: no redirects
    door = Door(site)
    app.before_request(door.enter)
    app.before_websocket(door.enter_socket)
    app.after_request(door.leave)
    app.after_websocket(door.leave_socket)  # type: ignore[type-var]  # it takes None, too
    app.register_error_handler(HomedError, door.ours)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unforeseen)
    socket = SocketApi(site, clients or Clients(site.kernel))
    answering = handlers(site, socket)
    for name, prefix, routes in (("api", PREFIX, ROUTES), ("v1", V1, V1_ROUTES), ("holo", HOLO, HOLO_ROUTES)):
        part = Blueprint(name, __name__, url_prefix=prefix)
        for route in routes:
            view = View(site, route, answering[route.same_as or route.name])
            part.add_url_rule(
                route.rule, route.name, view.__call__, methods=[route.method], provide_automatic_options=False
            )
        if name == "api":
            part.add_websocket("/socket", "line", socket.serve)
        app.register_blueprint(part)
    login = Blueprint("login", __name__)
    login.add_url_rule("/login", "page", LoginApi(site).page)
    app.register_blueprint(login)
    app.register_blueprint(Pages(site).blueprint())
    return app
