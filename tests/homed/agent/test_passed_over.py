"""Where a model has read a turn its facts stand for it: what it was and what was said in it comes only where it is
meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.memory.cooling import MODEL, NONE, RULES
from homed.store.rows import Tx
from tests.kit.builders import running_agent
from tests.kit.past import Past, Said, put
from tests.kit.told import rows, snapshot, summary

SAID = (
    "Please translate the good morning of my neighbour into French and Italian, one line each, as a friendly greeting."
)
NEAR = "Which line of the Iliad speaks of the morning?"
MEANT = "What was the good morning in French and Italian for my neighbour?"


async def told(folder: Path, by: str, asked: str, *, kind: str = "user") -> str:
    """What a question is told of something said long ago, which this pass has read."""

    def before(tx: Tx) -> None:
        results = [("web", SAID, False)] if kind == "tool" else []
        question = "Look it up, would you?" if kind == "tool" else SAID
        put(tx, Past(said=[Said(question=question, answer="Done.", results=results)], layer="cold"))
        tx.execute("UPDATE events SET pass = ?", (by,))

    async with running_agent(folder) as agent:
        await agent.store.write(before)
        await agent.ask(asked)
        return snapshot(agent)


@pytest.mark.parametrize(("by", "near"), [(MODEL, False), (RULES, True), (NONE, True), ("", True)])
async def test_words_that_a_model_has_read_come_only_where_they_are_surely_meant(
    tmp_path: Path, by: str, near: bool
) -> None:
    (tmp_path / "near").mkdir()
    (tmp_path / "meant").mkdir()
    assert ("friendly greeting" in await told(tmp_path / "near", by, NEAR)) == near
    assert "friendly greeting" in await told(tmp_path / "meant", by, MEANT)


async def test_what_a_tool_gave_was_read_by_nobody(tmp_path: Path) -> None:
    assert "friendly greeting" in await told(tmp_path, MODEL, NEAR, kind="tool")


@pytest.mark.parametrize(("extractor", "near"), [("model", False), ("fallback", True)])
async def test_a_summary_that_a_model_wrote_comes_only_where_it_is_clearly_meant(
    tmp_path: Path, extractor: str, near: bool
) -> None:
    async with running_agent(tmp_path) as agent:
        made = await summary(agent, SAID, "Bonjour; buongiorno.", extractor=extractor)
        for asked, wanted in ((NEAR, near), (MEANT, True)):
            done = await agent.ask(asked, no_memory=True)
            lines = [line.id for row in await rows(agent, done.turn) for line in row.lines]
            assert (made in lines) == wanted, asked
