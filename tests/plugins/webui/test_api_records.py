"""Memory over REST: what is asked of the kernel, what every change has to bring, and the original's addresses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from plugins.webui.guard import MEMORY_HEADER
from plugins.webui.routes_memory import HOLO_ROUTES, MEMORY_ROUTES

from .client import Browser, browsing
from .standin import OWNER, StandIn, furnished
from .standin_records import furnished_records

ID = "fact_000000009f3c1a7b"
AT = f"/api/v1/memory/records/{ID}"
MEANT = {"X_Holo_Memory": "1"}
CHANGES = [route for route in (*MEMORY_ROUTES, *HOLO_ROUTES) if route.method != "GET"]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    kernel = furnished(StandIn())
    furnished_records(kernel)
    async with browsing(kernel) as made:
        yield made


def last(browser: Browser) -> tuple[str, dict[str, Any]]:
    """What the kernel was asked last, without by whom."""
    method, params = browser.kernel.calls[-1]
    return method, {key: value for key, value in params.items() if key != "peer"}


@pytest.mark.parametrize("route", CHANGES, ids=lambda route: route.name)
async def test_a_change_says_that_it_means_memory_in_json_and_from_here(browser: Browser, route: Any) -> None:
    path = route.prefix + route.path.replace("{", "").replace("}", "").replace("action", "hide")
    body = b"{}"
    json = {"Content_Type": "application/json"}
    for headers, status in (
        (json, 403),
        ({**json, "X_Holo_Memory": "0"}, 403),
        (MEANT, 415),
        ({**MEANT, "Content_Type": "text/plain"}, 415),
        ({**MEANT, **json, "Origin": "http://evil.example"}, 403),
        ({**MEANT, **json, "Origin": ""}, 403),
        ({**MEANT, **json, "Sec_Fetch_Site": "same-site"}, 403),
    ):
        answer = await browser.send(route.method, path, body, **headers)
        assert answer.status == status, headers
        assert answer.json["error"]["message"]
        if headers == json:
            assert MEMORY_HEADER in answer.json["error"]["hint"]
    assert browser.kernel.calls == [], "nothing of it came to the kernel"


async def test_a_key_needs_the_scope_memory_and_the_header_too(browser: Browser) -> None:
    browser.session = ""
    for scopes, headers, status in ((["memory"], MEANT, 200), (["memory"], {}, 403), (["chat"], MEANT, 403)):
        key = browser.kernel.admin_keys_add(OWNER, f"k{len(browser.kernel.api_keys)}", scopes)["key"]
        given = {"Authorization": f"Bearer {key}", **headers}
        assert (await browser.ask("POST", f"{AT}/hide", {}, **given)).status == status
        assert (await browser.get("/holo/state", Authorization=f"Bearer {key}")).status == (
            200 if scopes == ["memory"] else 403
        )


async def test_what_only_reads_needs_no_header_and_is_nothing_for_other_pages(browser: Browser) -> None:
    for path in ("/api/v1/memory/stats", "/holo/state", "/holo/records", "/api/v1/memory/cold", f"/holo/records/{ID}"):
        assert (await browser.get(path)).status == 200
        assert (await browser.get(path, Sec_Fetch_Site="cross-site")).status == 403


@pytest.mark.parametrize(
    ("method", "path", "body", "asked"),
    [
        ("GET", "/memory/records?record=l2&peer=p&untrusted=0&limit=5&status=&sort=cited", None,
         ("memory.records", {"record": "fact", "person": "p", "untrusted": False, "limit": 5, "sort": "cited"})),
        ("GET", f"/memory/records/{ID}?history=1", None, ("memory.record", {"id": ID, "history": True})),
        ("GET", f"/memory/records/{ID}", None, ("memory.record", {"id": ID, "history": False})),
        ("POST", "/memory/records", {"text": "x", "record": "l3", "title": "t", "tags": ["a"]},
         ("memory.note", {"text": "x", "record": "capsule", "title": "t", "tags": ["a"]})),
        ("POST", f"/memory/records/{ID}", {"revision": 3, "importance": 9.0},
         ("memory.edit", {"id": ID, "revision": 3, "importance": 9})),
        ("POST", f"/memory/records/{ID}/hide", {}, ("memory.hide", {"id": ID})),
        ("POST", f"/memory/records/{ID}/restore", {}, ("memory.restore", {"id": ID})),
        ("POST", "/memory/records/aaaa0001/reinstate", {}, ("memory.reinstate", {"id": "aaaa0001"})),
        ("POST", "/memory/combine", {"keep": ID, "gone": "fact_00000000aaaa0002"},
         ("memory.combine", {"keep": ID, "gone": "fact_00000000aaaa0002"})),
        ("DELETE", f"/memory/records/{ID}", {"wide": True},
         ("admin.memory_forget", {"kind": "fact", "target": ID, "wide": True})),
        ("POST", "/memory/preview", {"kind": "fact", "target": ID},
         ("admin.memory_preview", {"kind": "fact", "target": ID, "wide": False})),
        ("POST", "/memory/cold/ev_00000080/back", {}, ("memory.bring_back", {"event": "ev_00000080"})),
        ("POST", "/memory/merges/aaaa1111-bbbb2222/accept", {"keep": 2},
         ("admin.merges_accept", {"merge": "aaaa1111-bbbb2222", "keep": 2})),
        ("POST", "/memory/merges/aaaa1111-bbbb2222/reject", {},
         ("admin.merges_reject", {"merge": "aaaa1111-bbbb2222"})),
        ("POST", "/memory/merged/1/undo", {}, ("admin.merges_undo", {"done": 1})),
    ],
)  # fmt: skip
async def test_each_route_asks_the_kernel_for_what_it_says(
    browser: Browser, method: str, path: str, body: object, asked: tuple[str, dict[str, Any]]
) -> None:
    answer = await browser.ask(method, f"/api/v1{path}", body, **MEANT)
    assert answer.status == 200, answer.body
    assert last(browser) == asked


@pytest.mark.parametrize(
    ("method", "path", "body", "asked"),
    [
        ("GET", "/holo/records?layer=l1&q=tomato&cursor=30", None,
         ("memory.records", {"record": "summary", "query": "tomato", "before": "30", "limit": 30})),
        ("GET", f"/holo/records/{ID}?history=1", None, ("memory.record", {"id": ID, "history": True})),
        ("DELETE", f"/holo/records/{ID}", {},
         ("admin.memory_forget", {"kind": "fact", "target": ID, "wide": False})),
        ("GET", "/holo/injections?limit=3", None, ("memory.injections", {"limit": 3})),
        ("POST", "/holo/doctor", {"deep": True}, ("admin.memory_doctor", {"deep": True, "repair": False})),
    ],
)  # fmt: skip
async def test_the_originals_addresses_do_the_same(
    browser: Browser, method: str, path: str, body: object, asked: tuple[str, dict[str, Any]]
) -> None:
    answer = await browser.ask(method, path, body, **MEANT)
    assert answer.status == 200, answer.body
    assert last(browser) == asked


async def test_a_record_is_deleted_with_an_empty_body_too(browser: Browser) -> None:
    answer = await browser.send("DELETE", f"/holo/records/{ID}", None, Content_Type="application/json", **MEANT)
    assert (answer.status, answer.json["clean"]) == (200, True)
    assert (await browser.get(f"/holo/records/{ID}")).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (AT, {"text": "without a revision"}),
        (AT, {"revision": 3, "importance": 11}),
        (AT, {"revision": 3, "status": "hidden"}),
        ("/api/v1/memory/records", {"text": " "}),
        ("/api/v1/memory/records", {"text": "x", "tags": ["t"] * 9}),
        ("/api/v1/memory/combine", {"keep": ID, "gone": ID}),
        ("/api/v1/memory/forget", {"kind": "everything", "target": ID}),
    ],
)
async def test_what_does_not_fit_is_refused_before_the_kernel_hears_of_it(
    browser: Browser, path: str, body: dict[str, Any]
) -> None:
    browser.kernel.calls.clear()
    assert (await browser.post(path, body, **MEANT)).status == 400
    assert not [name for name, _ in browser.kernel.calls if name.startswith(("memory.", "admin.memory"))]


async def test_a_clash_and_a_secret_are_told_as_such(browser: Browser) -> None:
    clash = await browser.post(AT, {"revision": 1, "text": "old"}, **MEANT)
    assert (clash.status, clash.json["error"]["code"]) == (409, "conflict")
    secret = await browser.post(AT, {"revision": 3, "text": "password: hunter2"}, **MEANT)
    assert (secret.status, secret.json["error"]["message"]) == (400, "blocked: password")
    for path in ("/api/v1/memory/merged/x/undo", "/api/v1/memory/merged/0/undo", "/api/v1/memory/merged/²/undo"):
        assert (await browser.post(path, {}, **MEANT)).status == 404
