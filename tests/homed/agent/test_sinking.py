"""Sinking: what leaves a full window, what never does, and that it is found again word for word."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from homed.memory import events, ledger, scope_window
from homed.memory.records import Event, InputState
from homed.providers.base import ErrorKind, ProviderError
from homed.store.rows import Tx
from tests.kit.builders import (
    OWNER,
    Agent,
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
from tests.kit.past import Past, Said, layers, long_text, put, remember

SMALL = {"core.agent.max_context_size": 6, "core.agent.protected_events": 2}


async def settled(agent: Agent) -> None:
    """Wait until what follows an answer is done too."""
    await agent.conversations.wait_idle()


async def record(agent: Agent, turn: str) -> dict[str, Any]:
    found = await agent.store.read(lambda tx: ledger.of_turn(tx, turn))
    return next(dict(one.data) for one in found if one.kind == "sink")


async def test_a_full_window_sinks_after_the_answer_down_to_its_size_and_says_so(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        past = await remember(agent.store, *[f"Note {n} on the garden." for n in range(10)])
        done = await agent.ask("Tell me of note 3")
        await settled(agent)
        now = await layers(agent.store, past)
        kept = [e for e in past if now[e.id] == "context"]
        assert len(kept) <= SMALL["core.agent.max_context_size"]
        assert "Note 3 on the garden." in [e.text for e in kept], "what is relevant stays"
        sunk = await record(agent, done.turn)
        assert set(sunk["events"]) == {id_ for id_, layer in now.items() if layer == "cold"}
        assert sunk["before"]["events"] == 22
        assert sunk["after"]["events"] <= 6
        (told,) = [said for said in agent.of("memory") if said["what"] == "prune"]
        assert (set(told["events"]), told["more"]) == (set(sunk["events"]), 0)
        own = await agent.store.read(lambda tx: events.of_turn(tx, done.turn))
        assert {e.layer for e in own} == {"context"}, "the newest of a conversation that goes on stay"


async def test_below_the_mark_nothing_sinks(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        past = await remember(agent.store, *[f"Note {n}." for n in range(5)])
        await agent.ask("hello")
        await settled(agent)
        assert set((await layers(agent.store, past)).values()) == {"context"}


async def test_a_window_of_too_many_tokens_sinks_however_few_its_events_are(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(context_window=8_000))) as agent:
        said = [Said(question=long_text(1_500, f"topic{n}")) for n in range(6)]
        past = await agent.store.write(partial(put, past=Past(said=said)))
        await agent.ask("topic1?")
        await settled(agent)
        now = await layers(agent.store, past)
        assert sum(e.tokens for e in past if now[e.id] == "context") <= 8_000
        assert "cold" in now.values()


async def test_what_a_turn_in_flight_shows_is_not_sunk_by_another(tmp_path: Path) -> None:
    settings = FakeSettings(**(SMALL | {"core.agent.max_context_size": 8}))
    model = FakeModel(hangs("thinking … "), says("ok"))
    async with running_agent(tmp_path, Setup(model=model, settings=settings)) as agent:
        past = await remember(agent.store, *[f"Note {n} on the garden." for n in range(12)])
        receipt = await agent.conversations.inject(OWNER, message("Note 2 and note 4 on the garden?"))
        await agent.until(lambda: agent.of("content_delta"))
        shown = next(iter(agent.conversations._loop._scopes.in_use(OWNER.scope))).events
        other = await agent.ask("Something else: the weather")
        await agent.ask("and?", thread=other.thread)  # begins once all that follows the first is done
        now = await layers(agent.store, past)
        assert shown & set(now)
        assert {now[id_] for id_ in shown if id_ in now} == {"context"}
        assert "cold" in now.values()
        await agent.conversations.stop(OWNER, receipt.thread.id)
        done = await agent.conversations.wait(OWNER, receipt.input.id)
        assert done.state is InputState.STOPPED
        assert agent.conversations._loop._scopes.in_use(OWNER.scope) == []


async def test_of_two_hundred_events_the_third_is_asked_for_and_comes_back_word_for_word(tmp_path: Path) -> None:
    """A16: what was pruned is not lost, and who looks sees what was cooled."""
    third = "Event three: the boat is called 《海鸥七号》, berth 41-B, paid until 2031-04-09."
    said = [Said(question=third if n == 3 else f"Event {n}: nothing of note about the house.") for n in range(100)]
    model = FakeModel(context_window=5_000)  # 4k for the prompt
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        past = await agent.store.write(partial(put, past=Past(said=said)))
        first = await agent.ask("hello")
        await settled(agent)
        now = await layers(agent.store, past)
        cold = [id_ for id_, layer in now.items() if layer == "cold"]
        assert len(past) == len(now) == 200
        assert len(cold) > 100
        assert past[6].text == third
        assert set((await record(agent, first.turn))["events"]) == set(cold)
        await agent.ask("In which berth is the boat? What is it called?")
        assert third in "\n".join(m.text for m in model.requests[-1].messages)


async def test_a_store_that_fails_while_sinking_costs_no_answer(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        past = await remember(agent.store, *[f"Note {n}." for n in range(10)])

        def forbid(tx: Tx) -> None:
            tx.execute(
                "CREATE TEMP TRIGGER no_sinking BEFORE UPDATE OF layer ON main.events WHEN new.layer = 'cold'"
                " BEGIN SELECT raise(ABORT, 'no'); END"
            )

        await agent.store.write(forbid)
        done = await agent.ask("hello")
        await settled(agent)
        assert done.state is InputState.ANSWERED
        assert (await agent.ask("again", thread=done.thread)).state is InputState.ANSWERED
        assert set((await layers(agent.store, past)).values()) == {"context"}


async def test_two_conversations_at_once_neither_throw_out_each_others_nor_wait_for_ever(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        past: list[Event] = await remember(agent.store, *[f"Note {n} on bees." for n in range(10)])
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for n in range(6):
                    nursery.start_soon(agent.ask, f"bees, question {n}")
            await settled(agent)
        now = await layers(agent.store, past)
        assert len(now) == 20
        assert set(now.values()) <= {"context", "cold"}
        assert "cold" in now.values()


async def test_what_a_running_turn_has_stored_is_not_said_to_have_sunk(tmp_path: Path) -> None:
    """A14: the guard of a turn planned to sink that turn's own events, which stay, and recorded that they went."""
    host = FakeHost()

    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return long_text(2_000, f"page{len(host.invoked())}")

    host.tool("look", look)
    model = FakeModel(*[calls(("look", "{}"), ids=[f"c{n}"]) for n in range(6)], says("ok"), context_window=8_000)
    settings = FakeSettings(**{"core.agent.result_limit": 1_000_000, "core.agent.protected_events": 2})
    async with running_agent(tmp_path, Setup(model=model, host=host, settings=settings)) as agent:
        past = await remember(agent.store, *[f"Note {n} on the garden." for n in range(10)])
        done = await agent.ask("look around, and at the notes on the garden")
        await settled(agent)
        found = await agent.store.read(lambda tx: ledger.of_turn(tx, done.turn))
        guards: list[dict[str, Any]] = [
            dict(one.data) for one in found if one.kind == "guard" and one.data["why"] == "gathered"
        ]
        assert guards[0]["sunk"], "what is relevant too, where the rest has to stay"
        own = {e.id for e in await agent.store.read(lambda tx: events.of_turn(tx, done.turn))}
        for entry in [*guards, *(dict(one.data) for one in found if one.kind == "sink")]:
            assert not own & set(entry.get("sunk", ())), "they were there while it ran"
        cold = {id_ for id_, layer in (await layers(agent.store, past)).items() if layer == "cold"}
        sinks: list[dict[str, Any]] = [dict(one.data) for one in found if one.kind == "sink"]
        assert {id_ for entry in sinks for id_ in entry["events"]} - own == cold
        assert sinks[-1]["after"]["events"] == await agent.store.read(lambda tx: scope_window.totals(tx, "owner")[0])


async def test_the_guard_does_not_wait_for_a_window_that_is_held(tmp_path: Path) -> None:
    """A10: an answer waited for the lock of its scope without any limit."""
    full = ProviderError(ErrorKind.CONTEXT_FULL, "too long", status=400)
    model = FakeModel(hangs("x "), says("ok"))
    settings = FakeSettings(**(SMALL | {"core.memory.recall_deadline": 0.05}))
    async with running_agent(tmp_path, Setup(model=model, settings=settings)) as agent:
        await remember(agent.store, *[f"Note {n} on the garden." * 20 for n in range(20)])
        model.script = [fails(full), says("ok")]
        scopes = agent.conversations._loop._scopes
        async with scopes.window(OWNER.scope):
            with trio.fail_after(60):
                done = await agent.ask("garden?")
        assert done.state in (InputState.ANSWERED, InputState.FAILED)
