"""Tools on demand: the catalogue, what is asked for, what is called without having been offered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homed.agent.offers import sized
from homed.builtin.children import children_tools
from homed.builtin.ports import MemoryPorts
from homed.builtin.tools import builtin_tools
from homed.host.states import Trust
from homed.identity.permissions import Decision, Rule
from homed.identity.roles import Identity
from homed.memory.records import InputState
from homed.providers.base import ChatRequest, System, ToolResult
from tests.kit.builders import (
    GUEST,
    OWNER,
    Agent,
    Answer,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    running_agent,
    says,
)
from tests.kit.cast import MAIN, agents, one, quiet, spawn

ALWAYS = ["coldcontext_query", "get_plugin_tools", "memory_commit", "memory_recall", "result_read"]
"""The kernel's own of those that are always there, as they stand in a request."""

WORDS = "Does something with what it is given, in some way that takes a sentence or two to tell. " * 6

SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"city": {"type": "string", "description": "Where."}}, "required": ["city"],
}  # fmt: skip


async def give(args: Mapping[str, Any]) -> str:
    return f"sunny in {args['city']}" if args.get("city") else "done"


def house(plugins: int = 12, tools: int = 3) -> FakeHost:
    """Plugins p0, p1 …, whose tools p0_t0 … take half a kilobyte each, and ``weather``."""
    host = FakeHost()
    for p in range(plugins):
        for t in range(tools):
            host.tool(f"p{p}_t{t}", give, plugin=f"p{p}", description=WORDS)
    host.tool("weather_now", give, plugin="weather", parameters=SCHEMA, guest=True)
    host.tool("weather_week", give, plugin="weather", parameters=SCHEMA)
    return host


def setup(*script: Answer, host: FakeHost | None = None, settings: FakeSettings | None = None, **model: Any) -> Setup:
    def tools(store: Any, _: FakeHost) -> Any:
        return *builtin_tools(store), *children_tools(lambda: None, MemoryPorts(store=store))  # type: ignore[arg-type, return-value]

    return Setup(
        model=FakeModel(*script, **model), host=host or house(), builtins=tools, settings=settings or FakeSettings()
    )


def show(plugin: str, *tools: str) -> Answer:
    return calls(("get_plugin_tools", json.dumps({"plugin": plugin, **({"tools": tools} if tools else {})})))


def told(request: ChatRequest) -> list[str]:
    return [spec.name for spec in request.tools]


def results(request: ChatRequest) -> list[str]:
    return [m.text for m in request.messages if isinstance(m, ToolResult)]


def system(request: ChatRequest) -> str:
    return next(m.text for m in request.messages if isinstance(m, System))


def bytes_of(agent: Agent, request: ChatRequest) -> int:
    entries = agent.conversations._loop.catalogue.entries()
    return len(system(request).encode()) + sum(sized(entries[spec.name]).bytes for spec in request.tools)


@pytest.mark.parametrize(("asks", "again"), [("Is it sunny in Bergen?", "And now?"), ("卑尔根天气好吗？", "现在呢？")])
async def test_from_the_catalogue_to_the_tool_in_a_second_turn_and_across_a_restart(
    tmp_path: Path, asks: str, again: str
) -> None:
    look = calls(("weather_now", '{"city": "Bergen"}'))
    async with running_agent(tmp_path, setup(show("weather"), look, says("sunny"), says("still"))) as agent:
        done = await agent.ask(asks)
        assert done.state is InputState.ANSWERED
        first, second, third = agent.model.requests
        assert told(first) == ALWAYS
        assert "- weather: weather_now, weather_week" in system(first)
        assert "- memory (" in system(first)
        assert told(second) == told(third) == [*ALWAYS, "weather_now", "weather_week"]
        shown = json.loads(results(second)[-1])["offered_from_now_on"]
        assert [one["name"] for one in shown] == ["weather_now", "weather_week"]
        assert "parameters" not in shown[0], "its arguments come with the tool"
        assert results(third)[-1] == "sunny in Bergen"
        await agent.ask(again, thread=done.thread)
        assert told(agent.model.requests[3]) == told(third)
        assert system(agent.model.requests[3]) == system(first), "what a provider has cached stays as it is"
    async with running_agent(tmp_path, setup(says("again"))) as agent:
        await agent.ask(again, thread=done.thread)
        assert told(agent.model.requests[0]) == [*ALWAYS, "weather_now", "weather_week"]
        await agent.ask("hi")
        assert told(agent.model.requests[1]) == [*ALWAYS, "weather_now"], "a new one begins with what was used lately"


def few(plugins: int, **changed: Any) -> FakeHost:
    host = house(plugins=0)
    for p in range(plugins):
        host.tool(f"p{p}_t", give, plugin=f"p{p}", description=WORDS, **changed)
    return host


