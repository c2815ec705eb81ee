"""What ``before_output`` took out of an answer is shown, searched and told to nobody again; nor is an unchecked one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.explain import Explanations
from homed.agent.ports import CallContext
from homed.builtin.tools import builtin_tools
from homed.errors import NotFound
from homed.memory import threads
from homed.memory.records import Input, InputState
from tests.kit.builders import OWNER, Agent, FakeHost, FakeModel, Setup, calls, message, running_agent, says

SECRET = "77881"


def scrubbed(checking: trio.Event | None = None, go_on: trio.Event | None = None) -> FakeHost:
    async def scrub(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        if SECRET in str(fields["final_text"]) and checking is not None and go_on is not None:
            checking.set()
            await go_on.wait()
        return {"final_text": str(fields["final_text"]).replace(SECRET, "[removed]")}

    host = FakeHost()
    host.stage("before_output", scrub, plugin="sanitizer", on_failure="closed")  # so it is not shown while it grows
    return host


async def shown_anywhere(agent: Agent, done: Input, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything that people can be shown of a turn's conversation, found by the secret and by other words."""
    archive, found = agent.conversations.archive, [str(await agent.history(done.thread))]
    ids = await agent.store.read(lambda tx: tx.all("SELECT id FROM events"))
    for (id_,) in ids:
        try:
            found.append(str(await archive.event(OWNER, id_)))
        except NotFound:
            found.append("")
    for newest in (threads.LOOKED_THROUGH, 0):  # by letters, and by the word index
        with monkeypatch.context() as patch:
            patch.setattr(threads, "LOOKED_THROUGH", newest)
            listed = (await archive.threads(OWNER, SECRET))["threads"]
            found.append(f"found by {SECRET}" if listed else "")
    return "\n".join(found)


async def test_what_was_taken_out_is_in_no_prompt_no_explanation_and_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FakeModel(
        says(f"the door code is {SECRET}"),
        calls(("coldcontext_query", f'{{"query": "door code {SECRET}"}}')),
        says("two"),
    )
    setup = Setup(model=model, host=scrubbed(), builtins=lambda store, host: builtin_tools(store))
    async with running_agent(tmp_path, setup) as agent:
        one = await agent.ask("what opens the front?")
        assert one.outcome is not None
        assert one.outcome.text == "the door code is [removed]"
        assert SECRET not in await shown_anywhere(agent, one, monkeypatch)
        await agent.store.write(lambda tx: tx.execute("UPDATE events SET layer = 'cold' WHERE layer = 'context'"))
        two = await agent.ask("door code?")
        said = "\n".join(str(request.messages) for request in model.requests)
        assert "the door code is [removed]" in said, "the answer itself is remembered"
        assert SECRET not in said.replace(f"door code {SECRET}", ""), "but for the model's own question"
        explained = await Explanations(agent.store).explain(OWNER, two.turn)
        assert "[removed]" in str(explained)
        assert SECRET not in str(explained)


async def test_an_unchecked_answer_is_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checking, go_on = trio.Event(), trio.Event()
    model = FakeModel(says(f"the door code is {SECRET}"), says("two"))
    async with running_agent(tmp_path, Setup(model=model, host=scrubbed(checking, go_on))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("what opens the front?"))
        with trio.fail_after(60):
            await checking.wait()
        assert SECRET not in await shown_anywhere(agent, receipt.input, monkeypatch)
        two = await agent.ask("door code?")
        assert SECRET not in str(model.requests[1])
        assert SECRET not in str(await Explanations(agent.store).explain(OWNER, two.turn))
        go_on.set()
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.ANSWERED
        assert "[removed]" in str(await agent.history(done.thread))


async def test_not_even_its_id_gives_a_draft_to_a_model(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says(SECRET)), host=scrubbed())) as agent:
        done = await agent.ask("code?")
        sql = "SELECT id FROM events WHERE data ->> 'code' = 'draft'"
        draft = await agent.store.read(lambda tx: tx.value(sql))
        user = await agent.store.read(lambda tx: tx.value("SELECT id FROM events WHERE kind = 'user'"))
        read = {tool.entry.name: tool for tool in builtin_tools(agent.store)}["result_read"]
        context = CallContext(done.thread, done.channel, done.peer, done.role, done.scope, done.turn)
        assert "code?" in str(await read.run(context, {"id": user}))
        with pytest.raises(NotFound):
            await read.run(context, {"id": draft})


async def test_an_answer_that_could_not_be_checked_stays_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        if SECRET in str(fields["final_text"]):
            raise NotFound("no")
        return {}

    host = FakeHost()
    host.stage("before_output", fails, plugin="sanitizer", on_failure="closed")
    model = FakeModel(says(f"the door code is {SECRET}"), says("two"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        one = await agent.ask("what opens the front?")
        assert one.state is InputState.FAILED
        assert SECRET not in await shown_anywhere(agent, one, monkeypatch)
        await agent.ask("door code?", thread=one.thread)
        assert SECRET not in str(model.requests[1])
        assert "could not check it" in str(model.requests[1])
