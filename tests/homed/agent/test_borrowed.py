"""Functions that a program lends for one message: offered, waited for, and gone with the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent import borrowed
from homed.agent.borrowed import DEPTH, MOST, Borrowed, Function, Lent, checked, named
from homed.agent.intake import Message
from homed.errors import InvalidInput, NotFound
from homed.identity.permissions import Decision, Rule
from homed.memory.chains import Place
from homed.memory.records import InputState
from homed.providers.base import ToolResult
from tests.kit.builders import (
    GUEST,
    OWNER,
    TRUSTED,
    Agent,
    FakeHost,
    FakeModel,
    Setup,
    calls,
    hangs,
    running_agent,
    says,
)

LOOK = Function("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string", "pattern": "(a+)+$"}}})
LENT = Lent((LOOK,))


def told(text: str, lent: Lent = LENT, channel: str = "webui") -> Message:
    return Message(text=text, channel=channel, lent=lent)


async def begin(agent: Agent, text: str, lent: Lent = LENT) -> str:
    return (await agent.conversations.inject(OWNER, told(text, lent))).input.id


async def handed(agent: Agent, input_: str) -> list[Any]:
    with trio.fail_after(60):
        return list((await agent.conversations.calls_of(OWNER, input_))[0])


async def test_a_call_waits_for_the_program_and_its_result_goes_to_the_model(tmp_path: Path) -> None:
    model = FakeModel(calls(("look", '{"at": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}')), says("Seen."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        input_ = await begin(agent, "look")
        (call,) = await handed(agent, input_)
        assert (call.name, call.id[:5]) == ("look", "call_")
        assert call.arguments["at"].endswith("a!"), "not checked against a stranger's pattern"
        found, usage = await agent.conversations.answer(OWNER, {call.id: "a bird"})
        assert (found.id, usage["prompt"]) == (input_, 10)
        done = await agent.conversations.wait(OWNER, input_)
        assert done.outcome is not None
        assert done.outcome.text == "Seen."
        results = [m for m in model.requests[1].messages if isinstance(m, ToolResult)]
        assert [one.text for one in results] == ["a bird"]
        assert [spec.name for spec in model.requests[0].tools if spec.name == "look"] == ["look"]
        assert await handed(agent, input_) == []
        with pytest.raises(NotFound):
            await agent.conversations.answer(OWNER, {call.id: "another"})
        await agent.ask("again")
        assert all(spec.name != "look" for spec in model.requests[-1].tools), "for one message"


async def test_calls_of_one_step_are_told_together_in_their_order_and_run_beside_ours(tmp_path: Path) -> None:
    host, release = FakeHost(), trio.Event()

    async def slow(args: Mapping[str, Any]) -> object:
        await release.wait()
        return "slow"

    host.tool("slow", slow)
    three = calls(("look", '{"at": "1"}'), ("slow", "{}"), ("look", '{"at": "2"}'))
    async with running_agent(tmp_path, Setup(model=FakeModel(three, says("Both.")), host=host)) as agent:
        input_ = await begin(agent, "two looks")
        first, second = await handed(agent, input_)
        assert [first.arguments["at"], second.arguments["at"]] == ["1", "2"]
        for wrong in ({first.id: "a"}, {first.id: "a", second.id: "b", "call_x": "c"}):
            with pytest.raises(InvalidInput):
                await agent.conversations.answer(OWNER, wrong)
        await agent.conversations.answer(OWNER, {first.id: "a", second.id: "b"})
        release.set()
        assert (await agent.conversations.wait(OWNER, input_)).state is InputState.ANSWERED


async def test_none_is_told_before_all_of_a_step_have_come_to_wait_or_have_ended() -> None:
    lent = Borrowed(OWNER, "in_1", {"look": LOOK}, Lent((LOOK,)))
    told_of: list[Any] = []

    async def hear() -> None:
        told_of.extend((await lent.handed())[0])

    async with trio.open_nursery() as nursery:
        lent.expect(["a", "b", "c"])
        nursery.start_soon(hear)
        for call in ("b", "a"):
            nursery.start_soon(lent.call, call, "look", {"at": call})
            await trio.testing.wait_all_tasks_blocked()
        assert told_of == []
        lent.settled("c")  # a rule forbade it
        await trio.testing.wait_all_tasks_blocked()
        assert [call.arguments["at"] for call in told_of] == ["a", "b"]
        nursery.cancel_scope.cancel()
    assert not lent.waiting


async def test_one_at_a_time_if_the_program_takes_no_more(tmp_path: Path) -> None:
    two = calls(("look", '{"at": "1"}'), ("look", '{"at": "2"}'))
    async with running_agent(tmp_path, Setup(model=FakeModel(two, says("Both.")))) as agent:
        input_ = await begin(agent, "two looks", Lent((LOOK,), parallel=False))
        for at in ("1", "2"):
            (call,) = await handed(agent, input_)
            assert call.arguments["at"] == at
            await agent.conversations.answer(OWNER, {call.id: at})
        assert (await agent.conversations.wait(OWNER, input_)).state is InputState.ANSWERED


async def test_nobody_else_hears_of_a_call_or_answers_it(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("look", "{}"))))) as agent:
        input_ = await begin(agent, "look")
        (call,) = await handed(agent, input_)
        for other in (TRUSTED, GUEST, replace(OWNER, peer="webui:other")):
            assert await agent.conversations.calls_of(other, input_) == ((), {})
            with pytest.raises(NotFound):
                await agent.conversations.answer(other, {call.id: "forged"})


async def test_without_a_result_the_turn_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowed, "WAIT", 0.05)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("look", "{}")), says("never")))) as agent:
        with trio.fail_after(60):
            done = await agent.conversations.wait(OWNER, await begin(agent, "look"))
        assert done.state is InputState.STOPPED
        assert len(agent.model.requests) == 1


async def test_a_stop_ends_the_wait_and_a_rule_that_forbids_holds(tmp_path: Path) -> None:
    model = FakeModel(calls(("look", "{}")), calls(("look", '{"at": "x"}')), says("Then not."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        given = (await agent.conversations.inject(OWNER, told("look"))).input
        (call,) = await handed(agent, given.id)
        assert await agent.conversations.stop(OWNER, given.thread, input_=given.id)
        assert (await agent.conversations.wait(OWNER, given.id)).state is InputState.STOPPED
        with pytest.raises(NotFound):
            await agent.conversations.answer(OWNER, {call.id: "late"})
        await agent.rules.add(Rule(Decision.DENY, tool="look"))
        done = await agent.conversations.wait(OWNER, await begin(agent, "look again"))
        assert done.outcome is not None
        assert done.outcome.text == "Then not."
        assert all(spec.name != "look" for spec in model.requests[-1].tools)


async def test_an_input_is_stopped_before_its_time_has_come_and_no_other_one(tmp_path: Path) -> None:
    model = FakeModel(hangs("so"), says("second"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        first = (await agent.conversations.inject(OWNER, told("first"))).input
        await model.hanging.wait()
        waits = (await agent.conversations.inject(OWNER, replace(told("second"), thread=first.thread))).input
        assert await agent.conversations.stop(OWNER, first.thread, input_=waits.id)
        assert len(model.requests) == 1
        assert await agent.conversations.stop(OWNER, first.thread, input_=first.id)
        assert (await agent.conversations.wait(OWNER, waits.id)).state is InputState.STOPPED
        assert not await agent.conversations.stop(OWNER, first.thread, input_=waits.id)
        assert len(model.requests) == 1, "the model was never asked"


async def test_a_program_that_says_something_new_gives_the_results_up(tmp_path: Path) -> None:
    model = FakeModel(calls(("look", "{}")), says("Never mind, then."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        first = (await agent.conversations.inject(OWNER, replace(told("look"), place=Place("c1", "s1")))).input
        await handed(agent, first.id)
        new = Message(text="never mind", channel="webui", place=Place("c2", "s2", "c1", "s1"))
        second = (await agent.conversations.inject(OWNER, new)).input
        assert second.thread == first.thread
        with trio.fail_after(60):
            assert (await agent.conversations.wait(OWNER, first.id)).state is InputState.STOPPED
            assert (await agent.conversations.wait(OWNER, second.id)).state is InputState.ANSWERED


def deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    "functions",
    [
        [Function("a b", "", {})],
        [Function("", "", {})],
        [Function("x" * 65, "", {})],
        [Function("a", "", {}), Function("a", "", {})],
        [Function("a", "", {"type": "array"})],
        [Function("a", "", deep(DEPTH + 1))],
        [Function(f"f{at}", "", {}) for at in range(MOST + 1)],
    ],
)
def test_what_no_model_can_be_offered_is_refused(functions: list[Function]) -> None:
    with pytest.raises(InvalidInput):
        checked(functions)


def test_a_name_that_is_taken_here_gets_another_one() -> None:
    assert list(named([Function("look", "", {}), LOOK], {"see"})) == ["look"]
    assert list(named([LOOK], {"look"})) == ["client_look"]
    with pytest.raises(InvalidInput):
        named([LOOK], {"look", "client_look"})
    with pytest.raises(InvalidInput):
        named([LOOK, Function("client_look", "", {})], {"look"})
    lent = Borrowed(OWNER, "in_1", named([LOOK], {"look"}), Lent((LOOK,)))
    assert (lent.owns("client_look"), lent.owns("look")) == (True, False)
