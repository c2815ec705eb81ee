"""Agents that agents make: one task each, or resident (F.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.memory.records import InputState
from homed.providers.base import System
from tests.kit.builders import OWNER, Agent, FakeHost, FakeSettings, calls, hangs, message, says
from tests.kit.cast import MAIN, agents, one, quiet, resident, spawn


async def test_a_one_shot_agent_works_beside_and_its_report_comes_as_an_interrupt(tmp_path: Path) -> None:
    scripts = {
        MAIN: [one(spawn("count the stars")), says("it is on its way"), says("there are 7")],
        "helper": [says("7 stars")],
    }
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("how many stars?")
        await quiet(agent)
        (child,) = await agent.store.read(lambda tx: tx.all("SELECT id, scope, thread, kind FROM children"))
        assert child[1] == f"temp:{child[0]}"
        assert cast.heard("helper")[-1] == "count the stars"
        system = next(m.text for m in cast.asked["helper"][0].messages if isinstance(m, System))
        assert "Your name is helper." in system
        raised = [data for data in agent.of("raw_input") if str(data.get("mark", "")).startswith("child:")]
        assert [(data["mark"], data["level"]) for data in raised] == [(f"child:{child[0]}", 3)]
        assert "7 stars" in raised[0]["text"]
        assert f"[agent {child[0]}]" in raised[0]["text"]
        assert done.state is InputState.ANSWERED
        told = [n for n in agent.notices if n.type == "child"]
        assert {n.thread for n in told} == {done.thread}
        assert {n.turn for n in told} == {done.turn}
        assert [n.data["phase"] for n in told] == ["start", "step", "end"]
        assert await agent.store.read(lambda tx: tx.all("SELECT told FROM child_tasks")) == [(1,)]


async def test_what_child_result_gave_is_not_reported_again(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), says("later")], "helper": [hangs("a"), says("x")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        cast.scripts["helper"] = [says("found it")]
        cast.scripts[MAIN] = [
            one(spawn("look")), one(("child_result", json.dumps({"child": "helper", "wait": 60}))), says("done"),
        ]  # fmt: skip
        await agent.ask("look")
        # by name only residents are found: one-shot ones may share theirs
        assert "There is no agent helper" in cast.results()[-1]
        (id_,) = (await agent.store.read(lambda tx: tx.one("SELECT id FROM children"))) or ("",)
        await quiet(agent)
        cast.scripts[MAIN] = [one(("child_result", json.dumps({"child": id_, "wait": 60}))), says("done")]
        await agent.ask("and?", thread=(await agent.store.read(lambda tx: tx.value("SELECT parent FROM children"))))
        assert json.loads(cast.results()[-1])["text"] == "found it"


async def test_a_waiting_result_collects_and_no_interrupt_comes(tmp_path: Path) -> None:
    go_on = trio.Event()
    host = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await go_on.wait()
        return "seen"

    host.tool("look", look)
    scripts = {MAIN: [one(spawn("look")), says("x")], "helper": [calls(("look", "{}")), says("found it")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        first = await agent.ask("look")
        (id_,) = (await agent.store.read(lambda tx: tx.one("SELECT id FROM children"))) or ("",)
        cast.scripts[MAIN] = [one(("child_result", json.dumps({"child": id_, "wait": 60}))), says("done")]
        receipt = await agent.conversations.inject(OWNER, message("wait", thread=first.thread))
        await agent.until(lambda: any(d.get("tool") == "child_result" for d in agent.of("tool_call")))
        go_on.set()
        with trio.fail_after(60):
            await agent.conversations.wait(OWNER, receipt.input.id)
        await quiet(agent)
        assert json.loads(cast.results()[-1])["state"] == "answered"
        assert [d for d in agent.of("raw_input") if str(d.get("mark", "")).startswith("child:")] == []


@pytest.mark.parametrize("turns", [1, 3])
async def test_max_turns_bounds_its_rounds(tmp_path: Path, turns: int) -> None:
    host = FakeHost()

    async def look(args: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return f"seen {args['n']}"

    host.tool("look", look, parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
    rounds = [calls(("look", json.dumps({"n": n}))) for n in range(turns)]
    scripts = {MAIN: [one(spawn("look", max_turns=turns)), says("x")], "helper": [*rounds, says("that is all")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        await agent.ask("look")
        await quiet(agent)
        assert len(cast.asked["helper"]) == turns + 1
        assert cast.tools("helper") == set()
        assert cast.tools("helper", 0)


async def test_it_makes_no_agents_of_its_own_unless_a_setting_says_so(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), says("x")], "helper": [one(spawn("deeper", "second")), says("done")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await agent.ask("look")
        await quiet(agent)
        assert not {"spawn_child", "resident_agents", "child_result"} & cast.tools("helper", 0)
        assert "was not given to this agent" in cast.results("helper")[-1]
    scripts = {
        MAIN: [one(spawn("look")), says("x")], "helper": [one(spawn("deeper", "second")), says("done"), says("y")],
        "second": [one(spawn("deepest", "third")), says("deep")],
    }  # fmt: skip
    settings = FakeSettings(**{"core.agent.children_depth": 2})
    async with agents(tmp_path / "two", scripts, settings=settings) as (agent, cast):
        await agent.ask("look")
        await quiet(agent)
        assert "was not given to this agent" in cast.results("second")[-1]
        assert any("deep" in text for text in cast.heard("helper"))


async def test_no_more_than_the_setting_says(tmp_path: Path) -> None:
    settings = FakeSettings(**{"core.agent.children_max": 2})
    spawned = calls(spawn("a", "a"), spawn("b", "b"), spawn("c", "c"))
    scripts = {MAIN: [spawned, says("x")], "a": [hangs("a")], "b": [hangs("b")], "c": [hangs("c")]}
    async with agents(tmp_path, scripts, settings=settings) as (agent, cast):
        done = await agent.ask("go")
        refused = [text for text in cast.results() if "2 agents are there already" in text]
        assert len(refused) == 1
        assert len([text for text in cast.results() if '"working"' in text]) == 2
        assert await agent.conversations.stop(OWNER, done.thread)


async def test_f3_parent_stop_leaves_no_orphan(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), hangs("I am")], "helper": [hangs("hm")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        receipt = await agent.conversations.inject(OWNER, message("look"))
        with trio.fail_after(60):
            await cast.hung(MAIN).wait()
            await cast.hung("helper").wait()
        assert await agent.conversations.stop(OWNER, receipt.thread.id)
        await quiet(agent)
        assert cast.open == 0
        states = await agent.store.read(lambda tx: tx.all("SELECT state FROM inputs ORDER BY seq"))
        assert states == [("stopped",), ("stopped",)]
        assert await agent.store.read(lambda tx: tx.all("SELECT told FROM child_tasks")) == [(1,)]
        assert len(agent.of("raw_input")) == 2, "nobody is told of what was stopped with it"


async def test_f3_stop_reaches_what_still_works_after_its_makers_turn_has_ended(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), says("later")], "helper": [hangs("hm")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("look")
        with trio.fail_after(60):
            await cast.hung("helper").wait()
        assert await agent.conversations.stop(OWNER, done.thread)
        await quiet(agent)
        assert cast.open == 0
        assert not await agent.conversations.stop(OWNER, done.thread)


async def test_f3_what_waits_for_an_agent_is_stopped_with_its_maker(tmp_path: Path) -> None:
    host, began = FakeHost(), trio.Event()

    async def look(_: Mapping[str, Any]) -> object:
        began.set()
        await trio.sleep_forever()

    host.tool("look", look)
    make = [one(resident("create", name="r", brief="b")), one(resident("send", agent="r", text="go"))]
    scripts = {MAIN: [*make, says("sent")], "r": [calls(("look", "{}")), says("never")]}
    async with agents(tmp_path, scripts, host=host) as (agent, cast):
        done = await agent.ask("go")
        with trio.fail_after(60):
            await began.wait()
        cast.scripts[MAIN] = [one(resident("send", agent="r", text="and this")), says("sent")]
        await agent.ask("more", thread=done.thread)
        assert await agent.conversations.stop(OWNER, done.thread)
        await quiet(agent)
        states = await agent.store.read(lambda tx: tx.all("SELECT state FROM inputs WHERE mark LIKE 'parent:%'"))
        assert states == [("stopped",), ("stopped",)]
        assert reports(agent) == []
        assert len(cast.asked["r"]) == 1


async def test_f3_stop_reaches_the_agents_of_an_agent_that_is_done(tmp_path: Path) -> None:
    scripts = {
        MAIN: [one(spawn("look")), says("x")], "helper": [one(spawn("deeper", "second")), says("done")],
        "second": [hangs("hm")],
    }  # fmt: skip
    settings = FakeSettings(**{"core.agent.children_depth": 2})
    async with agents(tmp_path, scripts, settings=settings) as (agent, cast):
        done = await agent.ask("look")
        with trio.fail_after(60):
            await cast.hung("second").wait()
        await agent.until(lambda: any(d["phase"] == "end" and d["name"] == "helper" for d in agent.of("child")))
        assert await agent.conversations.stop(OWNER, done.thread)
        await quiet(agent)
        assert cast.open == 0


async def test_a_person_stops_one_agent_alone_and_its_maker_hears_of_it(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn("look")), says("later"), says("I see")], "helper": [hangs("so far")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("look")
        with trio.fail_after(60):
            await cast.hung("helper").wait()
        thread = await agent.store.read(lambda tx: tx.value("SELECT thread FROM children"))
        assert await agent.conversations.stop(OWNER, str(thread))
        await quiet(agent)
        (told,) = [d for d in agent.of("raw_input") if str(d.get("mark", "")).startswith("child:")]
        assert "stopped" in told["text"]
        page: dict[str, Any] = await agent.conversations.archive.history(OWNER, str(thread))
        assert page["thread"]["scope"].startswith("temp:"), "its conversation is opened like another"
        listed: dict[str, Any] = await agent.conversations.archive.threads(OWNER)
        assert [one_["id"] for one_ in listed["threads"]] == [done.thread], "and is listed among none"


async def test_f3_the_panic_of_an_agent_shows_as_level_4_of_its_maker(tmp_path: Path) -> None:
    scripts = {
        MAIN: [one(resident("create", name="r", brief="b")), one(resident("send", agent="r", text="go")), says("x")],
        "r": [says("y")],
    }
    async with agents(tmp_path, scripts) as (agent, cast):
        real = cast.stream

        def breaking(request: Any) -> Any:
            if any(isinstance(m, System) and "Your name is r." in m.text for m in request.messages):
                raise ZeroDivisionError("a bug")
            return real(request)

        cast.stream = breaking  # type: ignore[method-assign]
        await agent.ask("go")
        await quiet(agent)
        (told,) = [d for d in agent.of("raw_input") if str(d.get("mark", "")).startswith("child:")]
        id_ = await agent.store.read(lambda tx: tx.value("SELECT id FROM children"))
        assert (told["level"], told["mark"]) == (4, f"child:{id_}")
        assert str(id_) in told["text"]
        assert not [d for d in agent.of("raw_input") if d.get("mark") == "kernel"]


async def test_after_a_restart_one_shot_agents_have_ended_and_residents_go_on(tmp_path: Path) -> None:
    make = [one(resident("create", name="r", brief="b")), one(resident("send", agent="r", text="go"))]
    scripts = {MAIN: [*make, one(spawn("look")), says("x")], "helper": [hangs("hm")], "r": [hangs("hm")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        await agent.ask("go")
        with trio.fail_after(60):
            await cast.hung("helper").wait()
            await cast.hung("r").wait()
    scripts = {
        MAIN: [says("I see"), says("I see that too"), says("ok")],
        "r": [says("done after all"), says("still me")],
    }
    async with agents(tmp_path, scripts) as (agent, cast):
        await agent.until(lambda: len(reports(agent)) == 2)
        await quiet(agent)
        texts = "\n".join(str(data["text"]) for data in reports(agent))
        assert "done after all" in texts
        assert "homed ended while this agent was working" in texts
        assert "helper" not in cast.asked, "it is not taken up again"
        rows = await agent.store.read(lambda tx: tx.all("SELECT mark, state FROM inputs ORDER BY seq"))
        states = [(str(mark).partition(":")[0], state) for mark, state in rows]
        assert states == [
            ("", "answered"), ("parent", "answered"), ("parent", "reported"), ("child", "answered"),
            ("child", "answered"),
        ]  # fmt: skip
        parent = await agent.store.read(lambda tx: tx.value("SELECT parent FROM children LIMIT 1"))
        cast.scripts[MAIN] = [one(resident("send", agent="r", text="again")), says("sent")]
        await agent.ask("again", thread=str(parent))
        await quiet(agent)
        assert "done after all" in str(cast.asked["r"][-1].messages), "it remembers its conversation"


def reports(agent: Agent) -> list[dict[str, Any]]:
    return [data for data in agent.of("raw_input") if str(data.get("mark", "")).startswith("child:")]
