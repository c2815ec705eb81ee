"""Sinking without a turn: what the heartbeat does for windows that no turn brought down."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import trio

from homed.agent.scopes import Use
from homed.memory import ledger
from homed.retrieval.asking import Question
from tests.kit.builders import OWNER, FakeSettings, Setup, running_agent
from tests.kit.past import Past, Said, layers, put

SMALL = {"core.agent.max_context_size": 6, "core.agent.protected_events": 2}


def notes(count: int, scope: str = OWNER.scope) -> Past:
    return Past(said=[Said(question=f"Note {n} on the garden.") for n in range(count)], scope=scope)


async def test_only_crowded_scopes_sink_down_to_their_size_and_it_is_recorded(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        sinking = agent.conversations.sinking
        past = await agent.store.write(partial(put, past=notes(10)))
        few = await agent.store.write(partial(put, past=notes(3, "group:1")))
        assert await sinking.crowded() == [OWNER.scope]
        moved = set(await sinking.tidy(OWNER.scope))
        now = await layers(agent.store, [*past, *few])
        assert {id_ for id_, layer in now.items() if layer == "cold"} == moved
        assert len(past) - len(moved) <= 6
        assert await sinking.crowded() == []
        assert await sinking.tidy(OWNER.scope) == ()
        stamps = await agent.store.read(
            lambda tx: tx.all("SELECT DISTINCT sunk_at > 1e9 FROM events WHERE layer = 'cold'")
        )
        assert stamps == [(1,)], "they began to cool then"
        (record,) = [
            r for r in await agent.store.read(lambda tx: ledger.of_turn(tx, past[-1].turn)) if r.kind == "sink"
        ]
        assert set(record.data["events"]) == moved  # type: ignore[call-overload]
        assert agent.of("memory")[0]["what"] == "prune"


async def test_what_a_turn_in_flight_shows_stays(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        past = await agent.store.write(partial(put, past=notes(10)))
        shown = frozenset(event.id for event in past[:2])
        scopes = agent.conversations.sinking._scopes
        scopes.use(OWNER.scope, "turn_new", Use(past[0].thread, Question("garden"), shown, 30_000))
        assert not shown.intersection(await agent.conversations.sinking.tidy(OWNER.scope))


async def test_two_at_once_in_a_scope_are_one(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(settings=FakeSettings(**SMALL))) as agent:
        await agent.store.write(partial(put, past=notes(10)))
        found: list[int] = []

        async def tidy() -> None:
            found.append(len(await agent.conversations.sinking.tidy(OWNER.scope)))

        async with trio.open_nursery() as both:
            both.start_soon(tidy)
            both.start_soon(tidy)
        assert sorted(found)[0] == 0
        assert sum(found) >= 14
