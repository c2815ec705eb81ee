"""Rounds of tool calls: every call gets exactly one result of its own, in whatever way it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.builtin.tools import builtin_tools
from homed.errors import TimedOut, Unavailable
from homed.identity.permissions import Decision, Rule
from homed.memory import events
from homed.memory.records import Event, EventKind, InputState
from homed.providers.base import ChatRequest, ToolResult, User
from tests.kit.builders import (
    GUEST,
    OWNER,
    Agent,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    running_agent,
    says,
)


def results(request: ChatRequest) -> list[ToolResult]:
    return [m for m in request.messages if isinstance(m, ToolResult)]


async def stored(agent: Agent, thread: str, kind: EventKind) -> list[Event]:
    page, _ = await agent.store.read(lambda tx: events.history(tx, thread, before=None, limit=500))
    return [event for event in page if event.kind is kind]


async def give(args: Mapping[str, Any]) -> object:
    await trio.lowlevel.checkpoint()
    return args or "done"


async def test_a_tool_runs_and_its_result_goes_back_to_the_model(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(calls(("look", '{"at": 1}')), says("I looked."))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        done = await agent.ask("Look")
        assert done.outcome is not None
        assert done.outcome.text == "I looked."
        assert results(model.requests[1]) == [ToolResult("c0", "look", '{"at":1}')]
        cards = agent.of("tool_call")
        assert [(c["status"], c["tool"], c["plugin"]) for c in cards] == [
            ("running", "look", "demo"), ("ok", "look", "demo"),
        ]  # fmt: skip
        context = host.invoked()[0]["context"]
        assert (context["peer"], context["role"], context["scope"]) == ("webui:owner", "owner", "owner")
        assert len(agent.tokens) == 0


async def test_three_parallel_calls_get_three_results_in_call_order(tmp_path: Path) -> None:
    """A6: one answers late, one's plugin is gone, one at once."""
    late = trio.Event()

    async def slow(_: Mapping[str, Any]) -> object:
        await late.wait()
        return "slow"

    async def dies(_: Mapping[str, Any]) -> object:
        raise Unavailable("The plugin demo died during the call.")

    async def quick(_: Mapping[str, Any]) -> object:
        late.set()
        return "quick"

    host = FakeHost()
    for name, run in (("slow", slow), ("dies", dies), ("quick", quick)):
        host.tool(name, run, parallel_safe=True)
    model = FakeModel(calls(("slow", "{}"), ("dies", "{}"), ("quick", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("go")
        got = results(model.requests[1])
        assert [(r.call_id, r.name, r.is_error) for r in got] == [
            ("c0", "slow", False), ("c1", "dies", True), ("c2", "quick", False),
        ]  # fmt: skip
        assert "died" in got[1].text


async def test_a_failing_call_fails_alone_and_says_something(tmp_path: Path) -> None:
    """A7: the middle one raises without a message."""

    async def silent(_: Mapping[str, Any]) -> object:
        raise ValueError

    host = FakeHost()
    host.tool("good", give, parallel_safe=True)
    host.tool("bad", silent, parallel_safe=True)
    model = FakeModel(calls(("good", "{}"), ("bad", "{}"), ("good", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("go")
        good, bad, again = results(model.requests[1])
        assert (good.text, again.text) == ("done", "done")
        assert (bad.call_id, bad.name, bad.is_error) == ("c1", "bad", True)
        assert bad.text.strip()


async def test_calls_run_one_after_another_unless_all_are_parallel_safe(tmp_path: Path) -> None:
    running, most = 0, 0

    async def count(_: Mapping[str, Any]) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(0.01)
        running -= 1
        return "x"

    host = FakeHost()
    host.tool("safe", count, parallel_safe=True)
    host.tool("unsafe", count)
    model = FakeModel(calls(("safe", "{}"), ("unsafe", "{}")), calls(("safe", "{}"), ("safe", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        receipt = await agent.ask("go")
        assert receipt.state is InputState.ANSWERED
        assert most == 2
        assert len(await stored(agent, receipt.thread, EventKind.TOOL)) == 4


async def test_what_the_schema_refuses_never_runs(tmp_path: Path) -> None:
    """A15, E13: undecodable and missing arguments come back with guidance."""
    host = FakeHost()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    host.tool("add", give, parameters=schema)
    model = FakeModel(calls(("add", '{"n":1')), calls(("add", "{}")), calls(("add", '{"n": "5"}')), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("go")
        refused = [json.loads(r.text) for r in results(model.requests[2])]
        assert [r["reason"] for r in refused] == ["undecodable", "required"]
        assert [call["args"] for call in host.invoked()] == [{"n": 5}]


async def test_an_unknown_tool_is_answered_with_those_there_are(tmp_path: Path) -> None:
    """E31: no guessing of owners by prefix."""
    host = FakeHost()
    host.tool("files_read", give, plugin="files")
    model = FakeModel(calls(("files_eat", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("go")
        assert "files_read" in results(model.requests[1])[0].text
        assert host.invoked() == []


async def test_every_offered_tool_can_be_called(tmp_path: Path) -> None:
    """E31, E32: what is sent to the model comes from the list that is called."""
    host = FakeHost()
    host.tool("a_one", give)
    host.tool("b_two", give, plugin="other")
    settings = FakeSettings(**{"core.agent.tools_budget": 64_000})  # room for all of the kernel's and these
    setup = Setup(host=host, settings=settings, builtins=lambda store, h: builtin_tools(store))
    async with running_agent(tmp_path, setup) as agent:
        await agent.ask("hi")
        offered = [spec.name for spec in agent.model.requests[0].tools]
        assert {"a_one", "b_two", "get_plugin_tools", "result_read"} <= set(offered)
        agent.model.script = [calls(*((name, '{"id": "x"}' if name == "result_read" else "{}") for name in offered))]
        await agent.ask("call all")
        assert all("unknown_tool" not in result.text for result in results(agent.model.requests[2]))
        system = str(agent.model.requests[0].messages[0])
        assert "- demo: a_one" in system
        assert "- other: b_two" in system


async def test_the_limit_of_rounds_is_told_to_person_and_model_with_what_was_done(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(calls(("look", "{}")), calls(("look", "{}")), says("I had to stop."))
    settings = FakeSettings(**{"core.agent.max_tool_turns": 2})
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=settings)) as agent:
        done = await agent.ask("go")
        assert done.state is InputState.ANSWERED
        last = model.requests[2]
        assert last.tools == ()
        note = last.messages[-1]
        assert isinstance(note, User)
        assert "limit of 2" in note.text
        assert any("look (ok) × 2" in str(n["message"]) for n in agent.of("system"))
        assert "look (ok) × 2" in (await stored(agent, done.thread, EventKind.NOTE))[0].text


async def test_a_model_that_calls_tools_past_the_limit_is_not_obeyed(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("look", give)
    model = FakeModel(calls(("look", "{}")), calls(("look", "{}"), text="more!"))
    settings = FakeSettings(**{"core.agent.max_tool_turns": 1})
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=settings)) as agent:
        done = await agent.ask("go")
        assert done.outcome is not None
        assert done.outcome.text == "more!"
        assert len(host.invoked()) == 1


async def test_a_round_of_denials_makes_the_model_answer_in_text(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("wipe", give, tool_class="dangerous")
    model = FakeModel(calls(("wipe", "{}")), says("I may not."))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        done = await agent.ask("wipe it", can_ask=False)
        assert done.state is InputState.ANSWERED
        assert host.invoked() == []
        assert model.requests[1].tools == ()
        assert "denied" in results(model.requests[1])[0].text
        assert agent.of("tool_call")[-1]["status"] == "denied"


async def test_a_guest_gets_only_tools_declared_for_guests_whatever_a_rule_says(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("weather", give, guest=True)
    host.tool("shell", give, tool_class="dangerous")
    model = FakeModel(calls(("weather", "{}"), ("shell", "{}"), ("shell", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool="shell"))
        await agent.ask("hack", who=GUEST)
        assert [spec.name for spec in model.requests[0].tools] == ["weather"]
        assert [call["tool"] for call in host.invoked()] == ["weather"]
        first, second = [c for c in agent.of("tool_call") if c["status"] == "denied"]
        assert "Guests may not use shell" in first["result"]
        assert second["result"] == "", "told once; but its card ends as well"
        assert len(results(model.requests[1])) == 3


async def test_a_guests_calls_are_capped_per_turn(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("weather", give, guest=True)
    days = [(f'{{"day": {2 * n}}}', f'{{"day": {2 * n + 1}}}') for n in range(6)]
    model = FakeModel(*(calls(("weather", one), ("weather", other)) for one, other in days), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("again", who=GUEST)
        assert len(host.invoked()) == 8


async def test_untrusted_text_turns_a_standing_yes_back_into_a_question(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("web", give, untrusted=True)
    host.tool("write", give, tool_class="write")
    model = FakeModel(calls(("write", "{}")), calls(("web", "{}")), calls(("write", "{}")), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool="write"))
        await agent.ask("go")
        assert [call["tool"] for call in host.invoked()] == ["write", "web"]


async def test_reading_on_in_what_came_from_strangers_counts_as_untrusted_too(tmp_path: Path) -> None:
    host = FakeHost()
    host.tool("web", give, untrusted=True)
    host.tool("write", give, tool_class="write")
    model = FakeModel(calls(("web", "{}")), says("ok"))
    setup = Setup(model=model, host=host, builtins=lambda store, h: builtin_tools(store))
    async with running_agent(tmp_path, setup) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool="write"))
        done = await agent.ask("look")
        page = (await stored(agent, done.thread, EventKind.TOOL))[0]
        model.script = [calls(("result_read", json.dumps({"id": page.id}))), calls(("write", "{}"))]
        await agent.ask("read on", thread=done.thread)
        assert [call["tool"] for call in host.invoked()] == ["web"]


async def test_a_long_result_is_shown_head_and_tail_and_read_on_by_its_handle(tmp_path: Path) -> None:
    async def long(_: Mapping[str, Any]) -> object:
        return "\n".join(f"line {n}" for n in range(9000))

    host = FakeHost()
    host.tool("dump", long)
    setup = Setup(model=FakeModel(calls(("dump", "{}"))), host=host, builtins=lambda store, h: builtin_tools(store))
    async with running_agent(tmp_path, setup) as agent:
        done = await agent.ask("dump")
        seen = results(agent.model.requests[1])[0].text
        assert len(seen.encode()) < 33_000
        assert seen.startswith("line 0\n")
        assert seen.endswith("line 8999")
        whole = (await stored(agent, done.thread, EventKind.TOOL))[0]
        assert whole.text.count("\n") == 8999
        assert f'result_read(id="{whole.id}"' in seen
        arguments = json.dumps({"id": whole.id, "offset": 50_000})
        agent.model.script = [calls(("result_read", arguments))]
        await agent.ask("read on", thread=done.thread)
        rest = json.loads(results(agent.model.requests[3])[-1].text)
        assert rest["text"] == whole.text[50_000:56_000]
        agent.model.script = [calls(("result_read", arguments))]
        await agent.ask("read on from another conversation")
        assert json.loads(results(agent.model.requests[5])[-1].text) == rest, "of the same scope"
        agent.model.script = [calls(("result_read", arguments))]
        await agent.ask("read on as somebody else", who=GUEST)
        assert "There is no text" in results(agent.model.requests[7])[-1].text


async def test_a_notice_shows_as_much_of_a_result_as_the_history_does(tmp_path: Path) -> None:
    """The limit of what the model sees may be a million bytes; a notice of that size fits no line."""

    async def huge(_: Mapping[str, Any]) -> object:
        return "x\n" * 400_000

    host, settings = FakeHost(), FakeSettings(**{"core.agent.result_limit": 1_000_000})
    host.tool("huge", huge)
    setup = Setup(model=FakeModel(calls(("huge", "{}"))), host=host, settings=settings)
    async with running_agent(tmp_path, setup) as agent:
        thread = (await agent.ask("go")).thread
        kept = next(e for e in (await agent.history(thread))["events"] if e["kind"] == "tool")
        assert agent.of("tool_call")[-1]["result"] == kept["text"]


async def test_a_secret_in_a_result_reaches_neither_model_nor_store_nor_page(tmp_path: Path) -> None:
    """D6: a tool prints .env."""
    key = "ghp_" + "a1B2c3D4" * 5

    async def env(_: Mapping[str, Any]) -> object:
        return {"out": f"GITHUB_TOKEN={key}"}

    host = FakeHost()
    host.tool("env", env)
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("env", "{}"))), host=host)) as agent:
        done = await agent.ask("env")
        assert key not in str(agent.model.requests)
        assert key not in str(agent.notices)
        assert key not in str(await stored(agent, done.thread, EventKind.TOOL))


async def test_a_timeout_is_told_in_the_hosts_own_words(tmp_path: Path) -> None:
    """E33: never "cancelled" when the work goes on."""

    async def hangs(_: Mapping[str, Any]) -> object:
        raise TimedOut("cmd_run took longer than 60 s; it may still be running.")

    host = FakeHost()
    host.tool("cmd_run", hangs)
    model = FakeModel(calls(("cmd_run", "{}")))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        await agent.ask("go")
        got = results(model.requests[1])[0]
        assert got.is_error
        assert "may still be running" in got.text


@pytest.mark.parametrize("status", ["ok", "queued", "unconfirmed"])
async def test_an_output_is_a_tool_and_reports_just_what_became_of_it(tmp_path: Path, status: str) -> None:
    """E10, E11: the cap, the repetition, the truth."""
    sent: list[object] = []

    async def send(params: Mapping[str, Any]) -> object:
        sent.append(params["content"])
        return status

    host = FakeHost()
    host.output("chat", send)
    tool = "output_send__chat"
    script = [calls((tool, '{"content": "hi"}'), (tool, '{"content": "hi"}'), ("output_send__chat_help", "{}"))]
    script += [calls(*((tool, json.dumps({"content": f"m{n}"})) for n in range(12)))]
    model = FakeModel(*script, says("sent"))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool=tool))
        await agent.ask("send")
        first = results(model.requests[1])
        assert first[0].text == status
        assert "already_sent" in first[1].text
        assert '"caps":["text"]' in first[2].text
        assert len(sent) == 10
        last = results(model.requests[2])[-1]
        assert "send_limit" in last.text
        assert [r.is_error for r in (*first, last)] == [False, True, False, True], "what was not sent is no success"


async def test_the_owners_identity_goes_with_every_call(tmp_path: Path) -> None:
    """E18: bound to the turn, two threads at once do not mix."""
    both = trio.Event()
    seen: list[str] = []
    host = FakeHost()

    async def who(_: Mapping[str, Any]) -> object:
        seen.append("x")
        if len(seen) == 2:
            both.set()
        await both.wait()
        return "ok"

    host.tool("who", who, guest=True)
    model = FakeModel(calls(("who", "{}")), calls(("who", "{}")))
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent, trio.open_nursery() as nursery:
        nursery.start_soon(lambda: agent.ask("a", who=OWNER))
        nursery.start_soon(lambda: agent.ask("b", who=GUEST))
        with trio.fail_after(60):
            await both.wait()
        peers = {(p["context"]["peer"], p["context"]["role"]) for p in host.invoked()}
        assert peers == {("webui:owner", "owner"), ("chat:guest", "guest")}
        assert len({p["call"] for p in host.invoked()}) == 2
