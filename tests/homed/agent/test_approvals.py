"""Questions to a person: asked, answered, remembered, expired; and who may answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import Denied, InvalidInput, NotFound
from homed.identity.roles import Identity, Role
from homed.memory.records import InputState
from homed.providers.base import ToolResult
from tests.kit.builders import (
    GUEST,
    OWNER,
    TRUSTED,
    Agent,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    message,
    running_agent,
    says,
)


async def wrote(args: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return "written"


def writing(**more: Any) -> Setup:
    host = FakeHost()
    host.tool("write", wrote, tool_class="write")
    host.tool("wipe", wrote, tool_class="dangerous")
    return Setup(host=host, **more)


async def asked(agent: Agent, who: Identity = OWNER, **more: Any) -> tuple[str, str, str]:
    """Send a message and wait for its question: (input, thread, approval)."""
    count = len(agent.of("approval"))
    receipt = await agent.conversations.inject(who, message("go", who, can_ask=True, **more))
    await agent.until(lambda: len(agent.of("approval")) > count)
    return receipt.input.id, receipt.thread.id, str(agent.of("approval")[-1]["approval"])


async def test_a_yes_runs_the_call_and_a_no_tells_the_model(tmp_path: Path) -> None:
    model = FakeModel(calls(("write", '{"a": 1}')), says("ok"), calls(("write", "{}")), says("ok"))
    setup = writing(model=model)
    async with running_agent(tmp_path, setup) as agent:
        input_, thread, approval = await asked(agent)
        view = agent.conversations.approvals(OWNER)[0]
        assert (view["approval"], view["tool"], view["class"], view["args"]) == (approval, "write", "write", {"a": 1})
        assert view["yes"] == agent.of("approval")[-1]["yes"] == "thread"
        assert (await agent.history(thread))["approvals"] == [view]
        await agent.conversations.approve(OWNER, approval, allow=True)
        await agent.conversations.wait(OWNER, input_)
        assert len(setup.host.invoked()) == 1
        input_, _, approval = await asked(agent, thread=thread)
        await agent.conversations.approve(OWNER, approval, allow=False)
        await agent.conversations.wait(OWNER, input_)
        assert len(setup.host.invoked()) == 1
        told = [m for m in model.requests[3].messages if isinstance(m, ToolResult)][-1]
        assert told.is_error
        assert "The person said no" in told.text
        assert [a["status"] for a in agent.of("approval")] == ["asked", "allowed", "asked", "denied"]


async def test_remembered_for_the_thread_it_is_not_asked_again_there_but_elsewhere(tmp_path: Path) -> None:
    one = (calls(("write", "{}")), says("ok"))
    async with running_agent(tmp_path, writing(model=FakeModel(*one, *one, *one))) as agent:
        input_, thread, approval = await asked(agent)
        await agent.conversations.approve(OWNER, approval, allow=True, remember="thread")
        await agent.conversations.wait(OWNER, input_)
        done = await agent.ask("again", thread=thread, can_ask=True)
        assert done.state is InputState.ANSWERED
        assert len(agent.of("approval")) == 2
        await asked(agent)


async def test_a_no_is_never_remembered(tmp_path: Path) -> None:
    one = (calls(("write", "{}")), says("ok"))
    async with running_agent(tmp_path, writing(model=FakeModel(*one, *one))) as agent:
        input_, thread, approval = await asked(agent)
        await agent.conversations.approve(OWNER, approval, allow=False, remember="thread")
        await agent.conversations.wait(OWNER, input_)
        assert agent.rules.rules == []
        await asked(agent, thread=thread)


async def test_what_the_owner_allowed_himself_others_in_the_same_thread_may_not(tmp_path: Path) -> None:
    owner, member = (replace(who, scope="shared") for who in (OWNER, TRUSTED))
    one = (calls(("wipe", "{}")), says("ok"))
    async with running_agent(tmp_path, writing(model=FakeModel(*one, *one))) as agent:
        input_, thread, approval = await asked(agent, owner)
        await agent.conversations.approve(owner, approval, allow=True, remember="thread")
        await agent.conversations.wait(owner, input_)
        await agent.ask("wipe it again", who=member, thread=thread, can_ask=True)
        assert len(agent.host.invoked()) == 1


async def test_silence_is_a_no(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.agent.approval_timeout": 0.05})
    setup = writing(model=FakeModel(calls(("write", "{}")), says("ok")), settings=settings)
    async with running_agent(tmp_path, setup) as agent:
        await agent.ask("go", can_ask=True)
        assert setup.host.invoked() == []
        assert [a["status"] for a in agent.of("approval")] == ["asked", "expired"]
        assert "Nobody answered" in agent.of("tool_call")[-1]["result"]


async def test_where_nobody_can_be_asked_it_is_a_no_with_the_reason(tmp_path: Path) -> None:
    setup = writing(model=FakeModel(calls(("write", "{}")), says("ok")))
    async with running_agent(tmp_path, setup) as agent:
        await agent.ask("go", can_ask=False)
        assert setup.host.invoked() == []
        assert agent.of("approval") == []
        assert "Nobody can be asked" in agent.of("tool_call")[-1]["result"]


async def test_only_who_sees_the_thread_may_answer_and_no_guest(tmp_path: Path) -> None:
    async with running_agent(tmp_path, writing(model=FakeModel(calls(("write", "{}"))))) as agent:
        _, _, approval = await asked(agent)
        for other in (GUEST, TRUSTED):
            with pytest.raises(NotFound):
                await agent.conversations.approve(other, approval, allow=True)
        same_scope = Identity("chat:x", "chat", "X", Role.GUEST, "owner")
        with pytest.raises(Denied):
            await agent.conversations.approve(same_scope, approval, allow=True)
        with pytest.raises(InvalidInput):
            await agent.conversations.approve(OWNER, approval, allow=True, remember="for ever")
        assert agent.conversations.approvals(GUEST) == []


async def test_an_answered_question_cannot_be_answered_again(tmp_path: Path) -> None:
    async with running_agent(tmp_path, writing(model=FakeModel(calls(("wipe", "{}")), says("ok")))) as agent:
        input_, _, approval = await asked(agent)
        await agent.conversations.approve(OWNER, approval, allow=False)
        with pytest.raises(NotFound):  # also before the turn has taken the first answer
            await agent.conversations.approve(OWNER, approval, allow=True)
        await agent.conversations.wait(OWNER, input_)
        assert agent.host.invoked() == []
        with pytest.raises(NotFound):
            await agent.conversations.approve(OWNER, approval, allow=False)


async def test_in_a_group_nobody_is_asked_whatever_its_channel_says(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.agent.approval_timeout": 0.05})
    given = writing(model=FakeModel(calls(("wipe", "{}")), says("I may not.")), settings=settings)
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("wipe it", who=replace(OWNER, scope="group:webui:77"), can_ask=True)
        assert (done.can_ask, done.state) == (False, InputState.ANSWERED)
        assert agent.of("approval") == []
        assert given.host.invoked() == []


async def test_questions_about_big_arguments_fit_the_line_together(tmp_path: Path) -> None:
    big = json.dumps({"text": "x" * 300_000, "path": "a.txt"})
    async with running_agent(tmp_path, writing(model=FakeModel(*[calls(("write", big)) for _ in range(4)]))) as agent:
        for _ in range(4):
            await asked(agent)
        listed = agent.conversations.approvals(OWNER)
        assert [view["args"]["path"] for view in listed] == ["a.txt"] * 4  # type: ignore[index]
        assert len(json.dumps(listed)) < 100_000
        assert all(len(json.dumps(dict(notice))) < 100_000 for notice in agent.of("approval"))
