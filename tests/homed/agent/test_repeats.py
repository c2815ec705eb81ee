"""The same tool call again and again (D7): what is a loop and what is not, and how a turn comes out of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.repeats import ENOUGH, PATIENCE, Made, again, key_of
from homed.memory import events
from homed.memory.records import EventKind, InputState
from tests.kit.builders import (
    OWNER,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    hangs,
    message,
    running_agent,
    says,
)

MOST = 3


def ran(*keys: str, result: str = "same") -> list[Made]:
    return [Made(key, result) for key in keys]


@pytest.mark.parametrize(
    ("before", "call", "times"),
    [
        ("", "a", 0),
        ("aa", "a", 0),
        ("aaa", "a", 3),
        ("ababa", "a", 3),  # pairs that take turns
        ("ababa", "b", 0),
        ("ababab", "b", 3),
        ("abcabcabc", "a", 3),  # three of them
        ("abcdabcdabcd", "a", 0),  # four different things are work
        ("aaabcd", "a", 0),  # something else was done in between
        ("axaybzawa", "a", 0),  # tests after each edit
    ],
)
def test_what_is_a_loop(before: str, call: str, times: int) -> None:
    assert again(call, ran(*before), MOST) == times


def test_a_call_whose_results_differ_is_somebody_waiting_and_has_more_patience() -> None:
    news = [Made("a", f"result {n}") for n in range(MOST * PATIENCE)]
    assert again("a", news[:-1], MOST) == 0
    assert again("a", news, MOST) == MOST * PATIENCE
    assert again("a", [*news[:4], *ran("a", "a", "a")], MOST) == 7, "it had changed, and does not any more"


def test_a_call_that_was_refused_is_counted_but_is_no_result() -> None:
    before = [*ran("a", "a", "a"), Made("a", "refused: …", refused=True)]
    assert again("a", before, MOST) == 4


def test_the_order_of_arguments_makes_no_other_call_and_broken_ones_differ_by_their_text() -> None:
    assert key_of("t", {"x": 1, "y": [2]}) == key_of("t", {"y": [2], "x": 1})
    assert key_of("t", None, '{"a":1') != key_of("t", None, '{"a":2')


def looping(tool: str = "look", results: int = 1) -> FakeHost:
    host = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return f"nothing new {len(host.invoked()) % results}"

    host.tool(tool, look)
    host.tool("other", look)
    return host


def same(n: int) -> list[Any]:
    return [calls(("look", '{"at": "here"}'), ids=[f"c{at}"]) for at in range(n)]


SETTINGS = FakeSettings(**{"core.agent.max_tool_turns": 100})


async def test_the_same_call_is_refused_with_a_hint_and_after_a_few_more_the_turn_must_answer(tmp_path: Path) -> None:
    host = looping()
    model = FakeModel(*same(20), says("never reached"))
    model.script[MOST + ENOUGH :] = [says("I was going in circles.")]
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=SETTINGS)) as agent:
        done = await agent.ask("look")
        assert done.state is InputState.ANSWERED
        assert len(host.invoked()) == MOST
        assert len(model.requests) == MOST + ENOUGH + 1
        assert "was called 3 times with these arguments" in str(model.requests[MOST + 1].messages[-1])
        last = model.requests[-1]
        assert last.tools == ()
        assert "again and again" in str(last.messages[-1])
        assert [note["code"] for note in agent.of("system")] == ["tool_repeat"]
        stored = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert [e.data.get("status") for e in stored if e.kind is EventKind.TOOL] == ["ok"] * MOST + ["error"] * ENOUGH


async def test_pairs_that_take_turns_end_too_and_the_limit_outlives_a_restart(tmp_path: Path) -> None:
    host = looping()
    pair = [calls(("look", "{}")), calls(("other", "{}"))]
    model = FakeModel(*pair * 2, hangs())
    setup = Setup(model=model, host=host, settings=SETTINGS)
    async with running_agent(tmp_path, setup) as agent:
        receipt = await agent.conversations.inject(OWNER, message("look"))
        await model.hanging.wait()
    assert len(host.invoked()) == 4
    again_ = FakeModel(*pair * 10)
    again_.script[2 + 3 :] = [says("round in circles")]
    async with running_agent(tmp_path, Setup(model=again_, host=host, settings=SETTINGS)) as agent:
        with trio.fail_after(60):
            done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.ANSWERED
    assert len(host.invoked()) == 6, "three of each, those before the restart included"


async def test_refusals_before_a_restart_count_after_it(tmp_path: Path) -> None:
    host = looping()
    model = FakeModel(*same(MOST + ENOUGH - 1), hangs())
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=SETTINGS)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("look"))
        await model.hanging.wait()
    after = FakeModel(*same(1), says("enough"))
    async with running_agent(tmp_path, Setup(model=after, host=host, settings=SETTINGS)) as agent:
        with trio.fail_after(60):
            done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.outcome is not None
        assert done.outcome.text == "enough"
        assert after.requests[-1].tools == ()
    assert len(host.invoked()) == MOST


async def test_work_that_repeats_one_step_among_others_is_left_alone(tmp_path: Path) -> None:
    host = looping()
    script = [
        answer for n in range(8) for answer in (calls(("other", f'{{"edit": {n}}}')), calls(("look", '{"tests": 1}')))
    ]
    async with running_agent(
        tmp_path, Setup(model=FakeModel(*script, says("done")), host=host, settings=SETTINGS)
    ) as agent:
        done = await agent.ask("edit and test")
        assert done.outcome is not None
        assert done.outcome.text == "done"
        assert len(host.invoked()) == 16
