"""Host, Origin and content type: who may knock at all."""

from __future__ import annotations

import pytest

from plugins.webui.guard import HEADERS, Guard

LOCAL = Guard()
WIDE = Guard.of(wide=True, names=["Home.Example."])
JSON = {"Host": "localhost:8080", "Content-Type": "application/json"}


def status(guard: Guard, method: str, path: str = "/api/v1/chat", **headers: str) -> int:
    """The status of the refusal, 200 without one.  Header names with ``_`` for ``-``."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    refused = guard.check(method, path, lambda name, default: given.get(name, default))
    return refused.status if refused else 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "127.0.0.1:9", "[::1]:8080", "LOCALHOST", "localhost."]
)
def test_its_own_names_are_known(host: str) -> None:
    assert LOCAL.knows(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "a@localhost@b",
        "localhost:x",
        "[::1",
        "evil.example#localhost",
        "evil.example/localhost",
        "localhost/evil.example",
        "evil.example@localhost",
    ],
)
def test_any_other_name_is_refused(host: str) -> None:
    """D5: DNS rebinding."""
    assert status(LOCAL, "GET", Host=host) == 421


def test_a_wide_page_answers_to_addresses_and_configured_names() -> None:
    assert WIDE.knows("192.168.1.5:8080")
    assert WIDE.knows("home.example")
    assert not WIDE.knows("evil.example")


def test_a_change_needs_json() -> None:
    """D5: a body-less or form POST is refused."""
    assert status(LOCAL, "POST", **JSON) == 200
    assert status(LOCAL, "POST", Host="localhost") == 415
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"):
        assert status(LOCAL, "POST", Host="localhost", Content_Type=kind) == 415
    assert status(LOCAL, "POST", Host="localhost", Content_Type="application/json; charset=utf-8") == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "BREW"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000", "http://localhost", "x"])
def test_a_change_from_another_origin_is_refused(method: str, origin: str) -> None:
    """D5: another port of localhost is another page, though the browser calls it the same site."""
    assert status(LOCAL, method, **JSON, Origin=origin) == 403


def test_a_change_from_this_page_or_from_no_browser_goes_on() -> None:
    assert status(LOCAL, "POST", **JSON, Origin="http://localhost:8080") == 200
    assert status(LOCAL, "POST", **JSON) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_fetch_metadata_of_another_page_is_refused(site: str) -> None:
    assert status(LOCAL, "POST", **JSON, Sec_Fetch_Site=site) == 403
    assert status(LOCAL, "GET", Host="localhost", Sec_Fetch_Site=site) == 403
    assert status(LOCAL, "GET", "/", Host="localhost", Sec_Fetch_Site=site) == 200, "a link to the page itself"


def test_the_policy_runs_no_inline_script_and_no_frame() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
