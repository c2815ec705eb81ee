"""The overflow guard: when it steps in, what makes room, what the model is told, and when a turn ends instead (F.2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.guard import scaled
from homed.agent.weight import Sizes
from homed.builtin.tools import builtin_tools
from homed.memory import events, ledger
from homed.memory.budget import budget
from homed.memory.records import EventKind, InputState
from homed.providers import pairing
from homed.providers.base import Assistant, ChatRequest, ErrorKind, ProviderError, System, ToolResult, User
from homed.providers.fallback import RECOVERIES
from tests.kit.builders import (
    OWNER,
    Agent,
    Answer,
    FakeHost,
    FakeModel,
    FakeSettings,
    Setup,
    calls,
    fails,
    hangs,
    message,
    running_agent,
    says,
)
from tests.kit.past import Past, Said, layers, long_text, put

FULL = ProviderError(ErrorKind.CONTEXT_FULL, "maximum context length exceeded", status=400)
SIZES = Sizes()
NOTICE = "earlier events are not shown to you any more"


def size(request: ChatRequest) -> int:
    """Tokens of what was sent, but for the instructions."""
    return sum(SIZES.of(m.text) for m in request.messages if not isinstance(m, System))


async def records(agent: Agent, turn: str, kind: str = "guard") -> list[dict[str, Any]]:
    found = await agent.store.read(lambda tx: ledger.of_turn(tx, turn))
    return [dict(one.data) for one in found if one.kind == kind]


def reading(tokens: int) -> FakeHost:
    """A plugin whose tool ``look`` gives so many tokens, each time others."""
    host = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return long_text(tokens, f"page{len(host.invoked())}")

    host.tool("look", look)
    return host


def setup(host: FakeHost, *script: Answer, window: int = 32_768, **settings: Any) -> Setup:
    changed = {
        "core.agent.max_tool_turns": 100, "core.agent.repeat_calls": 100, "core.agent.result_limit": 1_000_000,
        **settings,
    }  # fmt: skip
    return Setup(
        model=FakeModel(*script, context_window=window), host=host, settings=FakeSettings(**changed),
        builtins=lambda store, host: builtin_tools(store),
    )  # fmt: skip


LOOK = ("look", "{}")


async def test_one_result_of_100k_characters_triggers_the_guard_and_is_shown_head_and_tail(tmp_path: Path) -> None:
    """E3, E4, A20: measured whole, though what was sent had been trimmed long before; stored whole."""
    host = FakeHost()

    async def dump(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "x1 " * 34_000

    host.tool("dump", dump)
    given = setup(host, calls(("dump", "{}")), says("done"), window=20_000)
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("dump it")
        assert done.state is InputState.ANSWERED
        (guard,) = await records(agent, done.turn)
        assert guard["why"] == "gathered"
        assert guard["before"]["tokens"] > 1.25 * 20_000
        assert guard["after"]["tokens"] < guard["before"]["tokens"]
        result = agent.model.requests[1].messages[-1]
        assert isinstance(result, ToolResult)
        assert "characters left out" in result.text
        assert size(agent.model.requests[1]) < 0.8 * 20_000
        stored = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert [len(e.text) for e in stored if e.kind is EventKind.TOOL] == [102_000]


async def test_below_125_percent_it_does_nothing(tmp_path: Path) -> None:
    """T1"""
    given = setup(reading(5_000), *[calls(LOOK, ids=[f"c{n}"]) for n in range(6)], says("done"))
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("look around")
        assert await records(agent, done.turn) == []
        assert NOTICE not in str(agent.model.requests)


async def test_above_125_percent_the_least_relevant_of_its_own_results_make_room_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    """T1, T2, T6: the request shrinks, calls and results stay together, the last is never dropped."""
    given = setup(reading(5_000), *[calls(LOOK, ids=[f"c{n}"]) for n in range(10)], says("done"))
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("look around, mind page2")
        assert done.state is InputState.ANSWERED
        guards = await records(agent, done.turn)
        assert len(guards) == 1
        assert guards[0]["before"]["tokens"] + 500 > 1.25 * 32_768 - 5_000
        told = [n for n, request in enumerate(agent.model.requests) if NOTICE in str(request.messages)]
        assert told == list(range(told[0], len(agent.model.requests))), "in each call: it remembers none of them"
        at = told[0]
        assert size(agent.model.requests[at]) < size(agent.model.requests[at - 1])
        for request in agent.model.requests:
            assert pairing.check(request.messages) == []
            assert size(request) < 32_768
        last = agent.model.requests[at].messages
        assert "result_read" in str(last), "what went can be read again by its id"
        results = [m.text.split()[0] for m in last if isinstance(m, ToolResult)]
        assert results[-1] == f"page{at}", "never the last one"
        assert "page2" in results, "what the message is about goes last"
        stored = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        dropped = {e.id: e for e in stored} | {}
        assert all(dropped[id_].layer == "context" for id_ in guards[0]["dropped"]), (
            "gone from view, not from the store"
        )


async def test_a_turn_makes_room_twice_at_the_most_and_ends_naming_the_setting(tmp_path: Path) -> None:
    """E6"""
    given = setup(reading(9_000), *[calls(LOOK, LOOK, ids=[f"a{n}", f"b{n}"]) for n in range(60)], window=16_384)
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("look around")
        assert done.state is InputState.FAILED
        assert done.outcome is not None
        assert "room was made 2 times" in done.outcome.error
        assert "context_window of fake (now 16384)" in done.outcome.hint
        assert "core.agent.result_limit" in done.outcome.hint
        assert len(await records(agent, done.turn)) == RECOVERIES
        given.model.script = [says("ok")]
        again = await agent.ask("hello", thread=done.thread)
        assert again.state is InputState.ANSWERED, "all of it is stored, and the conversation goes on"


async def test_a_source_that_says_too_long_is_asked_again_with_less_and_nobody_else_is(tmp_path: Path) -> None:
    """A17, E5, T3: the same routine as before a call; the same source, half the size; the answer comes."""
    model = FakeModel(fails(FULL), says("ok"))
    asked: list[str | None] = []
    plain = model.provider

    def provider(name: str | None = None) -> Any:
        asked.append(name)
        return plain(name)

    model.provider = provider  # type: ignore[method-assign]
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        past = Past(said=[Said(question=long_text(800, f"q{n}"), answer=long_text(800, f"a{n}")) for n in range(6)])
        stored = await agent.store.write(partial(put, past=past))
        done = await agent.ask("q3?")
        assert done.state is InputState.ANSWERED
        first, second = model.requests
        assert size(second) <= size(first) // 2 + 300
        assert "q3 lorem" in str(second.messages), "what is relevant stays"
        assert NOTICE in str(second.messages)
        (guard,) = await records(agent, done.turn)
        assert guard["why"] == "refused"
        assert set(asked) <= {None, "fake"}, "no other source is asked for by name"
        kept = await layers(agent.store, stored)
        assert set(kept.values()) <= {"context", "cold"}, "nothing is deleted"
        assert len(kept) == len(stored)


async def test_room_is_made_with_nothing_that_pre_action_was_not_offered(tmp_path: Path) -> None:
    """A22: what a filter of messages never saw came in with the second selection."""
    model = FakeModel(fails(FULL), says("ok"))
    host = FakeHost()
    seen: list[str] = []

    async def look(fields: Mapping[str, Any]) -> Mapping[str, object]:
        await trio.lowlevel.checkpoint()
        seen.extend(str(one["text"]) for one in fields["context_msgs"])
        return {}

    host.stage("pre_action", look)
    given = Setup(model=model, host=host, settings=FakeSettings(**{"core.agent.max_context_size": 9}))
    async with running_agent(tmp_path, given) as agent:
        for n in range(8):
            past = Past(said=[Said(question=f"q{n} lorem " * (200 if n > 3 else 2), answer=f"a{n}")])
            await agent.store.write(partial(put, past=past))
        done = await agent.ask("q7?")
        assert done.state is InputState.ANSWERED
        shown = [m.text.split("\n")[-1] for m in model.requests[1].messages[1:-1] if isinstance(m, User)]
        shown = [text for text in shown if text.startswith("q")]
        assert seen
        assert all(any(one.startswith(text[:40]) for one in seen) for text in shown), shown


async def test_where_nothing_can_be_left_out_the_turn_ends_at_once(tmp_path: Path) -> None:
    """E7, T4: judged by size before and after; the same request is not sent again."""
    async with running_agent(tmp_path, Setup(model=FakeModel(fails(FULL), says("never")))) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert len(agent.model.requests) == 1
        assert done.outcome is not None
        assert "nothing more could be left out" in done.outcome.error
        assert "context_window of fake" in done.outcome.hint


async def test_instructions_and_tools_alone_beyond_the_window_end_with_the_setting_not_in_a_loop(
    tmp_path: Path,
) -> None:
    """A18, E6"""
    given = Setup(model=FakeModel(context_window=1024), settings=FakeSettings(**{"core.agent.persona": "x1 " * 3000}))
    async with running_agent(tmp_path, given) as agent:
        with trio.fail_after(60):
            done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert done.outcome is not None
        assert "context_window of fake (now 1024)" in done.outcome.hint


@pytest.mark.parametrize("over", [0.81, 0.95, 1.2])
async def test_instructions_that_leave_no_room_for_the_message_end_with_a_word_and_not_without_the_message(
    tmp_path: Path, over: float
) -> None:
    """A3: between 80 % and 125 % of the window the request once had no message in it, and was sent."""
    persona = long_text(int(8_192 * over), "persona")
    given = Setup(model=FakeModel(context_window=8_192), settings=FakeSettings(**{"core.agent.persona": persona}))
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("What is my name?")
        assert done.state is InputState.FAILED
        assert done.outcome is not None
        assert "Instructions and tools take" in done.outcome.error
        for words in ("context_window of fake (now 8192)", "core.agent.persona", "tools"):
            assert words in done.outcome.hint
        assert agent.model.requests == []


@pytest.mark.parametrize("persona", range(0, 5_200, 400))
async def test_whatever_instructions_leave_the_message_is_in_the_request_or_there_is_none(
    tmp_path: Path, persona: int
) -> None:
    """A3: with other conversations, notes and earlier notes in a small window."""
    settings = FakeSettings(**{"core.agent.persona": long_text(persona, "persona")})
    given = Setup(model=FakeModel(context_window=8_192), settings=settings)
    async with running_agent(tmp_path, given) as agent:
        for n in range(12):
            past = Past(
                said=[Said(question=f"{n} Ida plays", answer=f"{n} the cello")], layer=("cold", "context")[n % 2]
            )
            await agent.store.write(partial(put, past=past))
        thread = ""
        for n in range(4):
            done = await agent.ask(f"{n} What does Ida play?", thread=thread)
            assert done.state is InputState.ANSWERED
            thread = done.thread
            request = agent.model.requests[-1]
            assert request.messages[-1] == User(f"{n} What does Ida play?")
            assert size(request) + 4 * len(request.messages) < 8_192 - persona


BOAT = "The boat is called Seagull Seven and has berth 12."
FILLERS = [long_text(300, f"f{n}") for n in range(10)]


async def test_what_results_push_out_is_told_and_is_found_by_looking_for_it(tmp_path: Path) -> None:
    """A9, E8: it was cut, and the tool said that it was in view."""
    look = ("coldcontext_query", '{"query": "boat called berth"}')
    script = [calls(LOOK, ids=[f"c{n}"]) for n in range(6)]
    given = setup(reading(1_200), *script, calls(look, ids=["q"]), says("done"), window=12_000)
    async with running_agent(tmp_path, given) as agent:
        for text in (f"{BOAT} {long_text(300, 'Fine.')}", *FILLERS):
            await agent.store.write(partial(put, past=Past(said=[Said(question=text)])))
        done = await agent.ask("look around")
        assert done.state is InputState.ANSWERED
        requests = [str(request.messages) for request in agent.model.requests]
        assert BOAT in requests[0]
        last = agent.model.requests[-1].messages[-1]
        for at, request in enumerate(requests):
            if BOAT not in request:
                assert NOTICE in request, f"call {at} is told"
        assert isinstance(last, ToolResult)
        assert BOAT not in requests[6]
        assert BOAT in last.text, "it is found"
        cut = [guard for guard in await records(agent, done.turn) if guard["why"] == "results"]
        assert cut
        assert cut[0]["left_out"]


async def test_results_push_out_what_is_least_relevant_and_not_what_is_oldest(tmp_path: Path) -> None:
    """A9"""
    given = setup(reading(3_000), *[calls(LOOK, ids=[f"c{n}"]) for n in range(3)], says("done"), window=13_000)
    async with running_agent(tmp_path, given) as agent:
        for text in (BOAT, *FILLERS):
            await agent.store.write(partial(put, past=Past(said=[Said(question=text)])))
        await agent.ask("look around for the berth of the boat")
        last = str(agent.model.requests[-1].messages)
        assert "f0 lorem" in str(agent.model.requests[0].messages)
        assert "f0 lorem" not in last
        assert BOAT in last


async def test_a_turn_resumed_after_a_crash_rebuilds_its_view_and_goes_on(tmp_path: Path) -> None:
    """T7"""
    script = [calls(LOOK, ids=[f"c{n}"]) for n in range(9)]
    given = setup(reading(5_000), *script, hangs("well, "))
    async with running_agent(tmp_path, given) as agent:
        receipt = await agent.conversations.inject(OWNER, message("look around"))
        await agent.until(lambda: agent.of("content_delta"), limit=20)
    again = setup(reading(5_000), calls(LOOK, ids=["c99"]), says("done"))
    async with running_agent(tmp_path, again) as agent:
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.ANSWERED
        for request in again.model.requests:
            assert pairing.check(request.messages) == []
            assert size(request) < 32_768
            assert isinstance(request.messages[-1], ToolResult | User | Assistant)


def test_a_smaller_room_is_divided_as_the_larger_one_was() -> None:
    plain = budget(50_000, 2_196)
    assert (plain.memory, plain.context) == (12_601, 25_203)
    half = scaled(plain, 10_000)
    assert (half.available, half.memory, half.context) == (10_000, 3_333, 6_667)
    assert scaled(plain, 1).context == 1


@pytest.mark.slow
async def test_fifty_thousand_tokens_last_for_a_long_task_at_a_third_of_the_cost(tmp_path: Path) -> None:
    """F.2 T10, memory.md §3.1: 5 800 tokens an event; the same run in a huge window is what "off" costs."""

    async def run(window: int, folder: Path) -> tuple[int, list[dict[str, Any]]]:
        await trio.Path(folder).mkdir()
        script: list[Answer] = []
        for turn in range(12):
            rounds = 12 if turn == 5 else 2
            script += [calls(LOOK, ids=[f"t{turn}r{n}"]) for n in range(rounds)] + [says(f"answer {turn}")]
        given = setup(
            reading(5_800), *script, window=window,
            **{"core.agent.max_context_size": 1000 if window > 10**6 else 30},
        )  # fmt: skip
        guards: list[dict[str, Any]] = []
        async with running_agent(folder, given) as agent:
            thread = ""
            for turn in range(12):
                done = await agent.ask(f"question {turn}", thread=thread)
                assert done.state is InputState.ANSWERED, done.outcome
                thread = done.thread
                guards += await records(agent, done.turn)
            for request in agent.model.requests:
                assert pairing.check(request.messages) == []
                assert size(request) < window
            return sum(size(request) for request in agent.model.requests), guards

    pruned, guards = await run(50_000, tmp_path / "small")
    whole, none = await run(100_000_000, tmp_path / "huge")
    assert guards, "a turn with twelve such results gathers more than 125 % of the window"
    assert none == []
    assert whole > 3_000_000, "the run is long"
    assert pruned * 3 <= whole, f"{pruned} of {whole}"