async def test_in_a_small_install_the_plugins_tools_are_there_at_once_and_the_kernels_seldom_ones_are_not(
    tmp_path: Path,
) -> None:
    """Its own alone are more than a conversation begins with: they keep no plugin's from being there."""
    async with running_agent(tmp_path, setup(show("people"), says("x"), host=few(3))) as agent:
        await agent.ask("hi")
        first, second = agent.model.requests
        base = sorted([*ALWAYS, "p0_t", "p1_t", "p2_t", "weather_now", "weather_week"])
        assert told(first) == base
        assert "memory_edit" in system(first)
        assert told(second)[: len(base)] == base, "what is asked for comes behind"
        assert "person_list" in told(second)


async def test_where_not_all_plugins_fit_those_that_a_person_installed_are_there_at_once(tmp_path: Path) -> None:
    host = house()
    host.tool("ours_a", give, plugin="ours", trust=Trust.EXTERNAL, description=WORDS)
    host.tool("ours_b", give, plugin="ours", trust=Trust.EXTERNAL, description=WORDS)
    async with running_agent(tmp_path, setup(says("x"), host=host)) as agent:
        await agent.ask("hi")
        assert told(agent.model.requests[0]) == sorted([*ALWAYS, "ours_a", "ours_b"])


async def test_a_tool_that_was_not_offered_is_called_all_the_same(tmp_path: Path) -> None:
    host = house()
    script = calls(("weather_now", '{"city": "Oslo"}')), says("sunny")
    async with running_agent(tmp_path, setup(*script, host=host)) as agent:
        await agent.ask("Oslo?")
        assert "weather_now" not in told(agent.model.requests[0])
        assert results(agent.model.requests[1]) == ["sunny in Oslo"]
        assert told(agent.model.requests[1]) == [*ALWAYS, "weather_now"]


async def test_what_was_asked_for_last_is_there_in_the_next_turn(tmp_path: Path) -> None:
    once = FakeSettings(**{"core.agent.max_tool_turns": 1})
    async with running_agent(tmp_path, setup(show("weather"), says("no more"), says("x"), settings=once)) as agent:
        done = await agent.ask("Oslo?")
        assert told(agent.model.requests[1]) == []
        await agent.ask("And now?", thread=done.thread)
        assert told(agent.model.requests[2]) == [*ALWAYS, "weather_now", "weather_week"]


@pytest.mark.parametrize("args", ['{"town": "Oslo"}', '{"city": "Oslo", "days": 3}', '{"city": '])
async def test_guessed_arguments_come_back_with_those_it_has(tmp_path: Path, args: str) -> None:
    host = house()
    script = calls(("weather_now", args)), calls(("weather_now", '{"city": "Oslo", "days": 3}')), says("x")
    async with running_agent(tmp_path, setup(*script, host=host)) as agent:
        await agent.ask("Oslo?")
        refused, answered = results(agent.model.requests[2])
        assert '"reason"' in refused
        assert json.dumps(SCHEMA, separators=(",", ":")) in refused
        assert answered == "sunny in Oslo", "once it was offered, what the schema lets pass is passed on, as ever"
        assert [call["args"] for call in host.invoked()] == [{"city": "Oslo", "days": 3}]


async def test_what_the_rules_deny_is_neither_named_shown_nor_run(tmp_path: Path) -> None:
    host = house()
    script = show("weather"), calls(("weather_now", '{"city": "Oslo"}')), says("no")
    async with running_agent(tmp_path, setup(*script, host=host)) as agent:
        await agent.rules.add(Rule(Decision.DENY, tool="weather_now"))
        await agent.ask("Oslo?")
        assert "weather_now" not in system(agent.model.requests[0])
        shown, denied = results(agent.model.requests[2])
        assert "weather_week" in shown
        assert "weather_now" not in shown
        assert denied.startswith("denied")
        assert "weather_now" not in told(agent.model.requests[2])
        assert host.invoked() == []


async def test_single_tools_groups_of_the_kernel_and_wrong_names(tmp_path: Path) -> None:
    script = (
        show("p3", "p3_t1"), show("people"), show("weather_week"), show("nonsense"),
        calls(("get_plugin_tools", "{}")), says("x"),
    )  # fmt: skip
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("go")
        people = ["person_list", "person_network", "person_query", "person_relate", "person_set_trait"]
        assert told(agent.model.requests[-1]) == [*ALWAYS, "p3_t1", *people, "weather_week"]
        *_, wrong, everything = results(agent.model.requests[-1])
        assert "weather" in wrong
        assert "error" in wrong
        assert set(json.loads(everything)["plugins"]) <= set(system(agent.model.requests[0]).splitlines())


async def test_what_is_asked_for_makes_room_for_what_is_asked_for_later(tmp_path: Path) -> None:
    small = FakeSettings(**{"core.agent.tools_budget": 1500})
    asked = [show(f"p{n}") for n in range(4)]
    async with running_agent(tmp_path, setup(*asked, says("x"), settings=small)) as agent:
        await agent.ask("go")
        last = told(agent.model.requests[-1])
        assert last[: len(ALWAYS)] == ALWAYS
        assert last[-1] == "p3_t2"
        assert "p0_t0" not in last
        sent = agent.model.requests[-1]
        assert bytes_of(agent, sent) - len(system(sent).encode()) <= 4 * 1500


