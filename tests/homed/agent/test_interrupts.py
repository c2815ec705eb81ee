"""Interrupts on the real loop: who stands still for whom, what each of them sees, and what is told (F.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.conversations import Receipt
from homed.agent.schedule import MOST, Way
from homed.errors import NotFound
from homed.memory.records import Input, InputState
from homed.providers.base import Assistant, ChatRequest, ToolResult, User
from tests.kit.builders import (
    GUEST,
    OWNER,
    Agent,
    Answer,
    FakeHost,
    FakeModel,
    Setup,
    calls,
    hangs,
    message,
    running_agent,
    says,
)


def texts(request: ChatRequest) -> list[str]:
    """What a request shows of the conversation."""
    return [f"{type(m).__name__}: {m.text}" for m in request.messages if isinstance(m, User | Assistant | ToolResult)]


async def begin(agent: Agent, text: str, thread: str = "") -> Receipt:
    """A message whose answer hangs in mid-stream."""
    agent.model.hanging = trio.Event()
    receipt = await agent.conversations.inject(OWNER, message(text, thread=thread))
    with trio.fail_after(60):
        await agent.model.hanging.wait()
    return receipt


async def interrupt(agent: Agent, text: str, thread: str, level: int = 2, **more: Any) -> tuple[Receipt, Way]:
    said = message(text, thread=thread, **more)
    receipt, counts, way = await agent.conversations.interrupt(OWNER, said, level, critical=level > 3)
    assert counts == level
    return receipt, way


async def ended(agent: Agent, *receipts: Receipt) -> list[Input]:
    with trio.fail_after(60):
        return [await agent.conversations.wait(OWNER, receipt.input.id) for receipt in receipts]


def said(*inputs: Input) -> list[str]:
    return [done.outcome.text if done.outcome else "" for done in inputs]


def phases(agent: Agent, *receipts: Receipt) -> list[str]:
    """The notices of the turns of these inputs, each with its place among them."""
    names = {receipt.input.id: str(at) for at, receipt in enumerate(receipts)}
    return [f"{data['phase']} {names[data['input']]}" for data in agent.of("turn") if data["input"] in names]


async def test_r1_a_suspended_model_step_is_sent_again_behind_the_interrupts_exchange(tmp_path: Path) -> None:
    """And R5: nothing of what was cancelled is kept, and it is sent again exactly once."""
    model = FakeModel(says("earlier"), hangs("It was a "), says("at noon"), says("It was a dark night."), says("more"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        thread = (await agent.ask("hello")).thread
        first = await begin(agent, "tell a story", thread)
        second, way = await interrupt(agent, "when is lunch?", thread)
        assert way is Way.SUSPENDS
        assert said(*await ended(agent, first, second)) == ["It was a dark night.", "at noon"]
        before = ["User: hello", "Assistant: earlier"]
        exchange = ["User: when is lunch?", "Assistant: at noon"]
        assert [texts(request) for request in model.requests[1:]] == [
            [*before, "User: tell a story"],
            [*before, "User: when is lunch?"],
            [*before, *exchange, "User: tell a story"],
        ]
        assert model.open == 0
        assert phases(agent, first, second) == ["start 0", "suspended 0", "start 1", "end 1", "resumed 0", "end 0"]
        page = (await agent.history(thread))["events"]
        assert [event["text"] for event in page][2:] == [
            "tell a story", "when is lunch?", "at noon", "It was a dark night.",
        ]  # fmt: skip
        await agent.ask("and then?", thread=thread)
        story = ["User: tell a story", "Assistant: It was a dark night."]
        assert texts(model.requests[-1]) == [*before, *exchange, *story, "User: and then?"], "each turn stands together"


async def test_r2_between_tool_batches_it_goes_on_with_the_next_and_runs_none_again(tmp_path: Path) -> None:
    running, go_on = trio.Event(), trio.Event()
    ran: list[str] = []

    async def look(args: Mapping[str, Any]) -> object:
        ran.append(args["at"])
        running.set()
        await go_on.wait()
        return f"seen {args['at']}"

    host = FakeHost()
    host.tool("look", look)
    script = (calls(("look", '{"at": "one"}')), says("hi back"), calls(("look", '{"at": "two"}')), says("done"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=host)) as agent:
        first = await agent.conversations.inject(OWNER, message("look twice"))
        await running.wait()
        second, way = await interrupt(agent, "hi", first.thread.id)
        assert way is Way.SUSPENDS
        await trio.testing.wait_all_tasks_blocked()
        assert len(agent.model.requests) == 1, "tools are waited for (P5)"
        go_on.set()
        assert said(*await ended(agent, first, second)) == ["done", "hi back"]
        assert ran == ["one", "two"]
        mine = ["User: look twice", "Assistant: ", "ToolResult: seen one"]
        assert [texts(request) for request in agent.model.requests[1:]] == [
            ["User: hi"],
            ["User: hi", "Assistant: hi back", *mine],
            ["User: hi", "Assistant: hi back", *mine, "Assistant: ", "ToolResult: seen two"],
        ]
        assert agent.conversations.dump()["counters"]["deferred"] == 1  # type: ignore[index]


def story() -> list[Answer]:
    return [calls(("note", "{}"), text="noting"), says("all ", "done")]


async def finals(folder: Path, *, interrupted: bool) -> list[tuple[str, object]]:
    """The notices of one script's turn, with or without an interrupt in its last model step."""
    host = FakeHost()

    async def note(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "noted"

    host.tool("note", note)
    script = [story()[0], hangs("all "), says("yes"), story()[1]] if interrupted else story()
    async with running_agent(folder, Setup(model=FakeModel(*script), host=host)) as agent:
        first = await agent.conversations.inject(OWNER, message("do it"))
        if interrupted:
            with trio.fail_after(60):
                await agent.model.hanging.wait()
            second, _ = await interrupt(agent, "are you there?", first.thread.id)
            await ended(agent, second)
        await ended(agent, first)
        turn = (await ended(agent, first))[0].turn
        kinds = ("turn", "tool_call", "agent_output")
        told = [n for n in agent.notices if n.turn == turn and n.type in kinds]
        events = [e for e in (await agent.history(first.thread.id))["events"] if e["turn"] == turn]
        return [
            *((n.type, n.data.get("phase") or n.data.get("status") or n.data.get("text")) for n in told
              if n.data.get("phase") not in ("suspended", "resumed")),
            *((event["kind"], event["text"]) for event in events),
        ]  # fmt: skip


async def test_r3_the_order_of_the_final_events_is_that_without_an_interrupt(tmp_path: Path) -> None:
    plain = await finals(tmp_path / "plain", interrupted=False)
    assert await finals(tmp_path / "interrupted", interrupted=True) == plain
    assert ("agent_output", "all done") in plain


async def test_r4_nested_ones_are_taken_up_last_in_first_out(tmp_path: Path) -> None:
    script = (hangs("a"), hangs("b"), hangs("c"), says("D"), says("C"), says("B"), says("A"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script))) as agent:
        receipts = [await begin(agent, "0")]
        thread = receipts[0].thread.id
        for level in (1, 2, 4):
            agent.model.hanging = trio.Event()
            receipts.append((await interrupt(agent, str(level), thread, level))[0])
            if level < 4:
                with trio.fail_after(60):
                    await agent.model.hanging.wait()
        assert said(*await ended(agent, *receipts)) == ["A", "B", "C", "D"]
        assert phases(agent, *receipts)[-7:] == [
            "end 3",
            "resumed 2",
            "end 2",
            "resumed 1",
            "end 1",
            "resumed 0",
            "end 0",
        ]
        assert texts(agent.model.requests[3]) == ["User: 4"], "each sees the state before the one it suspended"
        seen = ["User: 4", "Assistant: D", "User: 2", "Assistant: C", "User: 1"]
        assert texts(agent.model.requests[5]) == seen, "each resumed one, what was said meanwhile"
        assert agent.conversations.counts == {"busy": 0, "queued": 0, "suspended": 0}


