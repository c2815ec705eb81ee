"""Sources whose adapter is a script: added, asked, tried, listed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from homed.config.environment import child_environment
from homed.errors import InvalidInput, Unavailable
from homed.providers.base import ErrorKind, ProviderError, Source
from homed.providers.local.models import LocalPorts
from homed.providers.registry import Sources, open_sources
from tests.homed.providers.kit import ask
from tests.homed.providers.lua.kit import HELLO
from tests.homed.providers.test_registry import Secrets, Settings
from tests.kit.fake_openai import FakeOpenAI, open_fake_openai


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as server:
        yield server


def ports(tmp_path: Path, *, warm: bool = False) -> LocalPorts:
    return LocalPorts(
        tmp_path, tmp_path / "models", tmp_path / "run" / "model", child_environment(), lambda: "", warm=warm
    )


@pytest.fixture
async def sources(tmp_path: Path) -> AsyncIterator[Sources]:
    secrets = Secrets()
    async with open_sources(Settings(secrets), secrets, local=ports(tmp_path)) as opened:
        yield opened


def source_of(fake: FakeOpenAI, adapter: str = "lua:openai") -> Source:
    return Source("mine", fake.url, fake.model, adapter=adapter)


async def test_a_source_with_a_bundled_script_is_added_asked_and_tried(sources: Sources, fake: FakeOpenAI) -> None:
    await sources.add(source_of(fake), fake.key)
    fake.say("good")
    assert (await ask(sources.provider("mine"))).text == "good"
    trial = await sources.test("mine")
    assert (trial.ok, trial.error) == (True, "")
    assert [one.id for one in await sources.available(source_of(fake), fake.key)] == [fake.model]


async def test_what_a_server_refuses_is_learnt_by_way_of_a_script_too(sources: Sources, fake: FakeOpenAI) -> None:
    fake.insist(reasoning="free")
    await sources.add(source_of(fake, "lua:mistral"), fake.key)
    fake.misbehave(status=400, message="Unsupported parameter: 'stream' is not supported.")
    assert (await ask(sources.provider("mine"))).text
    assert "stream" not in fake.chats[-1].body


async def test_a_script_that_is_not_there_is_refused_with_those_that_are(sources: Sources, fake: FakeOpenAI) -> None:
    with pytest.raises(InvalidInput, match="There is no adapter 'lua:none'") as refused:
        await sources.add(source_of(fake, "lua:none"), fake.key)
    assert "lua:gemini" in refused.value.hint
    with pytest.raises(InvalidInput):
        await sources.add(source_of(fake, "lua:../openai"), fake.key)


async def test_a_script_that_went_is_missed_when_it_is_asked_and_the_source_stays(
    sources: Sources, fake: FakeOpenAI, tmp_path: Path
) -> None:
    await sources.adapters()
    script = trio.Path(tmp_path / "adapters" / "own.lua")
    await script.write_text(HELLO)
    await sources.add(source_of(fake, "lua:own"), fake.key)
    await script.unlink()
    assert [source.adapter for source in sources.list() if source.name == "mine"] == ["lua:own"]
    with pytest.raises(ProviderError, match="There is no adapter script") as failed:
        await ask(sources.provider("mine"))
    assert failed.value.kind is ErrorKind.BAD_REQUEST
    assert (await sources.test("mine")).ok is False
    await script.write_text(HELLO)
    assert (await ask(sources.provider("mine"))).text


async def test_without_a_data_folder_there_are_no_scripts(fake: FakeOpenAI) -> None:
    secrets = Secrets()
    async with open_sources(Settings(secrets), secrets) as sources:
        with pytest.raises(Unavailable, match="only inside homed"):
            await sources.add(source_of(fake), fake.key)


async def test_a_daemon_puts_the_scripts_in_place_once_it_is_up(tmp_path: Path) -> None:
    secrets, up = Secrets(), trio.Event()
    given = replace(ports(tmp_path, warm=True), hold=up.wait)
    async with open_sources(Settings(secrets), secrets, local=given):
        await trio.testing.wait_all_tasks_blocked()
        assert not (tmp_path / "adapters").exists()
        up.set()
        with trio.fail_after(60):
            while not (tmp_path / "adapters" / ".shipped.json").exists():  # noqa: ASYNC110 - a thread writes it
                await trio.sleep(0.01)
    assert len(list((tmp_path / "adapters").glob("*.lua"))) == 8
