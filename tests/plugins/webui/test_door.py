"""Who is let in, on every route there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plugins.webui.bodies import MAX_BODY
from plugins.webui.context import Site
from plugins.webui.door import OPEN
from plugins.webui.guard import Guard
from plugins.webui.limits import Buckets, Limits
from plugins.webui.route import Route
from plugins.webui.routes import BY_ENDPOINT, EVERY_ROUTE
from plugins.webui.web import create_app

from .client import Answer, Browser, browsing
from .standin import StandIn

OURS = "http://localhost:8080"
FORM = "application/x-www-form-urlencoded"


def routes() -> list[tuple[str, str, str]]:
    """(method, path, endpoint) of every route."""
    kernel = StandIn()
    found = []
    for rule in create_app(Site.build(kernel, kernel.hub, Guard(), port=8080)).url_map.iter_rules():
        path = rule.rule
        for name in rule.arguments:
            path = re.sub(rf"<any\((\w+)[^)]*\):{name}>", r"\1", path)
            path = path.replace(f"<{name}>", "x").replace(f"<path:{name}>", "css/base.css")
        if not rule.websocket:
            found += [(method, path, rule.endpoint) for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})]
    return found


def by_key(endpoint: str) -> bool:
    """Whether no session opens it."""
    return endpoint in BY_ENDPOINT and BY_ENDPOINT[endpoint].by_key


ALL = routes()
CHANGES = [one for one in ALL if one[0] != "GET" and not by_key(one[2])]


async def ask(browser: Browser, method: str, path: str, endpoint: str, **headers: str) -> Answer:
    """A request as the page would make it: with a body where the route takes one."""
    route = BY_ENDPOINT.get(endpoint)
    takes = route.takes if route else "nothing"
    if route and route.changes_memory:
        headers = {"X_Holo_Memory": "1", **headers}
    if takes == "file":
        return await browser.send(method, path, b"x", **{"Content_Type": "text/plain", "X_File_Name": "a", **headers})
    return await browser.ask(method, path, {} if takes == "json" else None, **headers)


def test_only_login_and_static_files_are_open() -> None:
    assert {(method, path) for method, path, endpoint in ALL if endpoint in OPEN} == {
        ("GET", "/login"),
        ("POST", "/api/v1/login"),
        ("GET", "/static/css/base.css"),
    }
    assert len(ALL) >= 35


@pytest.mark.parametrize(("method", "path", "endpoint"), [one for one in ALL if one[2] not in OPEN])
async def test_every_other_route_answers_401_to_a_stranger(method: str, path: str, endpoint: str) -> None:
    """D5: 401 on every route but the login, and nothing reaches the kernel."""
    wrong = [
        {"Authorization": f"Bearer hk_{'x' * 43}"},
        {"Authorization": "Bearer sk-12"},
        {"Authorization": "Basic x"},
    ]
    async with browsing() as browser:
        for session, headers in (("", {}), ("stolen", {}), *(("", one) for one in wrong)):
            browser.session = session
            answer = await ask(browser, method, path, endpoint, **headers)
            assert answer.status == 401
            if path.startswith("/v1/"):
                assert answer.json["error"]["code"] == "invalid_api_key"
            elif not path.startswith(("/api/", "/holo/")):
                assert 'class="gate"' in answer.body, "a person gets the login page"
        assert {name for name, _ in browser.kernel.calls} <= {"auth.check", "auth.key", "auth.state"}


@pytest.mark.parametrize(("method", "path", "endpoint"), ALL)
async def test_every_route_refuses_a_foreign_host(method: str, path: str, endpoint: str) -> None:
    """D5: DNS rebinding."""
    async with browsing() as browser:
        for host in ("evil.example", "localhost.evil.example:8080", "localhost@evil.example", ""):
            answer = await ask(browser, method, path, endpoint, Host=host, Origin=f"http://{host}")
            assert answer.status == 421, host
        assert browser.kernel.calls == []


@pytest.mark.parametrize(("method", "path", "endpoint"), ALL)
async def test_every_route_refuses_a_foreign_origin(method: str, path: str, endpoint: str) -> None:
    """D5: another page, another port of this machine included, and with a key in hand too."""
    async with browsing() as browser:
        for origin in ("http://evil.example", "null", "http://[::1", "http://localhost:9090", "http://localhost"):
            for more in ({}, {"Authorization": "Bearer hk_" + "0" * 43}):
                answer = await ask(browser, method, path, endpoint, **more, Origin=origin)
                assert answer.status == 403, origin
        assert browser.kernel.calls == []


@pytest.mark.parametrize(("method", "path", "endpoint"), CHANGES)
async def test_every_change_by_a_session_says_which_page_it_comes_from(method: str, path: str, endpoint: str) -> None:
    async with browsing() as browser:
        assert (await ask(browser, method, path, endpoint, Origin="")).status == 403
        assert (await ask(browser, method, path, endpoint, Origin="", Sec_Fetch_Site="cross-site")).status == 403
        assert (await ask(browser, method, path, endpoint, Origin="", Sec_Fetch_Site="same-site")).status == 403
        assert browser.kernel.calls == []
        assert (await ask(browser, method, path, endpoint, Origin="", Sec_Fetch_Site="same-origin")).status != 403


@pytest.mark.parametrize(("method", "path", "endpoint"), ALL)
async def test_every_route_refuses_an_oversized_body(method: str, path: str, endpoint: str) -> None:
    route = BY_ENDPOINT.get(endpoint)
    limit = route.limit if route else MAX_BODY
    async with browsing() as browser:
        kind = "text/plain" if route and route.takes == "file" else "application/json"
        given = {"Content_Type": kind, "X_File_Name": "a", "X_Holo_Memory": "1", "Content_Length": str(limit + 1)}
        answer = await browser.send(method, path, b"", **given)
        assert answer.status == 413
        assert browser.kernel.calls == []


@pytest.mark.parametrize(("path", "endpoint"), [(path, endpoint) for method, path, endpoint in ALL if method == "POST"])
async def test_every_post_refuses_what_a_form_can_send(path: str, endpoint: str, tmp_path: Path) -> None:
    """D5: a form, a text, or nothing at all is no change."""
    takes_file = BY_ENDPOINT[endpoint].takes == "file"
    refused = {400, 415} if takes_file else {415}
    kernel = StandIn()
    kernel.folder = tmp_path
    async with browsing(kernel) as browser:
        for kind in (FORM, "multipart/form-data; boundary=x", "text/plain", "TEXT/PLAIN; charset=utf-8"):
            assert (await browser.send("POST", path, b"a=1", Content_Type=kind)).status in refused, kind
        assert (await browser.send("POST", path, None)).status == 415
        if takes_file:
            assert (await browser.send("POST", path, b"a", Content_Type=FORM, X_File_Name="a")).status == 415
        assert browser.kernel.calls == []
        meant = {"Content_Type": "application/json", "X_File_Name": "a", "X_Holo_Memory": "1"}
        empty = await browser.send("POST", path, None, **meant)
        assert empty.status == (401 if by_key(endpoint) else 400), "a POST without a body is none"


# -- keys


def key_of(browser: Browser, *scopes: str) -> dict[str, str]:
    made = browser.kernel.admin_keys_add("webui:owner", f"k{len(browser.kernel.api_keys)}", list(scopes))
    return {"Authorization": f"Bearer {made['key']}"}


def named(route: Route) -> str:
    """The route's path with something in its places; of a thread that is not there no stream begins."""
    found = {name: choices[0] for name, choices in route.choices.items()}
    return route.prefix + re.sub(r"{(\w+)}", lambda match: found.get(match[1], "x"), route.path) + "?thread=x"


