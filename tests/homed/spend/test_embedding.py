"""An embedding endpoint on a real gate: each request is written down, and held back where the day's limit says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from homed.retrieval.embed.failed import EmbedFailed
from homed.spend.embedding import EmbedTill
from tests.homed.spend.test_gate import Bench, bench

ADDRESS, MODEL = "https://api.openai.com/v1", "text-embedding-3-small"


async def ask(on: Bench, tokens: int, took: int | None = None, *, owed: bool = True) -> None:
    async with EmbedTill(on.gate).asking(ADDRESS, MODEL, tokens) as asked:
        asked.took, asked.owed = took, owed


async def test_what_it_took_is_counted_at_its_price_and_what_it_refused_is_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ask(on, 100, 1_000_000)
        await ask(on, 100, owed=False)
        await ask(on, 70)
        day = await on.day()
        assert (day.day_tokens, day.day_nanos) == (1_000_070, 20_001_400)


async def test_it_stops_where_background_work_does(tmp_path: Path) -> None:
    async with bench(tmp_path, day_tokens=1000) as on:
        await ask(on, 800)
        with pytest.raises(EmbedFailed, match="used up") as caught:
            await ask(on, 1)
        assert not caught.value.lasting
        assert "core.spend" in caught.value.hint


async def test_a_request_that_is_cut_off_is_counted_as_it_was_reckoned(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        with trio.move_on_after(0.01):
            async with EmbedTill(on.gate).asking(ADDRESS, MODEL, 500):
                await trio.sleep_forever()
        assert (await on.day()).day_tokens == 500
