"""Installing through REST: looked at first, installed with what was ticked, and nothing kept that is not wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.homed.wire.zips import good
from tests.sdk.web import serving

from .client import Answer, Browser, browsing
from .standin import StandIn, furnished

FILE = {"X_File_Name": "hello.hmap", "Content_Type": "application/octet-stream"}


def kernel(tmp_path: Path) -> StandIn:
    made = furnished(StandIn())
    made.folder = tmp_path / "held"
    return made


async def sent(browser: Browser, path: Path, **headers: str) -> Answer:
    data = await trio.Path(path).read_bytes()
    return await browser.send("POST", "/api/v1/packages", data, **{**FILE, **headers})


def held(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "held").glob("*"))


async def test_what_is_sent_is_looked_at_and_installed_with_what_was_ticked(tmp_path: Path) -> None:
    package = good(tmp_path / "hello.hmap", capabilities=["io", "events.notices", "admin"])
    async with browsing(kernel(tmp_path)) as browser:
        answer = await sent(browser, package)
        assert answer.status == 201
        review = answer.json
        assert (review["name"], review["refused"]) == ("hello", "")
        assert [(one["name"], one["allowed"]) for one in review["capabilities"]] == [
            ("io", True), ("events.notices", True), ("admin", False),
        ]  # fmt: skip
        assert browser.kernel.installed == []
        assert held(tmp_path) == [f"{review['package']}.hmap"]
        assert (tmp_path / "held" / held(tmp_path)[0]).stat().st_mode & 0o777 == 0o600
        place = f"/api/v1/packages/{review['package']}/install"
        wrong = await browser.post(place, {"sha256": "0" * 64, "grant": []})
        assert wrong.status == 400
        beyond = await browser.post(place, {"sha256": review["sha256"], "grant": ["admin"]})
        assert beyond.status == 403
        done = await browser.post(place, {"sha256": review["sha256"], "grant": ["io"]})
        assert done.status == 200
        assert done.json["note"] == "hello 1.0 runs. What it offers can be used from now on."
        assert browser.kernel.installed == [{"name": "hello", "grant": ["io"], "source": "hello.hmap"}]
        assert held(tmp_path) == []
        assert (await browser.post(place, {"sha256": review["sha256"], "grant": []})).status == 404


async def test_in_chinese_homeds_own_words_are_chinese(tmp_path: Path) -> None:
    package = good(tmp_path / "hello.hmap", capabilities=["io"], stages=[{"stage": "on_input"}])
    async with browsing(kernel(tmp_path)) as browser:
        review = (await sent(browser, package, Cookie="lang=zh")).json
        assert "对话" in review["capabilities"][0]["what"]
        assert "每一轮" in review["warnings"][0]
        assert review["description"] == "Says hello."


async def test_what_is_no_package_is_refused_and_not_kept(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"rubbish")
    async with browsing(kernel(tmp_path)) as browser:
        answer = await sent(browser, tmp_path / "bad")
        assert answer.status == 400
        assert "is no package" in answer.json["error"]["message"]
        assert held(tmp_path) == []


async def test_what_is_not_wanted_is_deleted(tmp_path: Path) -> None:
    async with browsing(kernel(tmp_path)) as browser:
        review = (await sent(browser, good(tmp_path / "a.hmap"))).json
        assert (await browser.ask("DELETE", f"/api/v1/packages/{review['package']}")).status == 200
        assert held(tmp_path) == []
        assert (await browser.ask("DELETE", f"/api/v1/packages/{review['package']}")).status == 200


async def test_only_so_many_lie_about(tmp_path: Path) -> None:
    async with browsing(kernel(tmp_path)) as browser:
        package = good(tmp_path / "a.hmap")
        assert [(await sent(browser, package)).status for _ in range(5)] == [201] * 4 + [429]
        assert len(held(tmp_path)) == 4


async def test_an_address_is_downloaded_here_and_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = good(tmp_path / "a.hmap")
    with serving(tmp_path) as web:
        monkeypatch.setenv("SSL_CERT_FILE", str(web.certificate))
        url = web.file("/a.hmap", package.read_bytes())
        async with browsing(kernel(tmp_path)) as browser:
            answer = await browser.post("/api/v1/packages/fetch", {"url": f"{url}?token=secret"})
            assert answer.status == 201
            given = {"sha256": answer.json["sha256"], "grant": []}
            await browser.post(f"/api/v1/packages/{answer.json['package']}/install", given)
            assert browser.kernel.installed[0]["source"] == url
            missing = await browser.post("/api/v1/packages/fetch", {"url": web.url("/none")})
            assert (missing.status, "404" in missing.body) == (503, True)
            assert held(tmp_path) == []


@pytest.mark.parametrize("url", ["http://example.org/a.hmap", "file:///etc/passwd", "", "https://", "javascript:x"])
async def test_only_https_is_downloaded(tmp_path: Path, url: str) -> None:
    async with browsing(kernel(tmp_path)) as browser:
        assert (await browser.post("/api/v1/packages/fetch", {"url": url})).status == 400
        assert held(tmp_path) == []


@pytest.mark.parametrize("name", ["..", "../../etc/passwd", "%2e%2e%2fx", "0" * 16, "a.hmap"])
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    async with browsing(kernel(tmp_path)) as browser:
        for answer in (
            await browser.post(f"/api/v1/packages/{name}/install", {"sha256": "0" * 64, "grant": []}),
            await browser.ask("DELETE", f"/api/v1/packages/{name}"),
        ):
            assert answer.status in (200, 404, 405, 415)
        assert browser.kernel.installed == []


async def test_a_plugin_is_looked_at_granted_changed_and_removed(tmp_path: Path) -> None:
    async with browsing(kernel(tmp_path)) as browser:
        review = (await sent(browser, good(tmp_path / "a.hmap", capabilities=["io"]))).json
        await browser.post(f"/api/v1/packages/{review['package']}/install", {"sha256": review["sha256"], "grant": []})
        at = "/api/v1/plugins/hello"
        assert (await browser.get(at)).json["capabilities"][0]["granted"] is False
        assert (await browser.post(f"{at}/grant", {"capabilities": ["io"]})).status == 200
        assert (await browser.get(at)).json["capabilities"][0]["granted"] is True
        done = [await browser.post(f"{at}/{verb}") for verb in ("disable", "enable", "reload")]
        assert [one.json["state"] for one in done] == ["disabled", "ready", "ready"]
        assert (await browser.post(f"{at}/remove", {})).status == 400  # what becomes of its data has to be said
        assert (await browser.post(f"{at}/remove", {"keep_data": False})).status == 200
        assert (await browser.get(at)).status == 404
        assert (await browser.post("/api/v1/plugins/shell/remove", {"keep_data": True})).status == 403


async def test_a_key_without_admin_does_none_of_it(tmp_path: Path) -> None:
    made = kernel(tmp_path)
    key = made.admin_keys_add("webui:owner", "chat", ["chat", "memory"])["key"]
    async with browsing(made) as browser:
        browser.session = ""
        for method, path in (
            ("POST", "/packages"), ("POST", "/packages/fetch"), ("POST", "/packages/x/install"),
            ("DELETE", "/packages/x"), ("GET", "/plugins/shell"), ("POST", "/plugins/shell/remove"),
            ("POST", "/plugins/shell/grant"), ("POST", "/plugins/shell/disable"),
        ):  # fmt: skip
            headers = {"Authorization": f"Bearer {key}", "Content_Type": "application/json"}
            headers |= FILE if path == "/packages" else {}
            answer = await browser.send(method, f"/api/v1{path}", None if method == "GET" else b"{}", **headers)
            assert answer.status == 403, path


async def test_without_a_folder_nothing_is_held() -> None:
    async with browsing(furnished(StandIn())) as browser:
        answer = await browser.send("POST", "/api/v1/packages", b"x", **FILE)
        assert answer.status == 503
