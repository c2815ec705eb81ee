"""What every answer carries, and what is read of a request."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from werkzeug.routing import Rule

from homed.errors import Denied, HomedError, NotFound, Unavailable
from plugins.webui.bodies import MAX_BODY
from plugins.webui.guard import HEADERS

from .client import browsing


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


async def test_an_address_can_be_built_and_none_is_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = Rule._compile_builder

    def counting(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled.append(rule.rule)
        return real(rule, append_unknown)

    monkeypatch.setattr(Rule, "_compile_builder", counting)
    async with browsing() as browser:
        assert compiled == []
        addresses = browser.app.url_map.bind("localhost:8080")
        assert addresses.build("api.rename", {"thread": "a b", "x": "1"}, method="POST") == "/api/v1/threads/a%20b?x=1"
        assert addresses.build("static", {"filename": "css/base.css"}) == "/static/css/base.css"
        assert compiled == ["/api/v1/threads/<thread>", "/static/<path:filename>"]


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
async def test_a_number_without_end_is_no_fault_of_ours(path: str) -> None:
    async with browsing() as browser:
        browser.kernel.open_talk("t")
        big, endless = [(await browser.get(path + digits)).status for digits in ("9" * 18, "9" * 5000)]
        assert {endless, big} <= {400, 404}


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
