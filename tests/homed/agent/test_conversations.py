"""Messages in, outcomes out: durable, once, in order, only for those who may see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent.conversations import Receipt
from homed.errors import InvalidInput, NotFound, Unavailable
from homed.memory import events, inputs
from homed.memory.records import InputState
from tests.kit.builders import GUEST, OWNER, FakeModel, Setup, hangs, message, running_agent, says


async def test_an_answer_streams_and_is_the_outcome(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says("Hello ", "there, ", "你好"), pace=0.02))) as agent:
        done = await agent.ask("Hi")
        assert done.state is InputState.ANSWERED
        assert done.outcome is not None
        assert done.outcome.text == "Hello there, 你好"
        assert done.outcome.usage == {"prompt": 10, "completion": 3, "cached": 2}
        deltas = agent.of("content_delta")
        assert len(deltas) > 1
        text = ""
        for delta in deltas:
            assert delta["at"] == len(text)
            text += delta["text"]
        assert text == "Hello there, 你好"
        assert [d["phase"] for d in agent.of("turn")] == ["start", "end"]
        assert agent.of("agent_output")[-1] == {"input": done.id, "text": "Hello there, 你好", "state": "answered"}


async def test_the_input_is_durable_before_inject_returns(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs()))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("Keep me"))
        stored = await agent.store.read(lambda tx: inputs.get(tx, receipt.input.id))
        assert stored is not None
        assert stored.text == "Keep me"
        assert agent.of("raw_input")[0]["input"] == receipt.input.id


async def test_the_same_client_msg_id_gets_the_first_result_and_runs_once(tmp_path: Path) -> None:
    """E42"""
    async with running_agent(tmp_path, Setup(model=FakeModel(says("one")))) as agent:
        first = await agent.conversations.inject(OWNER, message("Hi", client_msg_id="m1"))
        again = await agent.conversations.inject(OWNER, message("Hi", client_msg_id="m1"))
        assert (again.duplicate, again.input.id, again.thread.id) == (True, first.input.id, first.thread.id)
        await agent.conversations.wait(OWNER, first.input.id)
        late = await agent.ask("Hi", client_msg_id="m1")
        assert late.outcome is not None
        assert late.outcome.text == "one"
        assert len(agent.model.requests) == 1
        assert len((await agent.conversations.archive.threads(OWNER))["threads"]) == 1  # type: ignore[arg-type]


async def test_two_at_once_with_the_same_client_msg_id_queue_it_once(tmp_path: Path) -> None:
    """E42: the repetition may hear of the commit before the first one does."""
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("well, ")))) as agent:
        write, repeated, accepted = agent.store.write, trio.Event(), 0

        async def out_of_order(fn: Any) -> Any:
            result = await write(fn)
            if isinstance(result, Receipt):
                nonlocal accepted
                accepted += 1
                if not result.duplicate:
                    await repeated.wait()
            return result

        async def send() -> None:
            if (await agent.conversations.inject(OWNER, message("hi", client_msg_id="m1"))).duplicate:
                repeated.set()

        agent.store.write = out_of_order  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
        await agent.until(lambda: agent.of("content_delta"))
        assert accepted == 2
        assert agent.conversations.counts == {"busy": 1, "queued": 0, "suspended": 0}
        assert len(agent.of("raw_input")) == 1


async def test_one_turn_at_a_time_in_a_thread_and_threads_side_by_side(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("a "), hangs("b "), says("c")))) as agent:
        one = await agent.conversations.inject(OWNER, message("1"))
        await agent.until(lambda: agent.of("content_delta"))
        await agent.conversations.inject(OWNER, message("2", thread=one.thread.id))
        await agent.conversations.inject(OWNER, message("other thread"))
        await agent.until(lambda: len(agent.of("content_delta")) == 2)
        assert agent.model.open == 2
        assert agent.conversations.counts == {"busy": 2, "queued": 1, "suspended": 0}


async def test_who_asks_in_vain_takes_nobodys_waking_away(tmp_path: Path) -> None:
    """Two look at an input at once; the one who may not see it is told so first."""
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("well, ")))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        await agent.until(lambda: agent.of("content_delta"))
        told, read = trio.Event(), agent.store.read

        async def slowly(fn: Any) -> Any:
            found = await read(fn)
            if not told.is_set():
                told.set()
                with pytest.raises(NotFound):
                    await agent.conversations.wait(GUEST, receipt.input.id)
            return found

        agent.store.read = slowly  # type: ignore[method-assign]
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(agent.conversations.wait, OWNER, receipt.input.id)
                await trio.testing.wait_all_tasks_blocked(0.01)
                await agent.conversations.stop(OWNER, receipt.thread.id)
        assert agent.conversations._endings._ends._ended == {}


async def test_who_stops_waiting_leaves_nothing_behind(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("well, ")))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        with trio.move_on_after(0):
            await agent.conversations.wait(OWNER, receipt.input.id)
        assert agent.conversations._endings._ends._ended == {}


async def test_an_idle_thread_has_no_task(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        before = agent.nursery.child_tasks
        for number in range(5):
            await agent.ask(f"message {number}")
        await trio.testing.wait_all_tasks_blocked()
        assert agent.conversations.counts == {"busy": 0, "queued": 0, "suspended": 0}
        assert agent.nursery.child_tasks == before


async def test_a_full_queue_refuses_before_anything_is_stored(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs()))) as agent:
        first = await agent.conversations.inject(OWNER, message("0"))
        for number in range(256):
            await agent.conversations.inject(OWNER, message(str(number), thread=first.thread.id))
        with pytest.raises(Unavailable, match="256"):
            await agent.conversations.inject(OWNER, message("too much", thread=first.thread.id))
        count = await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM inputs"))
        assert count == 257


async def test_a_thread_is_titled_by_its_first_message(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("Please plan a long walk through the hills near my home")
        view = await agent.history(done.thread)
        assert view["thread"]["title"] == "Please plan a long walk through the hills…"
        assert [d["created"] for d in agent.of("thread")] == [True, False]


async def test_a_guest_cannot_read_stop_or_write_the_owners_thread(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("private")
        talk = agent.conversations
        with pytest.raises(NotFound):
            await talk.archive.history(GUEST, done.thread)
        with pytest.raises(NotFound):
            await talk.stop(GUEST, done.thread)
        with pytest.raises(NotFound):
            await talk.wait(GUEST, done.id)
        with pytest.raises(NotFound):
            await talk.archive.rename(GUEST, done.thread, "mine")
        with pytest.raises(NotFound):
            await talk.inject(GUEST, message("hello", GUEST, thread=done.thread))
        assert (await talk.archive.threads(GUEST))["threads"] == []


@pytest.mark.parametrize(
    ("text", "said"), [("", "empty"), (" \n", "empty"), ("x" * 300_000, "too long"), ("\ud800", "Unicode")]
)
async def test_what_is_no_message_is_refused(tmp_path: Path, text: str, said: str) -> None:
    async with running_agent(tmp_path) as agent:
        with pytest.raises(InvalidInput, match=said):
            await agent.conversations.inject(OWNER, message(text))


async def test_secrets_are_gone_before_storage_and_before_any_notice(tmp_path: Path) -> None:
    """D6: not in the input, the events, a notice, nor the request to the model."""
    key = "sk-" + "a1b2c3d4" * 4
    async with running_agent(tmp_path, Setup(model=FakeModel(says("You said ", key[:9], key[9:], " to me")))) as agent:
        done = await agent.ask(f"my key is {key} ok")
        stored = await agent.store.read(lambda tx: events.history(tx, done.thread, before=None, limit=50))
        assert key not in str(stored)
        assert "[secret:key]" in str(stored)
        assert key not in str(agent.notices)
        assert key[9:] not in str(agent.notices)
        assert key not in str(agent.model.requests)
        assert key not in str(done)


async def test_with_no_model_the_outcome_says_what_to_do(tmp_path: Path) -> None:
    model = FakeModel()
    model.configured = False
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        done = await agent.ask("Hi")
        assert done.state is InputState.FAILED
        assert done.outcome is not None
        assert "homed models add" in done.outcome.hint
        assert agent.of("agent_error")[0]["hint"] == done.outcome.hint


async def test_after_close_intake_nothing_is_accepted_and_running_turns_end(tmp_path: Path) -> None:
    """C7: the last turn is stored before homed leaves."""
    async with running_agent(tmp_path, Setup(model=FakeModel(says("done"), pace=0.05))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("last words"))
        agent.conversations.close_intake()
        with pytest.raises(Unavailable, match="stopping"):
            await agent.conversations.inject(OWNER, message("too late"))
        with trio.fail_after(60):
            await agent.conversations.wait_idle()
        stored = await agent.store.read(lambda tx: inputs.get(tx, receipt.input.id))
        assert stored is not None
        assert stored.state is InputState.ANSWERED
