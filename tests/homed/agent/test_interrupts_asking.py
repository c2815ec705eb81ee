"""An interrupt while a person is asked: the question is withdrawn, the turn stands still, and it is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent.schedule import Cancel, Phase, Schedule, Start, Suspend, Task, Way
from homed.memory.records import InputState
from tests.homed.agent.test_interrupts import ended, interrupt, phases, said, texts
from tests.kit.builders import OWNER, Agent, FakeHost, FakeModel, Setup, calls, message, running_agent, says

L0, L1, L2, L3, L4 = (Task(str(level), level) for level in range(5))


def asking(task: Task) -> Schedule:
    made = Schedule()
    assert made.arrive(task) == [Start(task)]
    made.enter(task.id, Phase.ASKING)
    return made


@pytest.mark.parametrize("task", [L2, L3, L4])
def test_what_is_more_urgent_withdraws_the_question_at_once(task: Task) -> None:
    made = asking(L0)
    assert made.arrive(task) == [Cancel(L0)]
    assert made.safe_point(L0.id, joins=False) == [Suspend(L0), Start(task)]
    assert (made.counters.cancelled, made.counters.suspended) == (0, 1)


def test_background_work_takes_no_question_from_under_a_persons_eyes() -> None:
    made = asking(L0)
    assert made.arrive(L1) == []
    assert made.counters.deferred == 1
    assert made.enter(L0.id, Phase.MODEL) == [Cancel(L0)], "it goes on to a model call"


def test_what_is_of_the_same_level_waits_for_the_model_call() -> None:
    made = asking(L2)
    other = Task("other", 2)
    assert made.arrive(other) == []
    assert made.safe_point(L2.id, joins=False) == []
    assert made.running is not None
    assert made.running.joining == [other]


def writing(*script: Any, **tools: str) -> tuple[Setup, list[str]]:
    host, ran = FakeHost(), list[str]()

    def made(name: str) -> Any:
        async def run(_: Mapping[str, Any]) -> object:
            await trio.lowlevel.checkpoint()
            ran.append(name)
            return f"{name} done"

        return run

    for name, class_ in (tools or {"write": "write"}).items():
        host.tool(name, made(name), tool_class=class_)
    return Setup(model=FakeModel(*script), host=host), ran


async def asked(agent: Agent, count: int = 1) -> dict[str, Any]:
    """The newest question, once so many were asked."""
    await agent.until(lambda: len([a for a in agent.of("approval") if a["status"] == "asked"]) == count)
    return [dict(a) for a in agent.of("approval") if a["status"] == "asked"][-1]


async def test_a_timer_gets_through_and_the_question_comes_back(tmp_path: Path) -> None:
    setup, ran = writing(calls(("write", "{}"), text="let me"), says("wake up"), says("written"))
    async with running_agent(tmp_path, setup) as agent:
        first = await agent.conversations.inject(OWNER, message("write it", can_ask=True))
        one = await asked(agent)
        second, way = await interrupt(agent, "the timer rings", first.thread.id, 3)
        assert way is Way.SUSPENDS
        assert said(*await ended(agent, second)) == ["wake up"]
        two = await asked(agent, 2)
        assert two["approval"] != one["approval"]
        assert [a["approval"] for a in agent.conversations.approvals(OWNER)] == [two["approval"]]
        assert ran == []
        await agent.conversations.approve(OWNER, str(two["approval"]), allow=True)
        assert said(*await ended(agent, first)) == ["written"]
        assert ran == ["write"]
        assert [a["status"] for a in agent.of("approval")] == ["asked", "withdrawn", "asked", "allowed"]
        assert phases(agent, first, second) == ["start 0", "suspended 0", "start 1", "end 1", "resumed 0", "end 0"]
        assert [texts(request) for request in setup.model.requests[1:]] == [
            ["User: the timer rings"],
            ["User: the timer rings", "Assistant: wake up", "User: write it", "Assistant: let me",
             "ToolResult: write done"],
        ]  # fmt: skip
        assert len(agent.of("tool_call")) == 2, "begun once, ended once"
        resumed = next(data for data in agent.of("turn") if data["phase"] == "resumed")
        assert resumed["step"] == 1, "what was said before the question stays"


async def test_calls_that_ran_before_the_question_do_not_run_again(tmp_path: Path) -> None:
    script = (calls(("look", "{}"), ("write", "{}"), ("look", "{}")), says("yes?"), says("done"))
    setup, ran = writing(*script, look="read", write="write")
    async with running_agent(tmp_path, setup) as agent:
        first = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await asked(agent)
        second, _ = await interrupt(agent, "wait", first.thread.id, 2)
        await ended(agent, second)
        await agent.conversations.approve(OWNER, str((await asked(agent, 2))["approval"]), allow=True)
        assert said(*await ended(agent, first)) == ["done"]
        assert ran == ["look", "write", "look"]


async def test_a_yes_for_the_conversation_that_came_meanwhile_counts(tmp_path: Path) -> None:
    setup, ran = writing(calls(("write", "{}")), calls(("write", "{}")), says("also"), says("done"))
    async with running_agent(tmp_path, setup) as agent:
        first = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await asked(agent)
        second, _ = await interrupt(agent, "you too", first.thread.id, 2, can_ask=True)
        other = await asked(agent, 2)
        await agent.conversations.approve(OWNER, str(other["approval"]), allow=True, remember="thread")
        assert said(*await ended(agent, second, first)) == ["also", "done"]
        assert ran == ["write", "write"]
        assert len(agent.of("approval")) == 4


async def test_a_stop_is_of_what_is_asked_now_and_leaves_nothing(tmp_path: Path) -> None:
    setup, ran = writing(calls(("write", "{}")), calls(("write", "{}")), says("never"))
    async with running_agent(tmp_path, setup) as agent:
        first = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await asked(agent)
        second, _ = await interrupt(agent, "you too", first.thread.id, 2, can_ask=True)
        await asked(agent, 2)
        await agent.conversations.stop(OWNER, first.thread.id)
        assert [done.state for done in await ended(agent, second)] == [InputState.STOPPED]
        await asked(agent, 3)
        await agent.conversations.stop(OWNER, first.thread.id)
        assert [done.state for done in await ended(agent, first)] == [InputState.STOPPED]
        assert ran == []
        statuses = ["asked", "withdrawn", "asked", "cancelled", "asked", "cancelled"]
        assert [a["status"] for a in agent.of("approval")] == statuses
        await agent.conversations.wait_idle()
        assert agent.conversations.counts == {"busy": 0, "queued": 0, "suspended": 0}


async def test_where_other_calls_run_beside_the_question_they_are_waited_for(tmp_path: Path) -> None:
    host, go_on = FakeHost(), trio.Event()

    async def slow(_: Mapping[str, Any]) -> object:
        await go_on.wait()
        return "looked"

    host.tool("look", slow, parallel_safe=True)
    host.tool("write", slow, tool_class="write", parallel_safe=True)
    script = (calls(("look", "{}"), ("write", "{}")), says("hi"), says("done"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=host)) as agent:
        first = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        one = await asked(agent)
        second, _ = await interrupt(agent, "hello?", first.thread.id, 3)
        await trio.testing.wait_all_tasks_blocked()
        assert [a["status"] for a in agent.of("approval")] == ["asked"]
        go_on.set()
        await agent.conversations.approve(OWNER, str(one["approval"]), allow=True)
        assert said(*await ended(agent, first, second)) == ["done", "hi"]
