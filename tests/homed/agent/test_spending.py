"""What a turn costs: counted, told, held before the call, asked about; nobody goes round the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

import trio
import trio.testing

from homed.agent.complete import Completions, Question
from homed.agent.schedule import Way
from homed.agent.seat import Seat
from homed.agent.spending import Spending
from homed.clock import system_wall_clock
from homed.memory.records import InputState
from homed.providers.base import ContentDelta, Done, ErrorKind, ProviderError, Usage, UsagePart
from homed.redact import Redactor
from homed.spend.gate import Gate, GatePorts
from homed.spend.ports import OverLimit, SpendPort
from homed.spend.records import NANOS, Cost, Price, Tokens
from homed.store.db import Store
from tests.homed.agent.test_interrupts import ended, interrupt, said
from tests.homed.spend.test_gate import Settings
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
    fails,
    hangs,
    message,
    running_agent,
)

PRICE = [{"source": "*", "model": "*", "prompt": "1", "completion": "2", "cached": "0.1", "currency": "USD"}]
"""A prompt token is a millionth of a dollar: 1000 nanos."""


def gate(**changed: Any) -> Callable[[Store], SpendPort]:
    settings = Settings(**changed)
    return lambda store: Gate(GatePorts(store, settings, lambda: UTC, system_wall_clock))


def took(prompt: int, completion: int, cached: int = 0, text: str = "ok") -> Answer:
    return Answer([ContentDelta(text), UsagePart(Usage(prompt, completion, cached)), Done("stop")])


def looks(prompt: int, at: int) -> Answer:
    found = calls(("look", f'{{"at": {at}}}'))
    return Answer([*[p for p in found.parts if not isinstance(p, UsagePart)], UsagePart(Usage(prompt, 10))])


def host() -> FakeHost:
    made = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "x"

    made.tool("look", look, guest=True)
    return made


async def rows(agent: Agent) -> list[tuple[Any, ...]]:
    return await agent.store.read(
        lambda tx: tx.all(
            "SELECT kind, state, prompt, completion, estimated, price, nanos FROM spend_calls ORDER BY id"
        )
    )


async def test_the_outcome_tells_tokens_and_money_of_the_whole_turn(tmp_path: Path) -> None:
    model = FakeModel(looks(1000, 1), took(2000, 100, 1000))
    async with running_agent(tmp_path, Setup(model=model, host=host(), spend=gate(prices=PRICE))) as agent:
        done = await agent.ask("look")
        assert done.outcome is not None
        assert done.outcome.usage == {"prompt": 3000, "completion": 110, "cached": 1000, "cost": {"USD": "0.00232"}}
        ended = (await agent.history(done.thread))["ended"][0]
        assert ended["usage"]["cost"] == {"USD": "0.00232"}
        assert [row[1] for row in await rows(agent)] == ["done", "done"]


async def test_a_price_nobody_knows_is_not_nothing_and_a_count_of_ours_says_so(tmp_path: Path) -> None:
    """D7: usage missing in the reply."""
    model = FakeModel(Answer([ContentDelta("word " * 50), Done("stop")]))
    async with running_agent(tmp_path, Setup(model=model, spend=gate())) as agent:
        done = await agent.ask("hi")
        assert done.outcome is not None
        usage = done.outcome.usage
        assert "cost" not in usage
        assert usage["unpriced"] == usage["estimated"] == int(str(usage["prompt"])) + int(str(usage["completion"]))
        assert 40 <= int(str(usage["completion"])) <= 110
        ((kind, state, prompt, _, estimated, price, nanos),) = await rows(agent)
        assert (kind, state, estimated, price, nanos) == ("turn", "done", 1, "unknown", 0)
        assert prompt > 100, "the instructions count"


async def test_a_call_that_was_stopped_has_cost_its_prompt_and_what_had_come(tmp_path: Path) -> None:
    model = FakeModel(hangs("some words"))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(prices=PRICE))) as agent:
        receipt = await agent.conversations.inject(OWNER, message("hi"))
        await model.hanging.wait()
        await agent.conversations.stop(OWNER, receipt.input.thread)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        ((_, state, prompt, completion, estimated, _, nanos),) = await rows(agent)
        assert (state, estimated) == ("done", 1)
        assert prompt > 100
        assert completion >= 2
        assert nanos == prompt * 1000 + completion * 2000


async def test_a_refused_call_costs_nothing(tmp_path: Path) -> None:
    key = ProviderError(ErrorKind.CREDENTIAL, "a: bad key", status=401)
    async with running_agent(tmp_path, Setup(model=FakeModel(fails(key)), spend=gate())) as agent:
        done = await agent.ask("hi")
        assert done.state is InputState.FAILED
        assert await rows(agent) == []


async def answer(agent: Agent, *, allow: bool) -> dict[str, Any]:
    await agent.until(lambda: agent.conversations.approvals(OWNER))
    (asked,) = agent.conversations.approvals(OWNER)
    await agent.conversations.approve(OWNER, str(asked["approval"]), allow=allow, remember="thread")
    return dict(asked)


async def test_at_the_days_limit_the_person_is_asked_and_a_yes_is_as_much_again(tmp_path: Path) -> None:
    model = FakeModel(took(9_000, 0), took(5_000, 0, text="on we go"), took(1, 0))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        first = await agent.ask("hi")
        receipt = await agent.conversations.inject(OWNER, message("more", thread=first.thread, can_ask=True))
        asked = await answer(agent, allow=True)
        assert (asked["tool"], asked["yes"]) == ("spend", "day")
        assert "9001 tokens of 10000 tokens" in asked["reason"]
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.outcome is not None
        assert done.outcome.text == "on we go"
        assert agent.rules.rules == [], "a yes to this is for today, not for ever"
        assert len(model.requests) == 2


async def test_background_work_takes_no_question_about_the_day_from_under_a_persons_eyes(tmp_path: Path) -> None:
    model = FakeModel(took(9_000, 0), took(5_000, 0, text="noted"), took(1, 0, text="on we go"))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        first = await agent.ask("hi")
        receipt = await agent.conversations.inject(OWNER, message("more", thread=first.thread, can_ask=True))
        await agent.until(lambda: agent.conversations.approvals(OWNER))
        news, way = await interrupt(agent, "the terminal says something", first.thread, 1)
        assert way is Way.SUSPENDS
        await trio.testing.wait_all_tasks_blocked()
        await answer(agent, allow=True)
        assert said(*await ended(agent, news, receipt)) == ["noted", "on we go"], "the yes is for both"
        assert [asked["status"] for asked in agent.of("approval")] == ["asked", "allowed"]


async def test_a_yes_for_the_day_counts_though_something_more_urgent_comes_with_it(tmp_path: Path) -> None:
    model = FakeModel(took(9_000, 0), took(500, 0, text="wake up"), took(1, 0, text="on we go"))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        first = await agent.ask("hi")
        receipt = await agent.conversations.inject(OWNER, message("more", thread=first.thread, can_ask=True))
        await agent.until(lambda: agent.conversations.approvals(OWNER))
        (asked,) = agent.conversations.approvals(OWNER)
        lane = agent.conversations.lane(first.thread)
        assert lane is not None
        turn = lane.running
        assert turn is not None
        await agent.conversations.approve(OWNER, str(asked["approval"]), allow=True)
        assert isinstance(turn.place, Seat)
        turn.place.cancel()  # as an interrupt does that comes before the turn has seen the answer
        assert said(*await ended(agent, receipt)) == ["wake up"]
        assert [asked["status"] for asked in agent.of("approval")] == ["asked", "allowed"]


async def test_a_no_ends_the_turn_before_anything_is_spent(tmp_path: Path) -> None:
    model = FakeModel(took(9_000, 0))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        first = await agent.ask("hi")
        receipt = await agent.conversations.inject(OWNER, message("more", thread=first.thread, can_ask=True))
        await answer(agent, allow=False)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.outcome is not None
        assert done.state is InputState.FAILED
        assert "Today's limit is used up" in done.outcome.error
        assert "The person said no" in done.outcome.hint
        assert done.outcome.cause == {"kind": "spend"}
        assert len(model.requests) == 1


async def test_where_nobody_can_be_asked_the_hint_says_so_and_what_to_do_once(tmp_path: Path) -> None:
    model = FakeModel(took(9_000, 0))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        first = await agent.ask("hi")
        receipt = await agent.conversations.inject(OWNER, message("more", thread=first.thread, can_ask=False))
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.outcome is not None
        assert done.outcome.hint == (
            "Nobody can be asked in this channel."
            " It goes on tomorrow, or with a higher core.spend.day_tokens (0: no limit)."
        )


async def test_a_guest_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    model = FakeModel(took(8_500, 0))
    async with running_agent(tmp_path, Setup(model=model, spend=gate(day_tokens=10_000))) as agent:
        await agent.ask("hi")
        done = await agent.ask("hello", who=GUEST, can_ask=True)
        assert done.outcome is not None
        assert done.state is InputState.FAILED
        assert "without the owner's word" in done.outcome.error
        assert agent.of("approval") == []
        assert len(model.requests) == 1


async def test_a_message_near_its_limit_is_answered_with_what_there_is(tmp_path: Path) -> None:
    model = FakeModel(*[looks(9_000, n) for n in range(30)])
    model.script[2:] = [took(9_000, 10, text="so far")]
    settings = FakeSettings(**{"core.agent.max_tool_turns": 100})
    given = Setup(model=model, host=host(), settings=settings, spend=gate(turn_tokens=28_000))
    async with running_agent(tmp_path, given) as agent:
        done = await agent.ask("look")
        assert done.outcome is not None
        assert done.outcome.text == "so far"
        assert model.requests[-1].tools == ()
        assert "limit of tokens for one message" in str(model.requests[-1].messages[-1])
        assert [note["code"] for note in agent.of("system")] == ["spend_limit"]


async def test_a_model_that_always_calls_a_tool_cannot_pass_the_limit_of_a_message(tmp_path: Path) -> None:
    """D7: hard, whatever the model counts or does not."""
    always = [calls(("look", f'{{"at": {n}}}')) for n in range(300)]
    model = FakeModel(*[Answer([p for p in one.parts if not isinstance(p, UsagePart)]) for one in always])
    settings = FakeSettings(**{"core.agent.max_tool_turns": 100})
    given = Setup(model=model, host=host(), settings=settings, spend=gate(turn_tokens=20_000))
    async with running_agent(tmp_path, given) as agent:
        await agent.ask("look")
        spent = sum(row[2] + row[3] for row in await rows(agent))
        assert 5_000 < spent <= 20_000


async def test_plugins_and_jobs_go_through_the_same_gate(tmp_path: Path) -> None:
    question = Question([("user", "Is it?")], 100, 30.0)
    async with running_agent(tmp_path, Setup(spend=gate(day_tokens=10_000))) as agent:
        completions = Completions(agent.model, Redactor(), spend=agent.ports.spend)
        agent.model.script = [took(5_000, 0), took(2_500, 0), took(100, 0)]
        assert (await completions.ask("weather", question)).text == "ok"
        assert (await completions.ask("jobs:distil", question)).text == "ok"
        over: list[OverLimit] = []
        for who in ("jobs:distil", "weather"):
            question = Question([("user", "word " * 500)], 100, 30.0)
            try:
                await completions.ask(who, question)
            except OverLimit as error:
                over.append(error)
        assert len(over) == 2
        assert [row[0] for row in await rows(agent)] == ["plugin", "background"]
        assert len(agent.model.requests) == 2


async def test_what_a_plugin_asks_within_a_turn_is_that_turns(tmp_path: Path) -> None:
    made = FakeHost()
    completions: list[Completions] = []

    async def think(_: Mapping[str, Any]) -> object:
        lent = agent.tokens.resolve("demo", str(made.invoked()[-1]["call"]))
        calling = agent.conversations.calling
        purpose = calling.purpose(lent, "demo")
        done = await completions[0].ask(
            "demo", Question([("user", "x")], 10, 30.0), purpose=purpose,
            paid=lambda tokens, cost: calling.spent(lent, tokens, cost),
        )  # fmt: skip
        return done.text

    made.tool("think", think)
    model = FakeModel(calls(("think", "{}")), took(500, 0), took(20, 0))
    async with running_agent(tmp_path, Setup(model=model, host=made, spend=gate(prices=PRICE))) as agent:
        completions.append(Completions(agent.model, Redactor(), spend=agent.ports.spend))
        done = await agent.ask("think")
        assert done.outcome is not None
        assert done.outcome.usage["prompt"] == 530
        turns = await agent.store.read(
            lambda tx: tx.all("SELECT kind, who FROM spend_calls WHERE turn = ?", (done.turn,))
        )
        assert turns == [("turn", ""), ("plugin", "demo"), ("turn", "")]


def test_what_was_spent_goes_into_the_store_and_comes_back() -> None:
    spending = Spending()
    spending.add(Tokens(100, 10, 50), Cost(Price.KNOWN, "USD", 1))
    spending.add(Tokens(100, 10, 0, estimated=True), Cost(Price.KNOWN, "CNY", NANOS))
    spending.add(Tokens(7, 3), Cost(Price.UNKNOWN))
    spending.add(Tokens(1, 1), Cost(Price.FREE))
    assert spending.view() == {
        "prompt": 208, "completion": 24, "cached": 50, "cost": {"CNY": "1", "USD": "0.000000001"}, "unpriced": 10,
        "estimated": 110,
    }  # fmt: skip
    assert Spending.of(spending.view()) == spending
    assert Spending.of({"prompt": True, "cost": {"USD": "NaN"}, "cached": "x"}).usage == Usage()
