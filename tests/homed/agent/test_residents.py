"""Agents that stay: what they are given, and what interrupts whom (F.3; the others in ``test_residents_memory``)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio
import trio.testing

import homed.agent
from homed.agent.conversations import Receipt
from homed.agent.intake import Signal
from homed.identity.permissions import Decision, Rule
from homed.identity.roles import Identity, Role
from homed.providers.base import ErrorKind, ProviderError
from tests.kit.builders import GUEST, OWNER, FakeHost, calls, fails, hangs, message, says
from tests.kit.cast import MAIN, agents, child_of, making, quiet, resident, run, sending, settled, told

# -- grants ------------------------------------------------------------------------------------------------------------


async def test_f3_grant_input_channel_asks_the_person_and_routes_what_comes_in(tmp_path: Path) -> None:
    scripts = {MAIN: making("mail", inputs=["chat"]), "mail": [says("got it")]}
    async with agents(tmp_path, scripts) as (agent, _):
        receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await agent.until(lambda: agent.of("approval"))
        asked = agent.of("approval")[0]["approval"]
        await agent.conversations.approve(OWNER, asked, allow=True)
        await agent.conversations.wait(OWNER, receipt.input.id)
        owner_there = Identity("chat:me", "chat", "Me", Role.OWNER, "owner")
        done = await agent.ask("a letter", who=owner_there)
        assert done.outcome is not None
        assert done.outcome.text == "got it"
        _, thread = await child_of(agent, "mail")
        assert done.thread == thread
        await quiet(agent)
        assert told(agent) == [], "it answers in the channel it came from, not to its maker"
        elsewhere = await agent.ask("hi", who=GUEST)
        assert elsewhere.thread != thread, "a guest of that channel does not get in: it recalls what is the owner's"


async def test_f3_two_inputs_of_one_plugin_are_routed_to_different_agents(tmp_path: Path) -> None:
    home, work = (Identity(f"chat:{name}", "chat", name, Role.OWNER, "owner") for name in ("home", "work"))
    scripts = {MAIN: [says("x")], "one": [says("1"), says("1b")], "two": [says("2")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        for name, who in (("one", home), ("two", work)):
            cast.scripts[MAIN] = making(name, inputs=[who.peer])
            receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
            await agent.until(lambda: len(agent.of("approval")) % 2 == 1)
            await agent.conversations.approve(OWNER, agent.of("approval")[-1]["approval"], allow=True)
            await agent.conversations.wait(OWNER, receipt.input.id)
        first = await agent.ask("x", who=home)
        second = await agent.ask("y", who=work)
        again = await agent.ask("z", who=home)
        assert [d.outcome.text for d in (first, second, again) if d.outcome] == ["1", "2", "1b"]
        assert first.thread == again.thread != second.thread
        cast.scripts[MAIN] = making("three", inputs=[home.peer])
        assert await run(agent, cast, resident("create", name="three", brief="b", inputs=[home.peer])) is not None


async def test_f3_grants_of_outputs_and_narrow_tools_and_everything_by_default(tmp_path: Path) -> None:
    host = FakeHost()

    async def send(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "ok"

    for name in ("look", "other"):
        host.tool(name, send)
    for name in ("mail", "phone"):
        host.output(name, send)
    narrow = making("narrow", tools=["look"], outputs=["mail"])
    scripts = {
        MAIN: [*narrow[:-1], *making("all")], "narrow": [calls(("other", "{}")), says("x")], "all": [says("y")],
    }  # fmt: skip
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        thread = await settled(agent)
        for name in ("narrow", "all"):
            cast.scripts[MAIN] = sending(name)
            await settled(agent, thread=thread)
        assert cast.tools("narrow", 0) == {"look", "result_read", "output_send__mail", "output_send__mail_help"}
        assert "other was not given to this agent" in cast.results("narrow")[-1]
        assert cast.tools("all", 0) == cast.tools(MAIN, 0) - {"spawn_child", "child_result", "resident_agents"}


async def test_it_has_no_more_rights_than_the_turn_that_made_it(tmp_path: Path) -> None:
    host, wrote = FakeHost(), []

    async def write(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        wrote.append(1)
        return "written"

    host.tool("write", write, tool_class="write")
    script = [calls(("write", "{}")), says("done"), calls(("write", "{}")), says("done")]
    scripts = {MAIN: making("w"), "w": script}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        thread = await settled(agent)
        await agent.rules.add(Rule(Decision.ALLOW, tool="write", thread=thread))
        cast.scripts[MAIN] = sending("w")
        await settled(agent, thread=thread)
        assert wrote == [1], "a yes for the conversation counts for what it made"
        await agent.rules.add(Rule(Decision.DENY, tool="write", channel="webui"))
        cast.scripts[MAIN] = sending("w")
        await settled(agent, thread=thread)
        assert wrote == [1], "a no does, too"


async def test_a_question_of_its_is_asked_where_its_maker_is_spoken_to(tmp_path: Path) -> None:
    host = FakeHost()

    async def write(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "written"

    host.tool("write", write, tool_class="write")
    scripts = {MAIN: [*making("w")[:-1], *sending("w"), says("I see")], "w": [calls(("write", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        receipt = await agent.conversations.inject(OWNER, message("go", can_ask=True))
        await agent.until(lambda: agent.of("approval"))
        (asked,) = [n for n in agent.notices if n.type == "approval"]
        assert (asked.thread, asked.scope) == (receipt.thread.id, "owner")
        assert "The agent w asks for it." in str(asked.data["reason"])
        assert len(agent.conversations.approvals(OWNER)) == 1
        await agent.conversations.approve(OWNER, str(asked.data["approval"]), allow=True)
        await quiet(agent)
        assert cast.results("w")[-1] == "written"


async def test_a_tainted_turn_makes_a_tainted_agent_and_its_report_taints(tmp_path: Path) -> None:
    host = FakeHost()

    async def page(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "words of strangers"

    host.tool("page", page, untrusted=True)
    scripts = {MAIN: [calls(("page", "{}")), *making("t")[:-1], *sending("t"), says("I see")], "t": [says("done")]}
    async with agents(tmp_path, scripts, host=host) as (agent, _):
        await settled(agent)
        rows = await agent.store.read(lambda tx: tx.all("SELECT mark, untrusted FROM inputs ORDER BY seq"))
        assert [(mark.partition(":")[0], flag) for mark, flag in rows] == [("", 0), ("parent", 1), ("child", 1)]
    scripts = {MAIN: [*making("t")[:-1], *sending("t"), says("I see")], "t": [says("done")]}
    async with agents(tmp_path / "clean", scripts) as (agent, _):
        await settled(agent)
        rows = await agent.store.read(lambda tx: tx.all("SELECT mark, untrusted FROM inputs ORDER BY seq"))
        assert [flag for _, flag in rows] == [0, 0, 1]


# -- interrupts --------------------------------------------------------------------------------------------------------


async def test_f3_the_report_is_level_3_with_its_id(tmp_path: Path) -> None:
    scripts = {MAIN: [*making("r")[:-1], *sending("r"), says("I see")], "r": [says("all is well")]}
    async with agents(tmp_path, scripts) as (agent, _):
        await settled(agent)
        id_, _thread = await child_of(agent, "r")
        assert [(d["level"], d["mark"]) for d in told(agent)] == [(3, f"child:{id_}")]
        assert id_ in told(agent)[0]["text"]
        assert "all is well" in told(agent)[0]["text"]


async def test_f3_context_full_is_level_4_with_its_id_and_carries_only_the_signal(tmp_path: Path) -> None:
    full = ProviderError(ErrorKind.CONTEXT_FULL, "SECRET words do not fit")
    scripts = {MAIN: [*making("r")[:-1], *sending("r", "SECRET"), says("I see")], "r": [fails(full)] * 6}
    async with agents(tmp_path, scripts) as (agent, _):
        await settled(agent)
        id_, _thread = await child_of(agent, "r")
        (data,) = told(agent)
        assert (data["level"], data["mark"]) == (4, f"child:{id_}")
        assert data["text"] == f"[agent {id_}] The context of this agent is full."


async def test_f3_a_message_of_its_maker_interrupts_it(tmp_path: Path) -> None:
    scripts = {
        MAIN: making("r"), "r": [hangs("hm"), says("the second first"), says("then the first")],
    }  # fmt: skip
    async with agents(tmp_path, scripts) as (agent, cast):
        thread = await settled(agent)
        _, own = await child_of(agent, "r")
        said = message("a person's own", thread=own)
        first: Receipt = await agent.conversations.inject(OWNER, said)
        with trio.fail_after(60):
            await cast.hung("r").wait()
        cast.scripts[MAIN] = sending("r", "urgent")
        await settled(agent, thread=thread)
        done = await agent.conversations.wait(OWNER, first.input.id)
        assert done.outcome is not None
        assert done.outcome.text == "then the first"
        phases = [n.data["phase"] for n in agent.notices if n.type == "turn" and n.thread == own]
        assert phases == ["start", "suspended", "start", "end", "resumed", "end"]
        assert "the second first" in told(agent)[0]["text"]


async def test_f3_level_4_within_an_agent_is_clamped(tmp_path: Path) -> None:
    scripts = {MAIN: making("r"), "r": [says("x")]}
    async with agents(tmp_path, scripts) as (agent, _):
        await settled(agent)
        id_, own = await child_of(agent, "r")
        inside = Identity(OWNER.peer, "webui", "", Role.OWNER, f"temp:{id_}")
        receipt = await agent.conversations.signal(Signal(who=inside, text="critical!", level=4, thread=own))
        assert receipt.input.level == 3
        await agent.conversations.interrupt(OWNER, message("now", thread=own), 4, critical=True)
        await quiet(agent)
        levels = await agent.store.read(lambda tx: tx.all("SELECT level FROM inputs WHERE thread = ?", (own,)))
        assert levels == [(3,), (3,)]


async def test_f3_inspect_does_not_disturb(tmp_path: Path) -> None:
    scripts = {MAIN: [*making("r")[:-1], *sending("r")], "r": [hangs("thinking")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("go")
        with trio.fail_after(60):
            await cast.hung("r").wait()
        _, own = await child_of(agent, "r")
        before = [n.seq for n in agent.notices if n.thread == own]
        seen_ = await run(agent, cast, resident("inspect", agent="r"), done.thread)
        assert seen_["state"] == "working"
        assert seen_["last"][-1] == {"who": "user", "text": "go"}
        assert [n.seq for n in agent.notices if n.thread == own] == before
        assert cast.open == 1
        lane = agent.conversations.lane(own)
        assert lane is not None
        assert lane.running is not None
        assert not lane.running.stopping
        await agent.conversations.stop(OWNER, done.thread)


def test_f3_the_kernel_holds_no_current_channel() -> None:
    """Where an answer goes is said by the input it is of; nothing that lives longer than a turn knows a channel."""
    held = []
    for path in sorted(Path(homed.agent.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else ""
            name = name or (node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else "")
            if "channel" in name.lower() and ("current" in name.lower() or name.startswith("_") or name == "channel"):
                held.append((path.name, name))
    assert [one_ for one_ in held if one_[1] != "channel"] == []
