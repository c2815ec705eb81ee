"""Distillation is never on the way to an answer: turns do not wait for it, and it waits for turns (B12, C7)."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import NoReturn

import trio

from homed.failpoints import NoFailpoints
from homed.jobs import book
from homed.jobs.distil import DistilPorts, distil
from homed.jobs.every import Jobs
from homed.jobs.job import JobPorts, Run
from homed.jobs.transcript import Transcript
from homed.memory import cold
from homed.store.rows import Tx
from tests.homed.jobs.past import DAY, HOUR, SAID, Settings
from tests.homed.jobs.test_distil import LONG
from tests.kit.builders import OWNER as WHO
from tests.kit.builders import Agent, FakeModel, Setup, hangs, message, running_agent, says
from tests.kit.past import Past, Said, put


class Stuck:
    """A model that never answers the distiller."""

    def __init__(self) -> None:
        self.asked = trio.Event()
        self.count = 0
        self.busy_when_asked: list[bool] = []
        self.agent: Agent | None = None

    def ready(self) -> bool:
        return True

    async def read(self, run: Run, script: Transcript) -> NoReturn:
        assert self.agent is not None
        self.busy_when_asked.append(any(self.agent.conversations.counts.values()))
        self.count += 1
        self.asked.set()
        await trio.sleep_forever()


def jobs_of(agent: Agent, reader: Stuck) -> Jobs:
    reader.agent = agent
    now = SAID + 10 * DAY
    ports = DistilPorts(
        store=agent.store, settings=Settings(), wall=lambda: now, reader=reader, rules=lambda event: (),
        failpoints=NoFailpoints(),
    )  # fmt: skip
    kept = JobPorts(store=agent.store, wall=lambda: now, zone=lambda: UTC, turns=agent.conversations)
    return Jobs(kept, agent.bus, [distil(ports)])


def cooled(tx: Tx) -> None:
    made = put(tx, Past(said=[Said(question=LONG)], at=SAID))
    cold.sink(tx, WHO.scope, [event.id for event in made], at=SAID + HOUR)


async def test_a_turn_is_answered_while_the_distiller_hangs_and_asks_nobody_of_it(tmp_path: Path) -> None:
    reader, model = Stuck(), FakeModel(says("one"), says("two"))
    async with running_agent(tmp_path, Setup(model=model)) as agent, trio.open_nursery() as nursery:
        await agent.store.write(cooled)
        jobs = jobs_of(agent, reader)
        await nursery.start(jobs.run)
        await jobs.run_now("distil")
        with trio.fail_after(60):
            await reader.asked.wait()
            for answer in ("one", "two"):
                done = await agent.ask("hello")
                assert done.outcome is not None
                assert done.outcome.text == answer
        assert reader.count == 1, "no turn asked the distiller for anything"
        assert len(model.requests) == 2
        nursery.cancel_scope.cancel()
    async with running_agent(tmp_path) as agent:  # C7: what a stop cut off is there to go on with
        assert (await agent.store.read(lambda tx: book.last_runs(tx)))["distil"].state == "cut"
        assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM events WHERE layer = 'cold'")) == 2
        assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM job_units")) == 0


async def test_it_begins_no_unit_while_somebody_is_being_answered(tmp_path: Path) -> None:
    reader, model = Stuck(), FakeModel(hangs("wait"))
    async with running_agent(tmp_path, Setup(model=model)) as agent, trio.open_nursery() as nursery:
        await agent.store.write(cooled)
        receipt = await agent.conversations.inject(WHO, message("hello"))
        with trio.fail_after(60):
            await model.hanging.wait()
            jobs = jobs_of(agent, reader)
            await nursery.start(jobs.run)
            with agent.bus.subscribe() as news:
                await jobs.run_now("distil")
                async for notice in news:
                    if notice.data.get("job") == "distil":
                        break
            assert reader.count == 0
            await agent.conversations.stop(WHO, receipt.thread.id)
            await reader.asked.wait()
        assert reader.busy_when_asked == [False]
        nursery.cancel_scope.cancel()
