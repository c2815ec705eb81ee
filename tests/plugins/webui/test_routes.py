"""The table of routes: complete, without doubles, and no scope left to chance."""

from __future__ import annotations

from plugins.webui.bodies import MAX_BODY
from plugins.webui.routes import BY_ENDPOINT, MAX_PACKAGE, MAX_UPLOAD, ROUTES, V1_ROUTES


def test_no_two_routes_are_one() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES) == len(BY_ENDPOINT) - len(V1_ROUTES)


def test_only_uploads_are_large_and_only_changes_have_bodies() -> None:
    assert {route.name: route.limit for route in ROUTES if route.limit != MAX_BODY} == {
        "upload": MAX_UPLOAD, "package_send": MAX_PACKAGE,
    }  # fmt: skip
    for route in ROUTES:
        assert (route.method == "POST") == (route.takes != "nothing"), route.name
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
