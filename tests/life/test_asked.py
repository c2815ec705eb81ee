"""What the life's memory tells of questions that it can answer, and of those that have nothing to do with it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from homed.memory import injections
from homed.providers.base import ToolResult
from tests.kit.builders import OWNER, Agent, calls, says
from tests.life.lived import Clock, Life, agent_of
from tests.life.recalled import answered, ask, by_meaning
from tests.life.script import answerable, unrelated

Open = Callable[[Path, Clock], AbstractAsyncContextManager[Agent]]

MOST, LEAST = 0.02, 0.90
"""Shares: of unrelated questions that may be told anything beyond the Active Window, and of those that can be answered
that must be told the right record."""


WAYS = [pytest.param(by_meaning, id="meaning")]
if "HOMED_TEST_TURNS" in os.environ:  # `make soak`: the 446 questions once more, where there is no embedder
    WAYS.append(pytest.param(agent_of, id="words", marks=pytest.mark.soak))


def test_there_are_enough_questions_in_both_languages_and_mixed() -> None:
    asked = [one.text for one in answerable()]
    for texts in (asked, unrelated()):
        assert len(texts) == len(set(texts)) >= 200
        chinese = [text for text in texts if re.search("[\u4e00-\u9fff]", text)]
        assert len(chinese) > 60
        assert len(texts) - len(chinese) > 60
        assert sum(bool(re.search("[A-Za-z]{3}", text)) for text in chinese) >= 12, "in both at once"


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_the_right_record_is_told_and_to_what_is_unrelated_nothing(
    life: Life, copy: Callable[[], Path], opened: Open
) -> None:
    """``docs/benchmarks.md`` has the figures."""
    async with opened(copy(), life.clock) as agent:
        right = await answered(agent, life, answerable())
        missed = [one.asked.text for one in right if not one.right]
        assert len(missed) <= (1 - LEAST) * len(right), missed
        told = [await ask(agent, text) for text in unrelated()]
        wrong = [one.question for one in told if one.beyond]
        assert len(wrong) <= MOST * len(told), wrong
        print(f"right {len(right) - len(missed)} of {len(right)}, unrelated {len(wrong)} of {len(told)}")


async def test_how_we_know_that_another_conversation_used_the_memory(life: Life, copy: Callable[[], Path]) -> None:
    """B8: told in one, asked in another: the recall line, the ledger's row, and the words with their hash."""
    turn = next(turn for turn in life.turns if any(item.key == "sparekey" for item in turn.true))
    record = life.reader.known["sparekey"]
    async with agent_of(copy(), life.clock) as agent:
        opens = calls(("memory_open", json.dumps({"id": record[-8:]})))
        agent.model.script = [opens, says(f"With Mrs. Zbinden (id:{record[-8:]}).")]
        done = await agent.ask("Where is the spare key of the house?")
        assert done.thread not in life.threads.values()
        (row,) = await agent.store.read(lambda tx: injections.of_turn(tx, done.turn))
        assert (row.thread, row.mode) == (done.thread, "hit")
        (line,) = [line for line in row.lines if line.id == record]
        assert (line.evidence, line.revision) == ("source", 1)
        assert line.score > 0
        assert f"(id:{record[-8:]})" in agent.model.requests[0].messages[-2].text
        (result,) = [m for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)]
        assert turn.say.split(",")[0] in result.text
        assert '"hashOk":true' in result.text
        (recall,) = agent.of("recall")[-1:]
        assert record in recall["facts"]


async def test_what_is_hidden_is_found_by_no_question_after_a_restart(life: Life, copy: Callable[[], Path]) -> None:
    """B7; `tests/homed/jobs/console/test_forgotten.py` has every channel and what is forgotten for good."""
    async with agent_of(copy(), life.clock) as agent:
        hidden = life.reader.known["accordion"]
        for text in ("Which instrument would I like to learn this year?", "accordion", "我想学什么乐器？ accordion?"):
            told = await ask(agent, text)
            assert hidden not in [line.id for line in told.lines]
            assert "The user would like to learn the accordion" not in told.text
        asks = [("memory_recall", '{"query": "accordion"}'), ("memory_list", '{"limit": 20}'),
                ("memory_open", json.dumps({"id": hidden}))]  # fmt: skip
        agent.model.script = [calls(*asks), says("no")]
        await agent.ask("What do you know of my instrument?", who=OWNER, no_memory=True)
        for result in agent.model.requests[-1].messages:
            if isinstance(result, ToolResult):
                assert "The user would like to learn the accordion" not in result.text
