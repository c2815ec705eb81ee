"""Who is let in, on every route there is; and what every answer carries."""

from __future__ import annotations

import pytest

from homed.errors import Denied, HomedError, NotFound, Unavailable
from plugins.webui.context import Site
from plugins.webui.guard import HEADERS, Guard
from plugins.webui.web import MAX_BODY, OPEN, create_app

from .client import browsing
from .standin import StandIn


def routes() -> list[tuple[str, str, str]]:
    """(method, path, endpoint) of every route."""
    kernel = StandIn()
    rules = create_app(Site.build(kernel, kernel.hub, Guard(), port=8080)).url_map.iter_rules()
    found = []
    for rule in rules:
        path = rule.rule
        for name in rule.arguments:
            path = path.replace(f"<{name}>", "x").replace(f"<path:{name}>", "css/base.css")
        found += [(method, path, rule.endpoint) for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})]
    return found


CLOSED = [(method, path) for method, path, endpoint in routes() if endpoint not in OPEN]


def test_only_login_and_static_files_are_open() -> None:
    assert {(method, path) for method, path, endpoint in routes() if endpoint in OPEN} == {
        ("GET", "/login"),
        ("POST", "/api/v1/login"),
        ("GET", "/static/css/base.css"),
    }
    assert len(CLOSED) >= 20


@pytest.mark.parametrize(("method", "path"), CLOSED)
@pytest.mark.parametrize("session", ["", "stolen"])
async def test_every_other_route_answers_401_without_a_session(method: str, path: str, session: str) -> None:
    """D5: 401 on every route but the login, and nothing reaches the kernel."""
    async with browsing() as browser:
        browser.session = session
        answer = await browser.ask(method, path, {} if method == "POST" else None)
        assert answer.status == 401
        assert {name for name, _ in browser.kernel.calls} <= {"auth.check", "auth.state"}
        if not path.startswith("/api/"):
            assert 'class="gate"' in answer.body, "a person gets the login page"


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in routes()])
async def test_every_route_refuses_a_foreign_host(method: str, path: str) -> None:
    """D5: DNS rebinding."""
    async with browsing() as browser:
        answer = await browser.ask(method, path, {} if method == "POST" else None, Host="evil.example")
        assert answer.status == 421
        assert browser.kernel.calls == []


@pytest.mark.parametrize("path", [path for method, path, _ in routes() if method == "POST"])
async def test_every_change_refuses_a_foreign_origin_and_anything_but_json(path: str) -> None:
    """D5: CSRF."""
    async with browsing() as browser:
        assert (await browser.post(path, Origin="http://evil.example")).status == 403
        assert (await browser.post(path, Origin="null")).status == 403
        assert (await browser.post(path, Origin="http://[::1")).status == 403
        assert (await browser.post(path, Content_Type="text/plain")).status == 415
        assert (await browser.ask("POST", path)).status == 415
        assert browser.kernel.calls == []


@pytest.mark.parametrize(
    "path", ["/", "/login", "/api/v1/status", "/api/v1/nothing", "/nothing", "/static/css/base.css"]
)
async def test_every_answer_carries_the_security_headers(path: str) -> None:
    async with browsing() as browser:
        answer = await browser.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers["Cache-Control"] == ("no-cache" if "static" in path else "no-store")


async def test_no_page_has_an_inline_script_or_style() -> None:
    async with browsing() as browser:
        talk = browser.kernel.open_talk("t")
        for path in ("/", f"/t/{talk.id}", "/plugins", "/models", "/settings", "/login", "/t/none"):
            body = (await browser.get(path)).body
            assert body.count("<script") == body.count('<script type="module" src="/static/js/')
            assert "<style" not in body
            assert " style=" not in body
            assert " on" not in {f" {word[:2]}" for word in body.split("<") if word.startswith("on")}


async def test_a_body_over_the_limit_is_refused() -> None:
    async with browsing() as browser:
        answer = await browser.post("/api/v1/chat", {"text": "x" * MAX_BODY, "client_msg_id": "m"})
        assert answer.status == 413


@pytest.mark.parametrize("body", [[], "x", 5, None])
async def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    async with browsing() as browser:
        answer = await browser.ask("POST", "/api/v1/chat", body, Content_Type="application/json")
        assert answer.status == 400
        assert answer.json["error"]["code"] == "invalid"


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a":' * 50_000, b"[" * 200_000, b'{"text":"\xff"}', b'{"n":' + b"9" * 5000 + b"}"]
)
@pytest.mark.parametrize("path", ["/api/v1/chat", "/api/v1/login"])
async def test_a_body_that_is_no_json_is_refused_and_fills_no_log(
    path: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with browsing() as browser:
        answer = await browser.send("POST", path, body, Content_Type="application/json")
        assert answer.status == 400
        assert answer.json["error"]["code"] == "invalid"
    assert caplog.text == ""


@pytest.mark.parametrize("path", ["/api/v1/threads?limit=", "/api/v1/chat/history?thread=t&before="])
async def test_a_number_without_end_is_a_big_number(path: str) -> None:
    async with browsing() as browser:
        browser.kernel.open_talk("t")
        big, endless = [(await browser.get(path + digits)).status for digits in ("9" * 18, "9" * 5000)]
        assert endless == big
        assert big != 500


@pytest.mark.parametrize(
    ("error", "status"),
    [(NotFound("x"), 404), (Denied("x"), 403), (Unavailable("x", hint="Wait."), 503), (HomedError("x"), 500)],
)
async def test_an_error_of_the_kernel_is_told_with_its_hint(error: HomedError, status: int) -> None:
    async with browsing() as browser:
        browser.kernel.fail["admin.status"] = error
        answer = await browser.get("/api/v1/status")
        assert answer.status == status
        assert answer.json["error"] == {"code": error.code, "message": "x", "hint": error.hint}


async def test_an_unforeseen_error_tells_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    async with browsing() as browser:
        browser.kernel.sources = [{"oops": "secret"}]
        answer = await browser.get("/models")
        assert answer.status == 500
        assert "secret" not in answer.body
        assert "a request failed: GET /models" in caplog.text
