"""Coming in by a link's secret or a password, and going."""

from __future__ import annotations

import pytest

from .client import COOKIE, browsing


async def test_a_links_secret_lets_in_once() -> None:
    async with browsing() as browser:
        browser.session = ""
        answer = await browser.post("/api/v1/login", {"secret": "open-sesame"})
        assert answer.status == 200
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"{COOKIE}=session-")
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Path=/" in cookie
        assert "session" not in answer.body
        browser.session = cookie.partition("=")[2].partition(";")[0]
        assert (await browser.get("/api/v1/status")).status == 200
        again = await browser.post("/api/v1/login", {"secret": "open-sesame"})
        assert again.status == 401
        assert "Set-Cookie" not in again.headers


async def test_a_password_lets_in_and_a_wrong_one_does_not() -> None:
    async with browsing() as browser:
        browser.session, browser.kernel.password = "", "right"
        assert (await browser.post("/api/v1/login", {"password": "wrong"})).status == 401
        assert (await browser.post("/api/v1/login", {"password": "right"})).status == 200
        assert (await browser.post("/api/v1/login", {})).status == 400


@pytest.mark.parametrize(("origin", "secure"), [("http://localhost:8080", False), ("https://localhost:8080", True)])
async def test_behind_a_proxy_that_speaks_tls_the_cookie_is_secure(origin: str, secure: bool) -> None:
    async with browsing() as browser:
        browser.session = ""
        answer = await browser.post("/api/v1/login", {"secret": "open-sesame"}, Origin=origin)
        assert ("Secure" in answer.headers["Set-Cookie"]) is secure


async def test_wrong_passwords_are_soon_asked_to_wait() -> None:
    async with browsing() as browser:
        browser.session, browser.kernel.password = "", "right"
        statuses = [(await browser.post("/api/v1/login", {"password": f"wrong {n}"})).status for n in range(25)]
        assert statuses[:20] == [401] * 20
        assert statuses[-1] == 429


async def test_a_secret_in_the_url_is_not_looked_at() -> None:
    """D5: no secret in a URL or by GET."""
    async with browsing() as browser:
        browser.session = ""
        assert (await browser.get("/login?secret=open-sesame")).status == 200
        assert (await browser.get("/api/v1/login?secret=open-sesame")).status == 405
        assert {method for method, _ in browser.kernel.calls} <= {"auth.state"}


async def test_the_door_asks_for_a_password_only_where_one_is_set() -> None:
    async with browsing() as browser:
        browser.session = ""
        for path in ("/login", "/models"):
            body = (await browser.get(path)).body
            assert "homed link" in body
            assert "<input" not in body
            assert 'data-lang="zh"' in body
        browser.kernel.password = "right"
        assert 'type="password"' in (await browser.get("/login")).body


async def test_who_logs_out_is_out_in_the_kernel_too() -> None:
    async with browsing() as browser:
        answer = await browser.post("/api/v1/logout")
        assert answer.status == 200
        assert f"{COOKIE}=;" in answer.headers["Set-Cookie"]
        assert (await browser.get("/api/v1/status")).status == 401
