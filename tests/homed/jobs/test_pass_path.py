"""The pass is never on the way to an answer: neither answers nor what a turn is reminded of wait for its model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import trio
from trio.testing import wait_all_tasks_blocked

from homed.clock import system_wall_clock
from homed.events import MEMORY
from homed.failpoints import NoFailpoints
from homed.jobs.every import Jobs
from homed.jobs.job import JobPorts, Run, TurnsPort
from homed.jobs.making import ReaderPort, by_rules
from homed.jobs.passing import PassPorts, passing
from homed.jobs.storing import Extracted
from homed.jobs.transcript import Transcript
from homed.memory import passes
from tests.homed.jobs.past import Settings
from tests.homed.jobs.test_distil import Reader
from tests.kit.builders import OWNER as WHO
from tests.kit.builders import Agent, FakeModel, Setup, hangs, message, running_agent, says

TOLD = "My sister Clara keeps eleven goats on her farm near Thun, and each of the goats has a name."


class Stuck(Reader):
    """A model that never answers the pass."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(lambda script: Extracted("model"))
        self.asked = trio.Event()
        self.busy: list[bool] = []
        self._agent = agent

    async def read(self, run: Run, script: Transcript) -> Extracted:
        self.scripts.append(script)
        self.busy.append(any(self._agent.conversations.counts.values()))
        self.asked.set()
        await trio.sleep_forever()
        raise AssertionError


class Watched:
    """The agent's turns, and when somebody waits for their end."""

    def __init__(self, agent: Agent) -> None:
        self.waited = trio.Event()
        self._turns = agent.conversations

    @property
    def counts(self) -> Mapping[str, int]:
        return self._turns.counts

    async def wait_idle(self) -> None:
        self.waited.set()
        await self._turns.wait_idle()


@asynccontextmanager
async def passes_of(agent: Agent, reader: ReaderPort, turns: TurnsPort | None = None) -> AsyncIterator[Jobs]:
    """The job at work for the length of the block, woken as in the daemon."""
    made = passing(
        PassPorts(
            store=agent.store, settings=Settings(), wall=system_wall_clock, reader=reader, rules=by_rules,
            bus=agent.bus, failpoints=NoFailpoints(),
        )
    )  # fmt: skip
    ports = JobPorts(store=agent.store, wall=system_wall_clock, zone=lambda: UTC, turns=turns or agent.conversations)
    async with trio.open_nursery() as nursery:
        jobs = Jobs(ports, agent.bus, [made])
        await nursery.start(jobs.run)
        yield jobs
        nursery.cancel_scope.cancel()


async def test_an_answer_is_whole_and_the_next_turn_is_reminded_while_the_pass_hangs(tmp_path: Path) -> None:
    model = FakeModel(says("How nice!"), says("Clara does."))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        reader = Stuck(agent)
        async with passes_of(agent, reader):
            with trio.fail_after(60):
                first = await agent.ask(TOLD)
                assert first.outcome is not None
                assert first.outcome.text == "How nice!"
                await reader.asked.wait()
                began = trio.current_time()
                second = await agent.ask("Who keeps goats on a farm near Thun?")
                assert second.outcome is not None
                assert second.outcome.text == "Clara does."
                assert trio.current_time() - began < 5
        shown = "\n".join(str(one) for one in model.requests[-1].messages)
        assert TOLD in shown, "of another conversation, while nothing lasting was made of it"
        assert reader.busy == [False]
        assert len(model.requests) == 2, "no turn asked for anything else"
        count, _ = await agent.store.read(passes.waiting)
        assert count == 2, "and both are owed still"


async def test_the_end_of_a_turn_wakes_it_and_it_is_done_within_seconds(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(says("ok")))) as agent:
        with agent.bus.subscribe(frozenset({MEMORY})) as news:
            async with passes_of(agent, Reader()):
                done = await agent.ask(f"My name is Anna. {TOLD}")
                with trio.fail_after(60):
                    async for notice in news:
                        if notice.data.get("what") == "written":
                            break
                assert notice.turn == done.turn
                assert set(notice.data["records"]) == {"fact", "summary"}  # type: ignore[call-overload]


async def test_it_gives_way_to_a_turn_that_runs(tmp_path: Path) -> None:
    model = FakeModel(says("ok"), hangs("wait"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        reader = Stuck(agent)
        await agent.ask(TOLD)
        receipt = await agent.conversations.inject(WHO, message("hello"))
        with trio.fail_after(60):
            await model.hanging.wait()
            turns = Watched(agent)
            async with passes_of(agent, reader, turns) as jobs:
                jobs.soon(passes.JOB, 0.0)
                await turns.waited.wait()
                await wait_all_tasks_blocked()
                assert reader.scripts == []
                await agent.conversations.stop(WHO, receipt.thread.id)
                await reader.asked.wait()
        assert reader.busy == [False]