async def test_a_guest_is_offered_all_that_a_guest_may_use(tmp_path: Path) -> None:
    async with running_agent(tmp_path, setup(says("hi"))) as agent:
        await agent.ask("hi", who=GUEST)
        alone = ["coldcontext_query", "memory_open", "memory_recall", "result_read", "weather_now"]
        assert told(agent.model.requests[0]) == alone


async def test_all_are_offered_where_none_can_be_asked_for(tmp_path: Path) -> None:
    async with running_agent(tmp_path, setup(says("hi"))) as agent:
        await agent.rules.add(Rule(Decision.DENY, tool="get_plugin_tools"))
        await agent.ask("hi")
        assert {"p0_t0", "p11_t2", "weather_now", "spawn_child"} <= set(told(agent.model.requests[0]))


@pytest.mark.parametrize("window", [8_192, 32_768, 1_000_000])
async def test_hi_stays_below_sixteen_kilobytes_with_two_dozen_plugins(tmp_path: Path, window: int) -> None:
    """Also for somebody who uses all of them each day."""
    host = house(plugins=24, tools=5)
    script: list[Answer] = []
    for n in range(24):
        script += [calls(*((f"p{n}_t{t}", "{}") for t in range(2))), says("done")]
    async with running_agent(tmp_path, setup(*script, host=host, context_window=window)) as agent:
        await agent.ask("hi")
        for _ in range(24):
            await agent.ask("work")
        await agent.ask("你好")
        first, last = agent.model.requests[0], agent.model.requests[-1]
        assert bytes_of(agent, first) <= 16_384 - 200
        assert bytes_of(agent, last) <= 16_384 - 200
        assert bytes_of(agent, last) >= bytes_of(agent, first)
        if window > 9_000:
            assert told(last)[-1].startswith("p"), "what was used lately is there"


async def test_a_turn_of_which_nothing_is_remembered_leaves_no_habit(tmp_path: Path) -> None:
    script = calls(("p5_t0", "{}")), says("x"), says("y")
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("go", no_memory=True)
        await agent.ask("hi")
        assert told(agent.model.requests[-1]) == ALWAYS


async def test_habits_are_ones_own(tmp_path: Path) -> None:
    anna = Identity("chat:anna", "chat", "Anna", OWNER.role, "trusted:chat:anna")
    script = calls(("p5_t0", "{}")), says("x"), says("y"), says("z")
    async with running_agent(tmp_path, setup(*script)) as agent:
        await agent.ask("go")
        await agent.ask("hi", who=anna)
        assert told(agent.model.requests[-1]) == ALWAYS
        await agent.ask("hi")
        assert told(agent.model.requests[-1]) == [*ALWAYS, "p5_t0"]


async def test_the_setting_says_what_is_always_there(tmp_path: Path) -> None:
    chosen = FakeSettings(**{"core.agent.tools_always": "weather_now, nonsense memory_recall"})
    async with running_agent(tmp_path, setup(says("x"), settings=chosen)) as agent:
        await agent.ask("hi")
        assert told(agent.model.requests[0]) == ["get_plugin_tools", "memory_recall", "weather_now"]


async def test_every_tool_of_the_catalogue_can_be_called(tmp_path: Path) -> None:
    """E31, on demand: whatever the system prompt names, runs, offered or not."""
    host = house()
    async with running_agent(tmp_path, setup(says("hi"), host=host)) as agent:
        await agent.ask("hi")
        lines = [
            line for line in system(agent.model.requests[0]).splitlines() if line.startswith("- ") and ": " in line
        ]
        entries = agent.conversations._loop.catalogue.entries()
        named = {name for line in lines for name in line.rpartition(": ")[2].split(", ") if name in entries}
        assert {*host.registry.tools(), "spawn_child", "memory_purge", "person_network"} <= named
        agent.model.script = [calls(*((name, '{"guessed": 1}') for name in sorted(named)[at::3])) for at in range(3)]
        await agent.ask("all of them")
        said = results(agent.model.requests[-1])
        assert len(said) == len(named)
        assert all('"undeclared"' in one or '"additionalProperties"' in one or '"required"' in one for one in said)


async def test_an_agent_that_was_given_tools_has_them_and_one_that_was_given_all_asks_too(tmp_path: Path) -> None:
    given = ["weather_now", "p0_t0", "get_plugin_tools"]
    main = [one(spawn("look", "narrow", tools=given)), says("on its way"), one(spawn("look", "wide")), says("and that")]
    scripts = {MAIN: main, "narrow": [says("a")], "wide": [show("weather"), says("b")]}
    async with agents(tmp_path, scripts, host=house()) as (agent, cast):
        await agent.ask("go")
        await quiet(agent)
        assert cast.tools("narrow") == {*given, "result_read"}, "its own list, whole, and nothing to ask for"
        await agent.ask("go")
        await quiet(agent)
        assert "p0_t0" not in cast.tools("wide", 0)
        assert {"weather_now", "weather_week"} <= cast.tools("wide", 1)
