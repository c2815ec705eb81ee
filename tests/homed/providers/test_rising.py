"""The facility ``llm``: coming until a source is set up, up when it can be asked, failed and mended."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing

from homed.host.facilities import Facilities, Provider
from homed.providers.base import Source
from homed.providers.registry import Sources, open_sources
from homed.providers.rising import bring_up
from homed.providers.stored import to_setting
from tests.homed.providers.test_registry import Secrets, Settings


@pytest.fixture
def settings() -> Settings:
    return Settings(Secrets())


@pytest.fixture
async def sources(settings: Settings) -> AsyncIterator[Sources]:
    async with open_sources(settings, settings.secrets) as opened:
        yield opened


LLM = (Provider("llm", "homed.providers.registry", slow=True),)


async def test_llm_is_up_once_a_source_can_be_asked_and_is_coming_until_one_is_set_up(
    sources: Sources, settings: Settings
) -> None:
    facilities = Facilities(LLM)
    await settings.set("core.llm.embedded", False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bring_up, sources, settings, facilities)
        await trio.testing.wait_all_tasks_blocked()
        assert facilities.state("llm") == "coming"
        await sources.add(Source("far", "http://x/v1", "m"))
        assert await facilities.wait(("llm",)) == ""
        nursery.cancel_scope.cancel()


async def test_a_local_model_that_fails_blocks_llm_until_another_source_is_used(
    sources: Sources, settings: Settings
) -> None:
    class Broken:
        built_in = False

        async def wait_ready(self, source: Source) -> str:
            await trio.lowlevel.checkpoint()
            return f"{source.model} does not run: no memory"

    sources._local = Broken()  # type: ignore[assignment]
    await settings.set("core.llm.sources", [to_setting(Source("mine", "", "tiny", adapter="local", path="/m.gguf"))])
    facilities = Facilities(LLM)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bring_up, sources, settings, facilities)
        assert await facilities.wait(("llm",)) == "blocked on llm: tiny does not run: no memory"
        await settings.set("core.llm.sources", [to_setting(Source("far", "http://x/v1", "m"))])
        await facilities.mended(("llm",))
        assert facilities.ups == ("llm",)
        nursery.cancel_scope.cancel()
