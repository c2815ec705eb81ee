"""Which embedder is in use, and that it follows the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from homed.paths import Paths
from homed.retrieval.embed import current as module
from homed.retrieval.embed.current import (
    CurrentEmbedder,
    EmbedPorts,
    Standing,
    bring_up,
    embed_ports,
    open_embedder,
)
from homed.retrieval.embed.failed import EmbedFailed
from tests.homed.retrieval.embed.kit import STAND_IN, FixedSettings, worker_ports
from tests.homed.retrieval.embed.models import text_model, tokenizer
from tests.homed.retrieval.embed.test_remote import Server, rows
from tests.kit.processes import with_mark


@asynccontextmanager
async def embedder_in(
    folder: Path, settings: FixedSettings, *, real: bool = False, **changes: Any
) -> AsyncIterator[CurrentEmbedder]:
    worker = worker_ports(folder / "run", None if real else STAND_IN)
    ports = EmbedPorts(settings, folder / "models", folder / "made", worker, **changes)
    async with open_embedder(ports) as current:
        yield current


async def settled(current: CurrentEmbedder, *states: str, wanted: str = "") -> Standing:
    with trio.fail_after(60):
        while current.standing.state not in (states or ("ready",)) or wanted not in ("", current.standing.wanted):
            await current.wait_changed()
    return current.standing


async def test_the_bundled_one_is_there_without_any_process(tmp_path: Path) -> None:
    async with embedder_in(tmp_path, FixedSettings()) as current:
        assert current.standing.state == "coming"
        assert await settled(current) == Standing("bundled", "bundled", "ready")
        assert current.current is not None
        assert current.current.space.dims == 512
        assert with_mark("test-run", group=True) == []


async def test_a_change_of_the_settings_is_another_embedder(tmp_path: Path) -> None:
    settings = FixedSettings()
    async with embedder_in(tmp_path, settings) as current:
        await settled(current)
        before = current.current
        assert before is not None
        settings.change(embedding="tfidf")
        assert await settled(current, wanted="tfidf") == Standing("tfidf", "tfidf", "ready")
        assert current.current is not None
        assert current.current.space.fingerprint != before.space.fingerprint
        with pytest.raises(EmbedFailed, match="being stopped"):
            await before.embed(["too late"])
        settings.change(embedding="off")
        assert await settled(current, "off") == Standing("off", "off", "off")
        assert current.current is None


async def test_settings_that_make_no_difference_leave_it_alone(tmp_path: Path) -> None:
    settings = FixedSettings(embedding="tfidf")
    async with embedder_in(tmp_path, settings) as current:
        await settled(current)
        before = current.current
        settings.change(embedding_folder="/elsewhere", persona="terse")
        with trio.move_on_after(3 * module.QUIET) as limit:
            await current.wait_changed()
        assert limit.cancelled_caught
        assert current.current is before


async def test_a_folder_that_is_no_model_is_replaced_visibly(tmp_path: Path) -> None:
    settings = FixedSettings(embedding_folder=str(tmp_path / "nothing"))
    async with embedder_in(tmp_path, settings) as current:
        standing = await settled(current)
        assert (standing.wanted, standing.used) == ("folder", "bundled")
        assert "there is no model folder" in standing.reason
        assert current.current is not None


async def test_the_default_folder_is_taken_when_it_is_there(tmp_path: Path) -> None:
    home = tmp_path / "models" / "chinese-clip-vit-b16-onnx"
    text_model(home / "model.onnx")
    tokenizer(home)
    async with embedder_in(tmp_path, FixedSettings(), real=True) as current:
        assert await settled(current) == Standing("folder", "folder", "ready")
        assert current.current is not None
        assert current.current.space.dims == 3
        first = current.current.space.fingerprint
    text_model(home / "model.onnx", mask="mask")
    async with embedder_in(tmp_path, FixedSettings(), real=True) as current:
        await settled(current)
        assert current.current is not None
        assert current.current.space.fingerprint != first


async def test_an_endpoint_that_does_not_answer_is_waited_for(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    server = Server(lambda _: httpx2.Response(503))
    settings = FixedSettings(embedding_base_url="http://h/v1", embedding_model="m", embedding_api_key="k-123")
    known: list[str] = []
    async with embedder_in(tmp_path, settings, transport=server, know=known.extend) as current:
        standing = await settled(current, "failed")
        assert (standing.wanted, standing.used, current.current) == ("endpoint", "", None)
        assert "HTTP 503" in standing.reason
        server.answer = rows
        assert await settled(current) == Standing("endpoint", "endpoint", "ready")
        assert current.current is not None
    assert known == ["k-123"]


async def test_settings_that_belong_together_are_taken_together(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    server = Server()
    settings = FixedSettings(embedding_base_url="http://old/v1", embedding_model="old")
    async with embedder_in(tmp_path, settings, transport=server) as current:
        await settled(current)
        settings.change(embedding_base_url="http://new/v1")
        await trio.sleep(module.QUIET / 2)
        settings.change(embedding_model="new")
        await trio.sleep(module.QUIET / 2)
        settings.change(embedding_dimensions=3)
        while len(server.asked) < 2:
            await current.wait_changed()
    assert [request.url.host for request in server.requests] == ["old", "new"]
    assert [(asked["model"], asked.get("dimensions")) for asked in server.asked] == [("old", None), ("new", 3)]


async def test_the_key_may_stand_in_a_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("from-the-file\n")
    key.chmod(0o600)
    server = Server()
    settings = FixedSettings(embedding_base_url="http://h/v1", embedding_model="m", embedding_api_key_file=str(key))
    async with embedder_in(tmp_path, settings, transport=server) as current:
        await settled(current)
        assert server.requests[0].headers["authorization"] == "Bearer from-the-file"
        settings.change(embedding_api_key_file=str(tmp_path / "other"))
        assert "other cannot be read" in (await settled(current, "failed")).reason


async def test_an_address_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    async with embedder_in(tmp_path, FixedSettings(embedding="endpoint")) as current:
        assert "core.memory.embedding_model" in (await settled(current, "failed")).reason


async def test_the_facility_is_up_with_the_first_embedder(tmp_path: Path) -> None:
    class Facilities:
        said: list[str]

        def __init__(self) -> None:
            self.said = []

        def up(self, *names: str) -> None:
            self.said.append(f"up {names[0]}")

        def fail(self, name: str, reason: str) -> None:
            self.said.append(f"failed {name}: {reason}")

    settings, facilities = FixedSettings(embedding="off"), Facilities()
    async with embedder_in(tmp_path, settings) as current, trio.open_nursery() as nursery:
        nursery.start_soon(bring_up, current, facilities)
        await settled(current, "off")
        settings.change(embedding="tfidf")
        await settled(current)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert facilities.said[0].startswith("failed embedder: embeddings are switched off")
    assert facilities.said[-1] == "up embedder"


def test_the_ports_of_a_data_folder_hold_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMED_SECRET__X", "s3cret")
    ports = embed_ports(Paths(tmp_path), FixedSettings(), lambda _: None)
    assert "s3cret" not in str(ports.worker.env)
    assert ports.models == tmp_path / "models"
    assert ports.worker.folder == tmp_path / "run" / "embed"
