"""With the whole turn goes what it left with the agents that it made."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from homed.errors import Conflict, StorageError
from homed.jobs.forget import DeleteThread, ForgetPorts, Forgetting, delete_quietly
from homed.jobs.searching import InChild
from homed.memory import events, inputs
from homed.memory.records import EventKind, NewEvent
from homed.store.rows import Tx
from tests.kit.builders import OWNER, Agent, FakeSettings, hangs, says
from tests.kit.cast import MAIN, agents, making, one, quiet, resident, settled, spawn
from tests.kit.forgetting import standing, world

SECRET = "Count the silver spoons of Ludmilla in the cellar."
FOUND = "Ludmilla owns forty silver spoons in the cellar."
KEPT = "The river is cold in winter, somebody said."


@asynccontextmanager
async def forgetting(agent: Agent, folder: Path, delete: DeleteThread) -> AsyncIterator[Forgetting]:
    ports = ForgetPorts(
        store=agent.store, data=folder, search=InChild(folder, os.environ, "test"), collect=trio.lowlevel.checkpoint,
        delete_thread=delete,
    )  # fmt: skip
    made = Forgetting(ports)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        yield made
        nursery.cancel_scope.cancel()


async def asked(agent: Agent, text: str) -> str:
    """The id of what was asked with these words."""
    return str(await agent.store.read(lambda tx: tx.value("SELECT id FROM events WHERE text = ?", (text,))))


async def texts(agent: Agent) -> str:
    return str(await agent.store.read(lambda tx: tx.value("SELECT group_concat(text, '|') FROM events")))


@pytest.mark.parametrize("daemon", [True, False], ids=["running", "offline"])
async def test_an_agents_conversation_and_the_answer_to_its_report_go_with_the_turn(
    tmp_path: Path, daemon: bool
) -> None:
    scripts = {
        MAIN: [says("noted"), one(spawn(SECRET)), says("on its way"), says(FOUND)],
        "helper": [one(spawn(SECRET, "second")), says("wait"), says(FOUND)], "second": [says(FOUND)],
    }  # fmt: skip
    settings = FakeSettings(**{"core.agent.children_depth": 2})
    async with agents(tmp_path, scripts, settings=settings) as (agent, _):
        thread = await settled(agent, KEPT)
        await settled(agent, SECRET, thread=thread)
        delete = agent.conversations.forget if daemon else partial(delete_quietly, agent.store)
        async with forgetting(agent, tmp_path, delete) as forget:
            event = await agent.store.read(
                lambda tx: str(tx.value("SELECT id FROM events WHERE text = ? AND thread = ?", (SECRET, thread)))
            )
            assert (await forget.preview("event", event)).counts["agent_turns"] == 0
            foreseen = await forget.preview("event", event, wide=True)
            turns = await agent.store.read(lambda tx: int(tx.value("SELECT count(*) FROM turns")))
            assert foreseen.counts["agent_turns"] == turns - 2, "all but what was said first, and the turn itself"
            events = await agent.store.read(lambda tx: int(tx.value("SELECT count(*) FROM events")))
            assert foreseen.counts["events"] == events - 2
            proof = await forget.forget("event", event, wide=True)
            assert proof.clean, str(proof.wire())
            assert await texts(agent) == f"{KEPT}|noted"
            assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM threads")) == 1
            assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM children")) == 0
    assert standing(tmp_path, "spoons", "Ludmilla") == {}


async def test_a_resident_stays_with_what_others_gave_it(tmp_path: Path) -> None:
    scripts = {
        MAIN: [
            *making("r"), one(resident("send", agent="r", text=KEPT)), says("sent"), says("it did"),
            one(resident("send", agent="r", text=SECRET)), says("sent"), says(FOUND),
        ],
        "r": [says("cold indeed"), says(FOUND)],
    }  # fmt: skip
    async with agents(tmp_path, scripts) as (agent, _):
        thread = await settled(agent, "make it")
        await settled(agent, "tell it", thread=thread)
        await settled(agent, "and now this", thread=thread)
        async with forgetting(agent, tmp_path, agent.conversations.forget) as forget:
            event = await asked(agent, "and now this")
            assert (await forget.preview("event", event, wide=True)).counts["agent_turns"] == 2
            proof = await forget.forget("event", event, wide=True)
            assert proof.clean, str(proof.wire())
            left = await texts(agent)
            assert "spoons" not in left
            assert all(text in left for text in (KEPT, "cold indeed", "it did"))
            assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM children")) == 1
    assert standing(tmp_path, "spoons") == {}


async def test_while_an_agent_works_at_it_nothing_is_forgotten(tmp_path: Path) -> None:
    scripts = {MAIN: [one(spawn(SECRET)), says("on its way")], "helper": [hangs("hm")]}
    async with agents(tmp_path, scripts) as (agent, cast):
        done = await agent.ask("go")
        with trio.fail_after(60):
            await cast.hung("helper").wait()
        async with forgetting(agent, tmp_path, agent.conversations.forget) as forget:
            event = await asked(agent, "go")
            assert (await forget.preview("event", event, wide=True)).busy
            with pytest.raises(Conflict):
                await forget.forget("event", event, wide=True)
            assert not (await forget.preview("event", event)).busy
        assert await agent.conversations.stop(OWNER, done.thread)
        await quiet(agent)


class Once:
    """Breaks off after the first piece."""

    def reach(self, name: str) -> None:
        if name == "forget.removing":
            raise StorageError("No more for now.")


@pytest.mark.parametrize("at", [0, 20, 39])
async def test_a_long_turn_that_was_cut_off_goes_whole_with_the_next_start(tmp_path: Path, at: int) -> None:
    async with world(tmp_path, failpoints=Once()) as here:
        await here.say(KEPT)
        await here.say("Look at all of them.")

        def more(tx: Tx) -> list[str]:
            given = inputs.get(tx, str(tx.value("SELECT id FROM inputs ORDER BY seq DESC")))
            assert given is not None
            said = [NewEvent(EventKind.ASSISTANT, f"Spoon number {n} of Ludmilla.") for n in range(40)]
            return [events.append(tx, given, one, at=1.5).id for one in said]

        ids = await here.store.write(more)
        with pytest.raises(StorageError):
            await here.forgetting.forget("event", ids[at], wide=True)
        assert await here.value("SELECT count(*) FROM events") == 28
    async with world(tmp_path) as here:
        await here.fulfilled()
        assert await here.value("SELECT count(*) FROM events") == 2