@pytest.mark.parametrize("route", EVERY_ROUTE, ids=lambda route: route.name)
async def test_a_key_opens_what_its_scopes_say_and_nothing_else(route: Route) -> None:
    for scopes in (["chat"], ["memory"], ["admin"], ["chat", "memory", "admin"]):
        async with browsing() as browser:
            browser.session = ""
            answer = await ask(browser, route.method, named(route), route.endpoint, **key_of(browser, *scopes))
            if route.scope == "session":
                assert answer.status == 403
            elif route.scope in ("any", "open") or route.scope in scopes:
                assert answer.status not in (401, 403) or route.name == "login", answer.body
            else:
                assert answer.status == 403
                assert {name for name, _ in browser.kernel.calls} == {"auth.key"}


async def test_a_key_needs_no_origin_and_no_cookie_and_opens_no_page() -> None:
    async with browsing() as browser:
        browser.session = ""
        key = key_of(browser, "chat")
        said = await browser.ask("POST", "/api/v1/chat", {"text": "hi", "client_msg_id": "m"}, **key)
        assert said.status == 202
        assert (await browser.get("/", **key)).status == 401
        wrong = await browser.get("/api/v1/threads", Authorization=key["Authorization"].upper())
        assert (wrong.status, "API key" in wrong.body) == (401, True)
        assert (await browser.get("/api/v1/nosuch", **key)).status == 404, "the key is not to blame"
        assert (await browser.get("/api/v1/nosuch")).status == 401


