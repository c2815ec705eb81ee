"""Forty facts in 300 events of dense narrative, found at a window that holds a sixth of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import needles
from benchmarks.needles import NEEDLES
from homed.memory.tokens import estimate_tokens
from homed.retrieval.without import words_only
from tests.kit.builders import running_agent


def test_the_story_is_dense_and_has_each_needle_once() -> None:
    texts = [text for said in needles.story() for text in (said.question, said.answer)]
    assert len(texts) == needles.EVENTS
    assert sum(map(estimate_tokens, texts)) > 2 * needles.WINDOW
    for needle in NEEDLES:
        assert needle.key in needle.fact
        assert needle.key not in needle.question + needle.reworded
        assert sum(needle.key in text for text in texts) == 1, needle.key


@pytest.mark.slow
async def test_needles_are_found_at_a_small_window_as_with_the_full_history(tmp_path: Path) -> None:
    """E46: of those that the full history shows, which is all of them."""
    async with running_agent(tmp_path, needles.small(words_only())) as agent:
        await needles.tell(agent)
        seen = await needles.found(agent, [(needle.question, needle.key) for needle in NEEDLES])
        missed = [needle.question for needle, found in zip(NEEDLES, seen, strict=True) if not found]
        assert len(seen) == len(NEEDLES) == 40
        assert len(missed) <= len(NEEDLES) * 0.1, missed
        rows = await agent.store.read(lambda tx: tx.all("SELECT layer, count(*) FROM events GROUP BY layer"))
        layers: dict[str, int] = dict(rows)
        assert layers["cold"] > 200, "most of it has sunk"
