"""A small process that sinks, looks up, confirms and distils on the real store through the real runner, to be killed.

``python -m tests.kit.distil_child`` is a zygote as ``tests.kit.turn_child``.  A child puts the past into the store if
it is not there, takes up what an earlier one left, and ends when everything has cooled and been distilled.  What it
asked "the model" stands in ``asked.log``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path

import trio

from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.distil import DistilPorts, distil
from homed.jobs.every import Jobs
from homed.jobs.job import Job, JobPorts, Run
from homed.jobs.judging import JudgingPorts, judging
from homed.jobs.storing import Extracted, Found, Summary
from homed.jobs.transcript import Transcript, outline
from homed.memory import cold, inputs
from homed.memory.newfact import NewFact
from homed.memory.records import EventKind, InputState, NewEvent, NewInput, Outcome
from homed.providers.base import Source
from homed.retrieval import index
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.homed.jobs.past import DAY, SAID, Settings
from tests.kit.failpoints import KillAt
from tests.kit.past import Past, Said, put
from tests.kit.turn_child import Order, note, serve

TURNS = 8
PLACES = ("Bern", "Rome", "Oslo", "Riga", "Lima", "Cairo", "Tunis", "Quito")
FRIENDS = ("Alexander Petrov", "Alexander Petrow")
"""Two that are one: half of the facts are of each."""

LOOKED_AT = 2
"""Events that a turn looks at and takes back into the window; they are distilled once they have sunk again."""


def said(n: int) -> str:
    """What was said in one turn."""
    return f"In the year {2000 + n} I worked as a gardener in {PLACES[n]} and it was a good time."


class Reader:
    """Answers from the transcript alone, one fact and one summary a turn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ready(self) -> bool:
        return True

    async def read(self, run: Run, script: Transcript) -> Extracted:
        note(self._folder, "asked.log", script.pieces[0].turn)
        await trio.lowlevel.checkpoint()
        found = []
        for piece in script.pieces:
            quote = script.find(piece.said)
            assert quote.span is not None
            who = FRIENDS[int(piece.said.split()[3]) % 2] if piece.said.startswith("In the year") else ""
            new = NewFact(piece.scope, piece.said, subject=who, peer=piece.peer)
            found.append(Found(new, (quote.span,)))
        told = outline(script.pieces[0])
        summary = Summary(told.request, told.actions, told.outcome, 5, (), "model", script.pieces)
        return Extracted("model", tuple(found), (summary,))


class Judge:
    """Says that the first pair is one."""

    def source(self) -> Source | None:
        return Source("cloud", "http://c", "m")

    async def ask(self, job: str, said: Sequence[tuple[str, str]], max_tokens: int) -> str:
        await trio.lowlevel.checkpoint()
        return '{"pairs": [{"pair": 1, "decision": "merge"}]}'


class Turns:
    """Nobody is being answered."""

    @property
    def counts(self) -> Mapping[str, int]:
        return {"busy": 0, "queued": 0}

    async def wait_idle(self) -> None:
        await trio.lowlevel.checkpoint()


def begin(tx: Tx) -> None:
    """The past, if it is not there: in the window, with a file each."""
    if tx.value("SELECT 1 FROM events"):
        return
    turns = [Said(question=said(n), results=[("web", "a page", True)] if n % 3 == 0 else []) for n in range(TURNS)]
    for event in put(tx, Past(said=turns, at=SAID)):
        if event.kind is EventKind.USER:
            tx.execute(
                "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at)"
                " VALUES (?, ?, 'image/png', 1, ?, 1)",
                (f"blk_{event.seq}", f"{event.seq:064d}", event.id),
            )


def sink(tx: Tx, failpoints: Failpoints, at: float) -> None:
    """All that is in the window."""
    ids = [row[0] for row in tx.all("SELECT id FROM events WHERE layer = 'context'")]
    failpoints.reach("memory.before_sink")
    cold.sink(tx, "owner", ids, at=at)


def look(tx: Tx, failpoints: Failpoints) -> None:
    """A turn looks at the oldest cold events; answered, it has them back, with its own events in the window."""
    thread = tx.value("SELECT id FROM threads")
    given, known = inputs.accept(
        tx, NewInput(thread, "owner", "webui", "webui:owner", "owner", "look", "look"), at=SAID
    )
    if known:
        return
    given = inputs.begin(tx, given.id, turn="turn_look", at=SAID)
    rows = tx.all("SELECT id FROM events WHERE kind = 'user' AND layer = 'cold' ORDER BY seq LIMIT ?", (LOOKED_AT,))
    cold.peek(tx, [row[0] for row in rows], given.turn, SAID)
    failpoints.reach("memory.peeked")
    new = [NewEvent(EventKind.USER, "look"), NewEvent(EventKind.ASSISTANT, "found", {"final": True})]
    inputs.finish(tx, given.id, Outcome(InputState.ANSWERED, "found"), new, at=SAID)
    index.catch_up(tx)


async def run(order: Order) -> None:
    """One child's life."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    with trio.fail_after(60):
        async with open_store(folder / "homed.db", failpoints=failpoints) as store:
            await store.write(begin)
            await store.write(lambda tx: sink(tx, failpoints, SAID + DAY))
            await store.write(lambda tx: look(tx, failpoints))
            await distilled(store, folder, failpoints, SAID + 5 * DAY)
            await store.write(lambda tx: sink(tx, failpoints, SAID + 6 * DAY))
            await distilled(store, folder, failpoints, SAID + 40 * DAY)
            judge = judging(
                JudgingPorts(store=store, wall=lambda: SAID + 41 * DAY, background=Judge(), failpoints=failpoints)
            )
            await done(store, judge, SAID + 41 * DAY)


async def distilled(store: Store, folder: Path, failpoints: Failpoints, now: float) -> None:
    """Have what has cooled distilled."""
    job = distil(
        DistilPorts(
            store=store, settings=Settings(), wall=lambda: now, reader=Reader(folder), rules=lambda event: (),
            failpoints=failpoints,
        )
    )  # fmt: skip
    await done(store, job, now)


async def done(store: Store, job: Job, now: float) -> None:
    """Have a job do one run at this time, by the real runner."""
    ports = JobPorts(store=store, wall=lambda: now, zone=lambda: UTC, turns=Turns())
    bus = Bus()
    with bus.subscribe() as news:
        async with trio.open_nursery() as nursery:
            jobs = Jobs(ports, bus, [job])
            await nursery.start(jobs.run)
            await jobs.run_now(job.name)
            async for notice in news:
                if notice.data.get("state") not in ("running", None):
                    break
            nursery.cancel_scope.cancel()


if __name__ == "__main__":
    serve(run)
