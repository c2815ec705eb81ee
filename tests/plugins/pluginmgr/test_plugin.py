"""The tools of pluginmgr: nothing is installed that the approval's card did not show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Conflict, Denied
from homed.sdk.testing import Harness, harness
from plugins.pluginmgr.plugin import DOWNLOADS, disagreement, plugin
from tests.sdk.web import Web, serving

SHA = "a" * 64
REVIEW: dict[str, Any] = {
    "name": "hello", "version": "1.0", "description": "Greets.", "author": "A", "refused": "", "warnings": ["careful"],
    "sha256": SHA, "size": 5, "replaces": None, "stages": [], "tools": [{"name": "hello_greet"}],
    "capabilities": [
        {"name": "io", "what": "Talk.", "allowed": True, "granted": False},
        {"name": "events.notices", "what": "Hear.", "allowed": True, "granted": False},
        {"name": "admin", "what": "All.", "allowed": False, "granted": False},
    ],
}  # fmt: skip
STATUS = {
    "name": "hello", "version": "1.0", "state": "ready", "reason": "", "note": "hello 1.0 runs.", "trust": "external",
    "tools": ["hello_greet"], "pid": 7,
}  # fmt: skip
BOTH = ["io", "events.notices"]


@asynccontextmanager
async def managing(review: Mapping[str, Any] = REVIEW, data_dir: Path | None = None) -> AsyncIterator[Harness]:
    async with harness(plugin, data_dir=data_dir) as kernel:
        kernel.reply("plugin_mgr.review", review)
        for method in ("install", "enable", "disable", "reload"):
            kernel.reply(f"plugin_mgr.{method}", STATUS)
        kernel.reply("plugin_mgr.remove", {})
        kernel.reply("plugin_mgr.list", {"plugins": [STATUS]})
        yield kernel


def asked(kernel: Harness, method: str) -> list[Mapping[str, Any]]:
    return [call.params for call in kernel.calls if call.method == method]


async def test_what_the_card_showed_is_installed(tmp_path: Path) -> None:
    async with managing() as kernel:
        result = await kernel.invoke("plugin_install", source="/x/hello.hmap", capabilities=BOTH)
        assert result.content["installed"] is True
        assert result.content["note"] == "hello 1.0 runs."
        (given,) = asked(kernel, "plugin_mgr.install")
        assert given["grant"] == ["events.notices", "io"]
        assert (given["sha256"], given["source"], given["path"]) == (SHA, "hello.hmap", "/x/hello.hmap")
        assert given["call"] == "call_test"  # with the rights of whoever the turn is of, not its own


@pytest.mark.parametrize("shown", [[], ["io"]])
async def test_what_it_asks_for_beyond_the_card_is_told_and_nothing_installed(shown: list[str]) -> None:
    async with managing() as kernel:
        result = await kernel.invoke("plugin_install", source="/x/hello.hmap", capabilities=shown)
        assert result.content["installed"] is False
        assert result.content["sha256"] == SHA
        assert result.content["warnings"] == ["careful"]
        assert asked(kernel, "plugin_mgr.install") == []


async def test_who_has_seen_the_review_may_give_less() -> None:
    async with managing() as kernel:
        result = await kernel.invoke("plugin_install", source="/x/h.hmap", capabilities=["io"], sha256=SHA)
        assert result.content["installed"] is True
        assert asked(kernel, "plugin_mgr.install")[0]["grant"] == ["io"]


@pytest.mark.parametrize(
    ("capabilities", "sha256", "why"),
    [
        (BOTH, "b" * 64, "another one than was reviewed"),
        ([*BOTH, "admin"], "", "does not ask for admin, or cannot have it"),
        ([*BOTH, "llm"], SHA, "does not ask for llm"),
        (["io"], "", "has not seen that"),
        (BOTH, "", ""),
        ([], SHA, ""),
    ],
)
def test_what_was_approved_must_be_what_is_installed(capabilities: list[str], sha256: str, why: str) -> None:
    found = disagreement(REVIEW, capabilities, sha256)
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(("scope", "told"), [("global", True), ("own-tools", False)])
async def test_what_takes_part_in_every_turn_is_not_installed_unseen(scope: str, told: bool) -> None:
    stage = {"stage": "on_input", "scope": scope, "on_failure": "open"}
    async with managing({**REVIEW, "stages": [stage]}) as kernel:
        result = await kernel.invoke("plugin_install", source="/x/h.hmap", capabilities=BOTH)
        assert result.content["installed"] is not told
        if told:
            assert "every turn (on_input)" in result.content["why"]
            result = await kernel.invoke("plugin_install", source="/x/h.hmap", capabilities=BOTH, sha256=SHA)
            assert result.content["installed"] is True


async def test_what_cannot_be_installed_is_an_error_in_the_kernels_words() -> None:
    async with managing({**REVIEW, "refused": "The name belongs to a plugin that comes with homed."}) as kernel:
        result = await kernel.invoke("plugin_install", source="/x/h.hmap", capabilities=BOTH)
        assert result.is_error
        assert "comes with homed" in str(result.content)


@pytest.mark.parametrize("source", ["hello.hmap", "", "../x", "~/x.hmap"])
async def test_only_an_absolute_path_or_an_address_is_a_source(source: str) -> None:
    async with managing() as kernel:
        result = await kernel.invoke("plugin_install", source=source, capabilities=[])
        assert result.is_error
        assert kernel.calls == []


@pytest.mark.parametrize("source", ["http://example.org/x.hmap", "file:///etc/passwd", "ftp://x/y"])
async def test_only_https_is_downloaded(source: str) -> None:
    async with managing() as kernel:
        assert (await kernel.invoke("plugin_install", source=source, capabilities=[])).is_error
        assert kernel.calls == []


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serving(tmp_path_factory.mktemp("web")) as found:
        yield found


@pytest.mark.parametrize("fails", [False, True])
async def test_a_download_is_reviewed_as_a_file_and_deleted(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(web.certificate))
    url = web.file("/hello.hmap", b"package") + "?token=secret"
    seen: list[bytes] = []

    def review(params: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(Path(params["path"]).read_bytes())
        return REVIEW

    async with managing(data_dir=tmp_path) as kernel:
        kernel.reply("plugin_mgr.review", review)
        if fails:
            kernel.reply("plugin_mgr.install", Conflict("Not here."))
        result = await kernel.invoke("plugin_install", source=url, capabilities=BOTH)
        assert result.is_error is fails
        assert seen == [b"package"]
        assert "secret" not in asked(kernel, "plugin_mgr.install")[0]["source"]
    assert list((tmp_path / DOWNLOADS).iterdir()) == []


async def test_what_a_kill_left_is_deleted_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / DOWNLOADS).mkdir()
    (tmp_path / DOWNLOADS / "old.hmap").write_bytes(b"x")
    async with managing(data_dir=tmp_path):
        assert list((tmp_path / DOWNLOADS).iterdir()) == []


@pytest.mark.parametrize("verb", ["enable", "disable", "reload"])
async def test_a_change_is_told_as_it_came_out(verb: str) -> None:
    async with managing() as kernel:
        result = await kernel.invoke(f"plugin_{verb}", name="hello")
        assert result.content == {key: STATUS[key] for key in ("name", "version", "state", "reason", "note")}
        assert asked(kernel, f"plugin_mgr.{verb}")[0] == {"name": "hello", "call": "call_test"}


async def test_what_is_removed_keeps_its_data_unless_it_is_said() -> None:
    async with managing() as kernel:
        assert (await kernel.invoke("plugin_remove", name="hello")).content["data"] == "kept"
        assert (await kernel.invoke("plugin_remove", name="hello", keep_data=False)).content["data"] == "deleted"
        assert [given["keep_data"] for given in asked(kernel, "plugin_mgr.remove")] == [True, False]


async def test_what_there_is_is_listed_and_counted() -> None:
    async with managing() as kernel:
        found = (await kernel.invoke("plugin_list")).content
        assert found["tools"] == 1
        assert found["plugins"][0]["state"] == "ready"
        kernel.reply(
            "plugin_mgr.info", {**STATUS, "crashes": [{"at": 1, "code": 1, "signal": None, "stderr": "x" * 9000}]}
        )
        crashes = (await kernel.invoke("plugin_info", name="hello")).content["crashes"]
        assert len(crashes[0]["stderr"]) == 2000


async def test_who_may_not_is_told_so() -> None:
    async with managing() as kernel:
        kernel.reply("plugin_mgr.list", Denied("plugin_mgr.list is for owners."))
        result = await kernel.invoke("plugin_list")
        assert result.is_error
        assert "for owners" in str(result.content)


def test_what_changes_anything_is_asked_for_each_time() -> None:
    asked_for = {name for name, tool in plugin.tools.items() if tool.options.get("confirm")}
    assert asked_for == {"plugin_install", "plugin_remove", "plugin_enable", "plugin_disable"}
    assert not any(tool.options.get("guest") for tool in plugin.tools.values())
