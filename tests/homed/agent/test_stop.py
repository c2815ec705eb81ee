"""Stop: at once, one outcome, what was done is kept, the next message works."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.journal import NOT_BEGUN, STOPPED
from homed.memory.records import InputState
from homed.providers.base import Assistant, Part, ToolResult
from tests.kit.builders import OWNER, Answer, FakeHost, FakeModel, Setup, calls, hangs, message, running_agent, says


async def test_stop_in_mid_stream_ends_everything_within_100_ms(tmp_path: Path) -> None:
    """C13"""
    model = FakeModel(hangs("It was ", "a dark "), says("fine"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("Tell me a story"))
        await agent.until(lambda: len(agent.of("content_delta")) >= 2)
        before = trio.current_time()
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert trio.current_time() - before < 0.1
        assert model.open == 0, "the model connection is closed"
        assert done.state is InputState.STOPPED
        assert done.outcome is not None
        assert done.outcome.text == "It was a dark "
        assert agent.of("agent_output")[-1]["state"] == "stopped"
        assert agent.of("turn")[-1]["state"] == "stopped"
        again = await agent.ask("Go on", thread=receipt.thread.id)
        assert again.state is InputState.ANSWERED
        told = [m for m in model.requests[1].messages if isinstance(m, Assistant)]
        assert told[0].text.startswith("It was a dark")
        assert "stopped" in told[0].text


async def test_nothing_more_of_the_turn_is_shown_once_stop_was_pressed(tmp_path: Path) -> None:
    """C13: also not what a provider still delivers while it is being closed."""

    class Stubborn(FakeModel):
        async def _parts(self, answer: Answer) -> AsyncIterator[Part]:
            with trio.CancelScope(shield=True):
                async for part in super()._parts(answer):
                    yield part

    async with running_agent(tmp_path, Setup(model=Stubborn(says(*["word "] * 100), pace=0.002))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("Talk"))
        await agent.until(lambda: agent.of("content_delta"))
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        shown = len(agent.of("content_delta"))
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert len(agent.of("content_delta")) == shown
        assert done.outcome is not None
        assert done.outcome.text == "".join(d["text"] for d in agent.of("content_delta"))


async def test_stop_during_tools_records_them_as_interrupted(tmp_path: Path) -> None:
    """C13: the finished call keeps its result, the other gets one that says what happened."""
    started = trio.Event()

    async def quick(_: Mapping[str, Any]) -> object:
        return "finished"

    async def endless(_: Mapping[str, Any]) -> object:
        started.set()
        await trio.sleep_forever()

    host = FakeHost()
    host.tool("quick", quick)
    host.tool("endless", endless)
    model = FakeModel(calls(("quick", "{}"), ("endless", "{}")), says("next"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go"))
        with trio.fail_after(60):
            await started.wait()
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        assert [(c["tool"], c["status"]) for c in agent.of("tool_call")][-1] == ("endless", "interrupted")
        assert len(agent.tokens) == 0
        await agent.ask("and now?", thread=receipt.thread.id)
        got = [m for m in model.requests[1].messages if isinstance(m, ToolResult)]
        assert [(r.name, r.is_error) for r in got] == [("quick", False), ("endless", True)]
        assert "the person stopped this" in got[1].text


@pytest.mark.parametrize("asks", [False, True])
async def test_of_a_call_that_had_not_begun_it_is_said_that_it_did_not_run(tmp_path: Path, *, asks: bool) -> None:
    """That it may have had an effect is said of those alone that may have had one."""
    started = trio.Event()

    async def endless(_: Mapping[str, Any]) -> object:
        started.set()
        await trio.sleep_forever()

    async def write(_: Mapping[str, Any]) -> object:
        pytest.fail("must not run")

    host = FakeHost()
    host.tool("endless", endless)
    host.tool("write", write, tool_class="write")
    first = [] if asks else [("endless", "{}")]
    model = FakeModel(calls(*first, ("write", "{}"), ("write", '{"again": 1}')), says("next"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        with trio.fail_after(60):
            await (agent.until(lambda: agent.of("approval")) if asks else started.wait())
        await agent.conversations.stop(OWNER, receipt.thread.id)
        await agent.conversations.wait(OWNER, receipt.input.id)
        shown = {c["call"]: c["result"] for c in agent.of("tool_call") if c["status"] == "interrupted"}
        await agent.ask("and now?", thread=receipt.thread.id)
        got = [m.text for m in model.requests[1].messages if isinstance(m, ToolResult)]
        assert got[-2:] == [NOT_BEGUN, NOT_BEGUN]
        assert got[:-2] == ([] if asks else [STOPPED])
        assert set(shown.values()) <= set(got)


def one_that_asks() -> Setup:
    """A model that calls a tool which is asked about first, and which must not run."""

    async def write(_: Mapping[str, Any]) -> object:
        pytest.fail("must not run")

    host = FakeHost()
    host.tool("write", write, tool_class="write")
    return Setup(model=FakeModel(calls(("write", "{}"))), host=host)


async def test_stop_while_a_question_is_open_withdraws_it(tmp_path: Path) -> None:
    async with running_agent(tmp_path, one_that_asks()) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await agent.until(lambda: agent.of("approval"))
        await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        assert [a["status"] for a in agent.of("approval")] == ["asked", "cancelled"]
        assert agent.conversations.approvals(OWNER) == []


async def test_a_stop_that_comes_with_a_yes_keeps_the_call_from_being_made(tmp_path: Path) -> None:
    async with running_agent(tmp_path, one_that_asks()) as agent:
        receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await agent.until(lambda: agent.conversations.approvals(OWNER))
        (asked,) = agent.conversations.approvals(OWNER)
        lane = agent.conversations.lane(receipt.thread.id)
        assert lane is not None
        turn = lane.running
        assert turn is not None
        await agent.conversations.approve(OWNER, str(asked["approval"]), allow=True)
        turn.stop()
        assert (await agent.conversations.wait(OWNER, receipt.input.id)).state is InputState.STOPPED


@pytest.mark.parametrize(
    ("on_failure", "kept"), [("open", "my words"), ("closed", "[withheld: hooks could not check it]")]
)
async def test_stop_before_the_message_was_checked_keeps_its_place_and_only_what_may_stay(
    tmp_path: Path, on_failure: str, kept: str
) -> None:
    checking = trio.Event()

    async def slow(_: Mapping[str, Any]) -> None:
        checking.set()
        await trio.sleep_forever()

    host = FakeHost()
    host.stage("on_input", slow, on_failure=on_failure)
    async with running_agent(tmp_path, Setup(host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("my words"))
        with trio.fail_after(60):
            await checking.wait()
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        page = (await agent.history(done.thread))["events"]
        assert [(event["kind"], event["text"]) for event in page] == [("user", kept), ("assistant", "")]
        assert (done.state, done.text) == (InputState.STOPPED, kept), "what a stage was to scrub does not stay on disk"


async def test_a_failure_while_stopping_is_still_a_stop(tmp_path: Path) -> None:
    class Tearing(FakeModel):
        async def _parts(self, answer: Answer) -> AsyncIterator[Part]:
            try:
                async for part in super()._parts(answer):
                    yield part
            finally:
                raise OSError("torn")

    async with running_agent(tmp_path, Setup(model=Tearing(hangs("Well, ")))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("Talk"))
        await agent.until(lambda: agent.of("content_delta"))
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED


async def test_stop_of_an_idle_thread_says_that_nothing_ran(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")
        assert await agent.conversations.stop(OWNER, done.thread) is False


async def test_stop_leaves_the_waiting_message_to_run_next(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("x "), says("second")))) as agent:
        first = await agent.conversations.inject(OWNER, message("1"))
        await agent.until(lambda: agent.of("content_delta"))
        second = await agent.conversations.inject(OWNER, message("2", thread=first.thread.id))
        await agent.conversations.stop(OWNER, first.thread.id)
        done = await agent.conversations.wait(OWNER, second.input.id)
        assert done.outcome is not None
        assert done.outcome.text == "second"
