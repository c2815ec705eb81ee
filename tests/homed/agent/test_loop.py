"""What happens when the model's side goes wrong, and what the model gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.context import paired
from homed.errors import StorageError
from homed.memory import events
from homed.memory.records import EventKind, InputState
from homed.providers import pairing
from homed.providers.base import Assistant, ErrorKind, Message, ProviderError, System, ToolCall, ToolResult, User
from homed.providers.failures import Where, from_response
from tests.kit.builders import (
    OWNER,
    Answer,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    fails,
    message,
    running_agent,
    says,
)
from tests.kit.failpoints import RaiseAt


async def give(_: object) -> object:
    await trio.lowlevel.checkpoint()
    return "x"


async def test_a_failed_model_call_is_one_outcome_with_its_hint(tmp_path: Path) -> None:
    error = ProviderError(ErrorKind.CREDENTIAL, "The key was refused.", hint="Set another key.", status=401)
    async with running_agent(tmp_path, Setup(model=FakeModel(fails(error), says("fine")))) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert (done.state, done.outcome.error, done.outcome.hint) == (
            InputState.FAILED, "The key was refused.", "Set another key.",
        )  # fmt: skip
        assert len(agent.model.requests) == 1
        again = await agent.ask("again", thread=done.thread)
        assert again.state is InputState.ANSWERED
        kinds = [type(m) for m in agent.model.requests[1].messages]
        assert kinds == [System, User, Assistant, User], "no two messages of a person in a row"


async def test_what_came_before_a_break_is_kept_and_said_to_be_partial(tmp_path: Path) -> None:
    error = ProviderError(ErrorKind.TRANSIENT, "The connection broke.", partial=True)
    async with running_agent(tmp_path, Setup(model=FakeModel(fails(error, "Half an ", "answer")))) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert (done.state, done.outcome.text) == (InputState.FAILED, "Half an answer")
        assert len(agent.model.requests) == 1, "no retry once something was shown"
        turn = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert (turn[-1].text, turn[-1].data["partial"]) == ("Half an answer", True)


async def test_a_window_that_is_too_long_is_shrunk_at_most_twice(tmp_path: Path) -> None:
    """E6: then a clear end that names the setting."""
    full = ProviderError(ErrorKind.CONTEXT_FULL, "too long", status=400)
    async with running_agent(tmp_path, Setup(model=FakeModel(*[fails(full)] * 5))) as agent:
        done = await agent.ask("a long message. " * 2000)
        assert done.state is InputState.FAILED
        assert len(agent.model.requests) == 3
        assert done.outcome is not None
        assert "context_window" in done.outcome.hint


async def test_a_server_that_could_not_read_its_models_call_is_asked_once_more_with_the_error(tmp_path: Path) -> None:
    """A15"""
    broken = from_response(Where("x", "y"), 500, b"error parsing tool call: raw='{'")
    host = FakeHost()
    host.tool("look", give)
    async with running_agent(tmp_path, Setup(model=FakeModel(fails(broken), says("better")), host=host)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.text == "better"
        note = agent.model.requests[1].messages[-1]
        assert isinstance(note, User)
        assert "error parsing tool call" in note.text
        assert [spec.name for spec in agent.model.requests[1].tools] == ["look"], "it is to make the call again"
        agent.model.script = [fails(broken), fails(broken), says("never")]
        again = await agent.ask("hi", thread=done.thread)
        assert again.state is InputState.FAILED


async def test_an_empty_answer_is_a_failure_that_says_so(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(Answer()))) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.state is InputState.FAILED
        assert "no answer" in done.outcome.error


async def test_usage_of_all_calls_of_a_turn_is_added_up_and_stored(tmp_path: Path) -> None:
    async def give(_: Mapping[str, Any]) -> object:
        return "x"

    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(calls(("look", "{}")), says("a", "b"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert done.outcome.usage == {"prompt": 20, "completion": 3, "cached": 2}
        assert agent.of("turn")[-1]["usage"] == {"prompt": 20, "completion": 3, "cached": 2}


async def test_every_request_passes_the_validator_however_small_the_window(tmp_path: Path) -> None:
    """A1, A2: many rounds of parallel calls, a window that holds few of them."""

    async def give(_: Mapping[str, Any]) -> object:
        return "a rather long result " * 20

    host = FakeHost()
    host.tool("look", give, parallel_safe=True)
    script = []
    for turn in range(6):
        script += [calls(("look", "{}"), ("look", "{}"), ids=[f"{turn}a", f"{turn}b"]), says(f"answer {turn}")]
    settings = FakeSettings(**{"core.agent.max_context_size": 7})
    model = FakeModel(*script, context_window=3000)
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=settings)) as agent:
        thread = ""
        for turn in range(6):
            thread = (await agent.ask(f"question {turn} " * 30, thread=thread)).thread
        for request in model.requests:
            assert pairing.check(request.messages) == []
            assert any(isinstance(m, User) for m in request.messages)
        assert any(isinstance(m, ToolResult) for m in model.requests[-1].messages)


async def test_an_event_with_a_broken_history_is_repaired_before_it_is_sent(tmp_path: Path) -> None:
    """A4: a stored result without an id, and a call without a result, from wherever they came."""
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")

        def spoil(tx: Any) -> None:
            call = '{"calls": [{"id": "", "name": "x", "arguments": {}}], "final": false}'
            tx.execute("UPDATE events SET data = ? WHERE kind = 'assistant'", (call,))

        await agent.store.write(spoil)
        again = await agent.ask("again", thread=done.thread)
        assert again.state is InputState.ANSWERED
        assert pairing.check(agent.model.requests[-1].messages) == []


async def test_a_source_without_tools_is_offered_none_and_gets_the_short_prompt(tmp_path: Path) -> None:
    async def give(_: Mapping[str, Any]) -> object:
        return "x"

    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(tools=False)
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("hi")
        request = model.requests[0]
        assert request.tools == ()
        assert isinstance(request.messages[0], System)
        assert len(request.messages[0].text) < 250
        assert "look" not in request.messages[0].text


def test_orphans_of_both_kinds_are_repaired_before_a_send() -> None:
    """A2, A4: a result whose call is gone, a call whose result is gone."""
    call = ToolCall("c1", "look", {})
    history: list[Message] = [
        System("s"),
        ToolResult("gone", "look", "x"),
        User("hi"),
        Assistant("", (call,)),
        User("again"),
    ]
    sent = paired(history)
    assert pairing.check(history)
    assert pairing.check(sent) == []
    assert User("again") in sent


async def test_the_prompt_has_persona_and_date_and_the_newest_input_last(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.agent.persona": "You are called Holo."})
    async with running_agent(tmp_path, Setup(settings=settings)) as agent:
        await agent.ask("What is $up?")
        system, user = agent.model.requests[0].messages
        assert isinstance(system, System)
        assert "You are called Holo." in system.text
        assert "Today is " in system.text
        assert user == User("What is $up?")


async def test_a_store_that_fails_under_a_turn_takes_nobody_else_down(tmp_path: Path) -> None:
    broken = RaiseAt("turn.before_finish", StorageError("The disk is full.", hint="Make room."))
    async with running_agent(tmp_path, Setup(failpoints=broken)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        with pytest.raises(Exception, match="stopped working"):
            await agent.conversations.wait(OWNER, receipt.input.id)
        assert agent.of("agent_error")[-1]["error"] == "The disk is full."
        done = await agent.ask("still there?")
        assert done.state is InputState.ANSWERED


async def test_a_disk_that_fails_under_parallel_calls_is_told_in_its_own_words(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give, parallel_safe=True)
    full = RaiseAt("turn.tool_done", StorageError("The disk is full.", hint="Make room."))
    setup = Setup(model=FakeModel(calls(("look", "{}"), ("look", "{}"))), host=host, failpoints=full)
    async with running_agent(tmp_path, setup) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        assert (done.outcome.error, done.outcome.hint) == ("The disk is full.", "Make room.")


async def test_a_defect_in_a_turn_is_one_failed_outcome_and_not_the_end_of_homed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = RaiseAt("turn.before_model", ZeroDivisionError("oops"))
    async with running_agent(tmp_path, Setup(failpoints=broken)) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert "oops" in caplog.text
        turn = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert [event.kind for event in turn] == [EventKind.USER, EventKind.NOTE]


async def test_what_a_model_thought_aloud_is_told_as_a_whole_after_each_call(tmp_path: Path) -> None:
    model = FakeModel(says("Bees ", "swarm.", reasoning="What do they do?"), says("In May."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        done = await agent.ask("what do bees do?")
        assert agent.of("reasoning") == [{"step": 0, "text": "What do they do?"}]
        await agent.ask("when?", thread=done.thread)
        assert len(agent.of("reasoning")) == 1, "it did not think"


async def test_what_goes_wrong_after_the_end_of_a_turn_is_no_second_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("the window")

    async with running_agent(tmp_path, Setup(model=FakeModel(says("done"), says("again")))) as agent:
        monkeypatch.setattr(agent.conversations.sinking, "run", broken)
        done = await agent.ask("hi")
        await agent.conversations.wait_idle()
        assert done.state is InputState.ANSWERED
        assert agent.of("agent_error") == []
        assert "went wrong after its end: the window" in caplog.text
        assert (await agent.ask("and now?", thread=done.thread)).state is InputState.ANSWERED