async def test_x1_x3_each_input_has_one_end_of_its_own(tmp_path: Path) -> None:
    async with running_agent(
        tmp_path, Setup(model=FakeModel(hangs("long "), says("short"), says("long answer")))
    ) as agent:
        first = await begin(agent, "long")
        second, _ = await interrupt(agent, "short", first.thread.id)
        await ended(agent, first, second)
        outputs = {data["input"]: data["text"] for data in agent.of("agent_output")}
        assert outputs == {first.input.id: "long answer", second.input.id: "short"}
        ends = [data["input"] for data in agent.of("turn") if data["phase"] == "end"]
        assert sorted(ends) == sorted((first.input.id, second.input.id))


async def test_a_message_of_the_same_level_is_put_before_the_next_model_call(tmp_path: Path) -> None:
    running, go_on = trio.Event(), trio.Event()

    async def look(_: Mapping[str, Any]) -> object:
        running.set()
        await go_on.wait()
        return "seen"

    host = FakeHost()
    host.tool("look", look)
    script = (hangs("x"), calls(("look", "{}")), says("both"), says("first"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=host)) as agent:
        zero = await begin(agent, "zero")
        one, _ = await interrupt(agent, "look there", zero.thread.id)
        await running.wait()
        two, way = await interrupt(agent, "and there", zero.thread.id)
        assert way is Way.JOINS
        go_on.set()
        done = await ended(agent, zero, one, two)
        assert said(*done) == ["first", "both", "both"]
        assert texts(agent.model.requests[2]) == [
            "User: look there", "Assistant: ", "ToolResult: seen", "User: [interrupt message]\nand there",
        ]  # fmt: skip
        assert done[1].turn == done[2].turn
        ends = [data for data in agent.of("turn") if data["phase"] == "end"]
        assert [(data["input"], data.get("with")) for data in ends] == [
            (two.input.id, one.input.id), (one.input.id, None), (zero.input.id, None),
        ]  # fmt: skip
        outputs = [data["input"] for data in agent.of("agent_output")]
        assert outputs == [one.input.id, zero.input.id], "one answer is told once in a channel"


