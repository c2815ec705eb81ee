"""The table of routes: complete, without doubles, and no scope left to chance."""

from __future__ import annotations

from plugins.webui.bodies import MAX_BODY
from plugins.webui.routes import BY_ENDPOINT, EVERY_ROUTE, MAX_PACKAGE, MAX_UPLOAD, ROUTES, V1_ROUTES
from plugins.webui.routes_memory import HOLO_ROUTES, MEMORY_ROUTES


def test_no_two_routes_are_one() -> None:
    places = {(route.method, route.prefix, route.path) for route in EVERY_ROUTE}
    assert len(places) == len(EVERY_ROUTE) == len(BY_ENDPOINT) == len(ROUTES) + len(V1_ROUTES) + len(HOLO_ROUTES)


def test_only_uploads_are_large_and_only_changes_have_bodies() -> None:
    assert {route.name: route.limit for route in ROUTES if route.limit != MAX_BODY} == {
        "upload": MAX_UPLOAD, "package_send": MAX_PACKAGE,
    }  # fmt: skip
    for route in ROUTES:
        bodies = {"POST", "PUT"} | ({"DELETE"} if route.room == "memory" else set())
        assert (route.method in bodies) == (route.takes != "nothing"), route.name
        assert (route.takes == "json") == bool(route.body), route.name


def test_whatever_administers_needs_admin_and_only_the_login_is_open() -> None:
    rooms = {"plugins", "models", "settings", "persona", "usage", "changes", "keys", "doctor", "packages"}
    for route in ROUTES:
        room = route.path.split("/")[1]
        assert (route.scope == "admin") == (room in rooms), route.name
        assert (route.scope == "open") == (route.name == "login"), route.name


def test_an_action_is_one_of_those_there_are() -> None:
    rules = {route.name: route.rule for route in ROUTES}
    assert rules["plugin_do"] == "/plugins/<name>/<any(start,stop,enable,disable,reload):action>"
    assert rules["export"] == "/threads/<thread>/export"


def test_what_programs_use_is_opened_by_keys_of_the_scope_chat_alone() -> None:
    assert all(route.by_key and route.scope == "chat" for route in V1_ROUTES)
    assert not any(route.by_key for route in ROUTES)


def test_every_change_of_memory_says_that_it_is_one_and_what_only_reads_does_not() -> None:
    named = {route.name for route in EVERY_ROUTE if route.changes_memory}
    assert named == {route.name for route in (*MEMORY_ROUTES, *HOLO_ROUTES) if route.method != "GET"}
    assert all(route.scope == "memory" for route in (*MEMORY_ROUTES, *HOLO_ROUTES))


def test_the_originals_addresses_are_those_it_had() -> None:
    assert {f"{route.method} {route.prefix}{route.path}" for route in HOLO_ROUTES} == {
        "GET /holo/state", "GET /holo/records", "GET /holo/records/{record}", "DELETE /holo/records/{record}",
        "GET /holo/injections", "GET /holo/embedding", "PUT /holo/embedding", "POST /holo/embedding/probe",
        "POST /holo/doctor",
    }  # fmt: skip