async def test_only_a_key_with_admin_manages_keys() -> None:
    new = {"name": "other", "scopes": ["admin"]}
    async with browsing() as browser:
        browser.session = ""
        for scopes, status in ((["chat", "memory"], 403), (["admin"], 201)):
            assert (await browser.ask("POST", "/api/v1/keys", new, **key_of(browser, *scopes))).status == status


async def test_a_key_is_shown_once_and_stops_working_when_it_is_removed() -> None:
    async with browsing() as browser:
        made = (await browser.post("/api/v1/keys", {"name": "phone", "scopes": ["chat"]})).json
        listed = await browser.get("/api/v1/keys")
        assert made["key"].startswith("hk_")
        assert made["key"] not in listed.body
        assert [one["name"] for one in listed.json["keys"]] == ["phone"]
        bearer = {"Authorization": f"Bearer {made['key']}"}
        session, browser.session = browser.session, ""
        assert (await browser.get("/api/v1/threads", **bearer)).status == 200
        browser.session = session
        assert (await browser.ask("DELETE", "/api/v1/keys/phone")).status == 200
        assert (await browser.ask("DELETE", "/api/v1/keys/phone")).status == 404
        browser.session = ""
        assert (await browser.get("/api/v1/threads", **bearer)).status == 401


# -- limits


def limited(limits: Limits) -> Site:
    kernel = StandIn()
    built = Site.build(kernel, kernel.hub, Guard(), port=8080)
    return Site(built.kernel, built.hub, built.guard, built.words, built.templates, built.cookie, limits=limits)


async def statuses(site: Site, count: int, session: str, **headers: str) -> list[int]:
    kernel = site.kernel
    assert isinstance(kernel, StandIn)
    browser = Browser(create_app(site), kernel, session)
    answers = [await browser.get("/api/v1/threads", **headers) for _ in range(count)]
    for answer in answers:
        if answer.status == 429:
            assert int(answer.headers["Retry-After"]) >= 1
            assert answer.json["error"]["code"] == "too_many"
    return [answer.status for answer in answers]


async def test_one_peer_cannot_ask_without_end() -> None:
    site = limited(Limits(requests=Buckets(3, 0.001)))
    assert await statuses(site, 5, "session-1") == [200, 200, 200, 429, 429]


async def test_a_stranger_cannot_ask_without_end_and_holds_up_nobody() -> None:
    site = limited(Limits(strangers=Buckets(2, 0.001)))
    assert await statuses(site, 4, "") == [401, 401, 429, 429]
    assert await statuses(site, 1, "session-1") == [200]


async def test_keys_cannot_be_tried_without_end() -> None:
    site = limited(Limits(guesses=Buckets(2, 0.001)))
    assert await statuses(site, 4, "", Authorization="Bearer hk_" + "a" * 43) == [401, 401, 429, 429]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
async def test_a_method_that_a_path_does_not_have_is_405_and_says_which_it_has(method: str) -> None:
    async with browsing() as browser:
        for session in ("session-1", ""):
            browser.session = session
            answer = await browser.send(method, "/api/v1/status", None)
            assert answer.status == 405
            assert "GET" in answer.headers["Allow"]
        assert (await browser.send(method, "/api/v1/status", None, Host="evil.example")).status == 421