async def test_what_is_not_to_be_remembered_does_not_join(tmp_path: Path) -> None:
    script = (hangs("x"), says("private"), says("open"))
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("0"), *script))) as agent:
        zero = await begin(agent, "zero")
        agent.model.hanging = trio.Event()
        one, _ = await interrupt(agent, "one", zero.thread.id)
        await agent.model.hanging.wait()
        two, way = await interrupt(agent, "two", zero.thread.id, no_memory=True)
        assert way is Way.WAITS
        await agent.conversations.stop(OWNER, zero.thread.id)
        done = await ended(agent, one, two)
        assert [input_.state for input_ in done] == [InputState.STOPPED, InputState.ANSWERED]
        assert (await ended(agent, zero))[0].state is InputState.ANSWERED
        assert texts(agent.model.requests[-1])[-1] == "User: zero"
        assert "User: two" not in texts(agent.model.requests[-1])


async def test_what_a_stage_finds_private_as_it_joins_makes_what_answers_it_private(tmp_path: Path) -> None:
    running, go_on = trio.Event(), trio.Event()

    async def look(_: Mapping[str, Any]) -> object:
        running.set()
        await go_on.wait()
        return "seen"

    async def check(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"no_memory": True} if "PIN" in fields["raw_message"] else None

    host = FakeHost()
    host.tool("look", look)
    host.stage("on_input", check)
    script = (hangs("x"), calls(("look", "{}")), says("your PIN is 4711"), says("first"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script), host=host)) as agent:
        zero = await begin(agent, "zero")
        one, _ = await interrupt(agent, "look there", zero.thread.id)
        await running.wait()
        two, way = await interrupt(agent, "and for my PIN", zero.thread.id)
        assert way is Way.JOINS
        go_on.set()
        await ended(agent, zero, one, two)
        kept = await agent.store.read(lambda tx: tx.all("SELECT text FROM events WHERE layer = 'context' ORDER BY seq"))
        assert kept == [("zero",), ("first",)]


