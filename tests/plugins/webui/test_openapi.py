"""The OpenAPI document says what the application does, no more and no less."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from plugins.webui import answered, answered_kept, answered_memory, answered_settings, asked, asked_memory
from plugins.webui.context import STATUS, Site
from plugins.webui.guard import Guard
from plugins.webui.openapi import document
from plugins.webui.route import Route
from plugins.webui.routes import BY_ENDPOINT, EVERY_ROUTE, ROUTES
from plugins.webui.routes_memory import HOLO_ROUTES
from plugins.webui.web import create_app

from .client import browsing
from .standin import StandIn, furnished

DOCUMENT = document()
EVERY = EVERY_ROUTE


def test_every_route_of_the_application_is_in_it_and_the_reverse() -> None:
    kernel = StandIn()
    app = create_app(Site.build(kernel, kernel.hub, Guard(), port=8080))
    served = {
        (method.lower(), re.sub(r"<(?:any\([^)]*\):)?(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith(("/api/", "/v1/", "/holo/"))
    }
    told = {(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert served == told
    assert len(told) == len(EVERY) == len(BY_ENDPOINT)


def test_every_model_that_a_route_names_is_there_and_every_model_is_named() -> None:
    listed = (*ROUTES, *HOLO_ROUTES)
    bodies = {route.body for route in listed} | {route.query for route in listed} - {""}
    assert all(hasattr(asked, name) or hasattr(asked_memory, name) for name in bodies - {""})
    rooms = (answered, answered_settings, answered_kept, answered_memory)
    assert all(any(hasattr(room, route.answer) for room in rooms) for route in ROUTES if route.answer)
    models = {
        name
        for room in (asked, asked_memory)
        for name, cls in vars(room).items()
        if isinstance(cls, type) and cls.__module__ == room.__name__
    }
    assert models - {"Body", "Query"} == bodies - {""}


@pytest.mark.parametrize("route", EVERY, ids=lambda route: route.name)
def test_every_status_that_can_occur_is_told(route: Route) -> None:
    told = DOCUMENT["paths"][route.prefix + route.path][route.method.lower()]["responses"]
    assert {str(status) for status in route.statuses} <= told.keys()
    assert {str(status) for status in STATUS.values()} | {"401", "408", "413", "415", "421", "500"} <= told.keys()


def test_who_may_ask_is_told() -> None:
    for route in EVERY:
        told = DOCUMENT["paths"][route.prefix + route.path][route.method.lower()]
        session, key = {"session": []}, {"key": []}  # type: dict[str, list[str]], dict[str, list[str]]
        wanted = {"open": [], "session": [session]}.get(route.scope, [key] if route.by_key else [session, key])
        assert told["security"] == wanted
        assert told.get("x-scope", "") == ("" if route.scope in ("open", "session") else route.scope)
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"session", "key"}


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(value) for value in part.values()))
    return set().union(*(references(value) for value in part)) if isinstance(part, list) else set()


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    for reference in references(DOCUMENT):
        place: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    json.dumps(DOCUMENT)


async def test_the_document_is_served_to_who_is_known() -> None:
    async with browsing(furnished(StandIn())) as browser:
        answer = await browser.get("/api/v1/openapi.json")
        assert answer.json == DOCUMENT
        browser.session = ""
        assert (await browser.get("/api/v1/openapi.json")).status == 401
