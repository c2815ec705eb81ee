"""A small process that ends turns and makes the passes they are owed, through the real runner, to be killed.

``python -m tests.kit.pass_child`` is a zygote as ``tests.kit.turn_child``.  A child has the turns of an earlier one, or
its own, records what waits as an exit does, and leaves when nothing is owed.  What it asked "the model" stands in
``asked.log``.
"""

from __future__ import annotations

from pathlib import Path

import trio

from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.job import Run
from homed.jobs.passing import LastPorts, PassPorts, last_words, passing
from homed.jobs.storing import Extracted, Found, Summary
from homed.jobs.transcript import Transcript, outline
from homed.memory import passes
from homed.memory.newfact import NewFact
from homed.store.db import open_store
from homed.store.rows import Tx
from tests.homed.jobs.past import SAID, Settings
from tests.kit.distil_child import PLACES, done
from tests.kit.failpoints import KillAt
from tests.kit.past import Past, Said, put
from tests.kit.turn_child import Order, note, serve

TURNS = 6
SMALL = 2
"""Turns of small talk behind them, read together."""


def said(n: int) -> str:
    """What was said in one turn."""
    long = f"In the year {2000 + n} I worked as a gardener in {PLACES[n]} and it was a good time."
    return long if n < TURNS else f"I have {n} bees."


class Reader:
    """Answers from the transcript alone: a fact of each turn, a summary, and one lie that is stopped at its gate."""

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
            found.append(Found(NewFact(piece.scope, piece.said, peer=piece.peer), (quote.span,)))
        told = outline(script.pieces[0])
        summary = Summary(told.request, told.actions, told.outcome, 5, (), "model", script.pieces)
        return Extracted("model", tuple(found), (summary,), drops={"unsupported": 1})


def end_turns(tx: Tx) -> None:
    """The past, if it is not there."""
    if not tx.value("SELECT 1 FROM events"):
        put(tx, Past(said=[Said(question=said(n)) for n in range(TURNS + SMALL)], at=SAID))


async def run(order: Order) -> None:
    """One child's life."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    now = SAID + 3600.0
    with trio.fail_after(60):
        async with open_store(folder / "homed.db", failpoints=failpoints) as store:
            await store.write(end_turns)
            await last_words(
                LastPorts(store=store, settings=Settings(), wall=lambda: now, failpoints=failpoints), within=20
            )
            job = passing(
                PassPorts(
                    store=store, settings=Settings(), wall=lambda: now, reader=Reader(folder),
                    rules=lambda event: (), bus=Bus(), failpoints=failpoints,
                )
            )  # fmt: skip
            for _ in range(3):  # a unit that a death was met in is tried again
                await done(store, job, now)
                if not (await store.read(passes.waiting))[0]:
                    break


if __name__ == "__main__":
    serve(run)