async def test_stop_ends_the_one_that_runs_or_the_one_that_is_named(tmp_path: Path) -> None:
    script = (hangs("first words "), hangs("x "), says("never"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script))) as agent:
        first = await begin(agent, "first")
        thread = first.thread.id
        await agent.until(lambda: agent.of("content_delta"))
        second, _ = await interrupt(agent, "second", thread)
        await agent.until(lambda: [data["text"] for data in agent.of("content_delta")] == ["first words ", "x "])
        page = await agent.history(thread)
        (still,) = page["suspended"]
        assert (still["text"], page["live"]["text"], page["live"]["level"]) == ("first words ", "x ", 2)
        assert not await agent.conversations.stop(OWNER, thread, "turn_of_nobody")
        assert await agent.conversations.stop(OWNER, thread, still["turn"])
        (one,) = await ended(agent, first)
        assert (one.state, said(one)) == (InputState.STOPPED, ["first words "])
        assert (await agent.history(thread))["live"]["turn"] == page["live"]["turn"], "the other one goes on"
        assert await agent.conversations.stop(OWNER, thread)
        assert (await ended(agent, second))[0].state is InputState.STOPPED
        assert len(agent.model.requests) == 2


async def test_an_interrupt_of_a_thread_where_nothing_runs_or_of_none_begins(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says("one"), says("two"), says("three")))) as agent:
        first = await agent.ask("first")
        second, way = await interrupt(agent, "wake up", first.thread, 3)
        assert (way, said(*await ended(agent, second))) == (Way.STARTS, ["two"])
        third, way = await interrupt(agent, "a new one", "", 3)
        assert (way, said(*await ended(agent, third))) == (Way.STARTS, ["three"])
        assert third.thread.id != first.thread
        with pytest.raises(NotFound):
            await agent.conversations.interrupt(GUEST, message("me too", GUEST, thread=first.thread), 2)


async def test_x4_a_second_one_of_the_same_id_waits_for_the_first_and_is_not_run(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("a"), hangs("b"), says("A")))) as agent:
        first = await begin(agent, "first")
        agent.model.hanging = trio.Event()
        second, _ = await interrupt(agent, "second", first.thread.id, client_msg_id="same")
        await agent.model.hanging.wait()
        for text in ("second", "first"):
            again, _ = await interrupt(agent, text, first.thread.id, client_msg_id="same")
            assert (again.duplicate, again.input.id) == (True, second.input.id)
        await agent.conversations.stop(OWNER, first.thread.id)
        assert [done.state for done in await ended(agent, second, first)] == [InputState.STOPPED, InputState.ANSWERED]


async def test_one_for_which_there_is_no_room_ends_and_its_sender_is_told(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("a")))) as agent:
        first = await begin(agent, "first")
        thread = first.thread.id
        agent.model.script = [hangs("b")]
        agent.model.hanging = trio.Event()
        await interrupt(agent, "runs", thread, 4)
        await agent.model.hanging.wait()
        waiting = [(await interrupt(agent, f"w{at}", thread, 2))[0] for at in range(MOST)]
        await interrupt(agent, "one more", thread, 3)
        (dropped,) = await ended(agent, waiting[0])
        assert dropped.state is InputState.REFUSED
        assert dropped.outcome is not None
        assert "least urgent" in dropped.outcome.error
        assert agent.of("agent_error")[-1]["input"] == dropped.id
        assert agent.of("turn")[-1] | {"error": "", "hint": ""} == {
            "phase": "end", "input": dropped.id, "state": "refused", "error": "", "hint": "", "usage": {}, "ms": 0,
        }  # fmt: skip
        shown = agent.conversations.dump()
        assert shown["queued"] == MOST
        assert shown["counters"]["dropped"] == 1  # type: ignore[index]
