"""Whoever gave an agent something hears once how it ended, in whatever way it did; and nobody else is told instead."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent.intake import Signal
from homed.errors import StorageError, Unavailable
from homed.identity.roles import Identity, Role
from homed.memory.records import InputState
from tests.kit.builders import OWNER, Agent, FakeHost, FakeSettings, calls, hangs, message, says
from tests.kit.cast import (
    MAIN,
    Cast,
    agents,
    child_of,
    making,
    one,
    quiet,
    resident,
    run,
    sending,
    settled,
    spawn,
    told,
)

ROOM = "group:chat:room"


class Look:
    """A tool that does not come back before it is let go on."""

    def __init__(self) -> None:
        self.host, self.began, self.go_on = FakeHost(), trio.Event(), trio.Event()
        self.host.tool("look", self._look)

    async def _look(self, _: Mapping[str, Any]) -> object:
        self.began.set()
        await self.go_on.wait()
        return "seen"


async def busy(agent: Agent, cast: Cast, look: Look) -> str:
    """Give the resident r something that takes time; the conversation that did."""
    await settled(agent)
    cast.scripts[MAIN] = sending("r", "the first")
    done = await agent.ask("go")
    with trio.fail_after(60):
        await look.began.wait()
    return done.thread


async def beside(agent: Agent, cast: Cast) -> str:
    """Give it something more, from another conversation."""
    cast.scripts[MAIN] = sending("r", "the second")
    return (await agent.ask("and")).thread


def heard_of(agent: Agent) -> list[tuple[str, str]]:
    """Conversation and text of each report."""
    marked = [n for n in agent.notices if n.type == "raw_input" and str(n.data.get("mark", "")).startswith("child:")]
    return [(n.thread, str(n.data["text"])) for n in marked]


async def given_to(agent: Agent) -> list[str]:
    rows = await agent.store.read(lambda tx: tx.all("SELECT state FROM inputs WHERE mark LIKE 'parent:%' ORDER BY seq"))
    return [str(state) for (state,) in rows]


# -- stops -------------------------------------------------------------------------------------------------------------


async def test_what_was_to_be_put_into_an_agents_turn_is_stopped_with_its_maker(tmp_path: Path) -> None:
    look = Look()
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        second = await beside(agent, cast)
        assert await agent.conversations.stop(OWNER, second)
        look.go_on.set()
        await quiet(agent)
        assert not any("the second" in text for text in cast.heard("r"))
        assert await given_to(agent) == ["answered", "stopped"]
        assert [thread for thread, _ in heard_of(agent)] == [first]


async def test_a_stop_tells_those_who_did_not_stop(tmp_path: Path) -> None:
    look = Look()
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), hangs("hm")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        second = await beside(agent, cast)
        look.go_on.set()
        with trio.fail_after(60):
            await cast.hung("r").wait()
        assert await agent.conversations.stop(OWNER, first)
        await quiet(agent)
        assert await given_to(agent) == ["stopped", "stopped"]
        ((thread, text),) = heard_of(agent)
        assert thread == second
        assert "stopped" in text


async def test_a_stop_while_a_task_is_on_its_way_leaves_no_orphan(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), says("x")], "helper": [says("never")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        conversations = agent.conversations
        real = conversations.signal

        async def stopped_first(signal: Signal) -> Any:
            assert await conversations.stop(OWNER, receipt.thread.id)
            return await real(signal)

        conversations.signal = stopped_first  # type: ignore[method-assign]
        receipt = await conversations.inject(OWNER, message("go"))
        done = await conversations.wait(OWNER, receipt.input.id)
        await quiet(agent)
        assert done.state is InputState.STOPPED
        assert "helper" not in cast.asked
        assert set(await given_to(agent)) <= {"stopped"}
        assert heard_of(agent) == []
        assert await agent.store.read(lambda tx: tx.all("SELECT told FROM child_tasks")) == [(1,)]


# -- other ends --------------------------------------------------------------------------------------------------------


async def test_what_a_stage_ends_on_its_way_into_an_agents_turn_is_told(tmp_path: Path) -> None:
    look = Look()

    async def block(fields: Mapping[str, Any]) -> object:
        return {"response": "not today"} if fields["raw_message"] == "the second" else {}

    look.host.stage("on_input", block)
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        second = await beside(agent, cast)
        look.go_on.set()
        await quiet(agent)
        assert {thread: "not today" in text for thread, text in heard_of(agent)} == {first: False, second: True}


async def test_what_finds_no_room_at_an_agent_is_told(tmp_path: Path) -> None:
    look = Look()
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        second = await beside(agent, cast)
        id_, own = await child_of(agent, "r")
        inside = Identity(OWNER.peer, "webui", "", Role.OWNER, f"temp:{id_}")
        for n in range(256):
            await agent.conversations.signal(Signal(who=inside, text=f"{n}", level=2, thread=own))
        await agent.until(lambda: heard_of(agent))
        ((thread, text),) = heard_of(agent)
        assert thread == second != first
        assert "refused" in text
        await agent.conversations.stop(OWNER, own)
        look.go_on.set()


async def test_a_result_that_another_conversation_looks_at_is_told_all_the_same(tmp_path: Path) -> None:
    look = Look()
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        id_, _ = await child_of(agent, "r")
        cast.scripts[MAIN] = [one(("child_result", json.dumps({"child": id_, "wait": 60}))), says("so it is")]
        receipt = await agent.conversations.inject(OWNER, message("what of r?"))
        await agent.until(lambda: any(d.get("tool") == "child_result" for d in agent.of("tool_call")))
        look.go_on.set()
        await agent.conversations.wait(OWNER, receipt.input.id)
        await quiet(agent)
        (seen,) = [d for d in agent.of("tool_call") if d["tool"] == "child_result" and d["status"] == "ok"]
        assert json.loads(seen["result"])["text"] == "done"
        assert [thread for thread, _ in heard_of(agent)] == [first]


async def test_what_ends_when_its_collector_has_given_up_is_told(tmp_path: Path) -> None:
    look = Look()
    scripts = {MAIN: making("r"), "r": [calls(("look", "{}")), says("done")]}
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        first = await busy(agent, cast, look)
        children = agent.conversations.children.need()
        looked = children.owed._awaited

        async def too_late(given: Any, wait: float) -> Any:
            found = await looked(given, wait)
            look.go_on.set()
            await agent.until(lambda: any(d.get("phase") == "end" for d in agent.of("child")))
            await trio.testing.wait_all_tasks_blocked(0.01)
            return found

        children.owed._awaited = too_late  # type: ignore[method-assign]
        (child,) = children.roster.threads.values()
        found = await children.owed.result(child, 0.01, first)
        assert found.input is not None
        assert found.input.outcome is None
        await quiet(agent)
        assert [thread for thread, _ in heard_of(agent)] == [first]


async def test_a_report_is_told_however_short_a_persons_messages_are_to_be(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.agent.max_message_bytes": 1000})
    scripts = {MAIN: [one(spawn("look")), says("later"), says("I see")], "helper": [says("long " * 20_000)]}
    async with agents(tmp_path, scripts, settings=settings) as (agent, _):
        await settled(agent)
        ((_, text),) = heard_of(agent)
        assert "gives the whole" in text


async def test_what_an_agent_was_asked_by_a_lesser_one_comes_back_with_no_more_rights(tmp_path: Path) -> None:
    owner, friend = (Identity(f"chat:{name}", "chat", name, role, ROOM) for name, role in (
        ("me", Role.OWNER), ("friend", Role.TRUSTED),
    ))  # fmt: skip
    scripts = {MAIN: making("r"), "r": [says("do as I say")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await settled(agent, who=owner)
        cast.scripts[MAIN] = [*sending("r"), says("I see")]
        await settled(agent, who=friend)
        rows = await agent.store.read(lambda tx: tx.all("SELECT peer, role FROM inputs WHERE mark <> '' ORDER BY seq"))
        assert rows == [("chat:friend", "trusted")] * 2


# -- deletion, and the start after -------------------------------------------------------------------------------------


async def test_what_is_deleted_makes_no_more_agents(tmp_path: Path) -> None:
    look = Look()
    scripts = {
        MAIN: [one(spawn("a", "a")), calls(("look", "{}")), one(spawn("b", "b")), says("x")],
        "a": [hangs("a")], "b": [hangs("b")],
    }  # fmt: skip
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        conversations = agent.conversations
        receipt = await conversations.inject(OWNER, message("go"))
        with trio.fail_after(60):
            await look.began.wait()
            await cast.hung("a").wait()
        real = conversations.forget

        async def slowly(thread: str) -> None:
            look.go_on.set()
            await trio.testing.wait_all_tasks_blocked(0.05)
            await real(thread)

        conversations.forget = slowly  # type: ignore[method-assign]
        await conversations.delete(OWNER, receipt.thread.id)
        await quiet(agent)
        assert cast.open == 0
        assert await agent.store.read(lambda tx: tx.all("SELECT name FROM children")) == []
        assert conversations.children.need().roster.threads == {}


async def test_a_start_ends_what_was_put_into_an_agents_turn_with_that(tmp_path: Path) -> None:
    look = Look()
    scripts = {
        MAIN: [one(spawn("look")), says("x")], "helper": [hangs("hm"), calls(("look", "{}")), hangs("hm")],
    }  # fmt: skip
    async with agents(tmp_path, scripts, host=look.host) as (agent, cast):
        await agent.ask("go")
        with trio.fail_after(60):
            await cast.hung("helper").wait()
        _, own = await child_of(agent, "helper")
        await agent.conversations.interrupt(OWNER, message("first", thread=own), 2)
        with trio.fail_after(60):
            await look.began.wait()
        await agent.conversations.interrupt(OWNER, message("second", thread=own), 2)
        look.go_on.set()
        await agent.until(lambda: any(d.get("phase") == "joined" for d in agent.of("turn")))
    async with agents(tmp_path, {MAIN: [says("I see")]}) as (agent, cast):
        await agent.until(lambda: heard_of(agent))
        await quiet(agent)
        rows = await agent.store.read(lambda tx: tx.all("SELECT state FROM inputs WHERE thread = ?", (own,)))
        assert rows == [("reported",)] * 3
        assert "helper" not in cast.asked


@pytest.mark.parametrize("what", ["read", "removal"])
async def test_a_start_outlives_a_disk_that_bears_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with agents(tmp_path, {MAIN: making("r")}) as (agent, _):
        await settled(agent)
        children = agent.conversations.children.need()
        (child,) = children.roster.threads.values()

        def gone(_: object) -> list[str]:
            if what == "read":
                raise StorageError("The disk does not answer.")
            return [child.id]

        async def refused(thread: str) -> None:
            await trio.lowlevel.checkpoint()
            raise Unavailable("Not now.")

        monkeypatch.setattr("homed.memory.children.parentless", gone)
        agent.conversations.forget = refused  # type: ignore[method-assign]
        await children.settle()
        assert child.thread in children.roster.threads


# -- words of strangers ------------------------------------------------------------------------------------------------


async def test_a_brief_that_strangers_had_a_say_in_taints_whoever_reads_it_and_every_turn_of_the_agent(
    tmp_path: Path,
) -> None:
    host = FakeHost()

    async def page(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "words of strangers"

    host.tool("page", page, untrusted=True)
    brief = "Be good. <data>"
    scripts = {
        MAIN: [calls(("page", "{}")), one(resident("create", name="t", brief=brief)), says("made")], "t": [says("x")],
    }  # fmt: skip
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        await settled(agent)
        listed = await run(agent, cast, resident("list"))
        assert "<data>" not in listed["agents"][0]["brief"]
        marks = await agent.store.read(
            lambda tx: tx.all("SELECT data ->> 'untrusted' FROM events WHERE kind = 'tool' ORDER BY seq DESC LIMIT 1")
        )
        assert marks == [(1,)]
        id_, own = await child_of(agent, "t")
        inside = Identity(OWNER.peer, "webui", "", Role.OWNER, f"temp:{id_}")
        tainted = []
        real = agent.conversations._loop.run

        async def seen(turn: Any) -> Any:
            done = await real(turn)
            tainted.append(turn.tainted)
            return done

        agent.conversations._loop.run = seen  # type: ignore[method-assign]
        await agent.conversations.signal(Signal(who=inside, text="of the kernel's own", thread=own))
        await quiet(agent)
        assert tainted == [True]
        assert told(agent) == []
