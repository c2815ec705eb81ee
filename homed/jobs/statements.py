"""The job that reads what people say of themselves by rules, where there is no model to read it.

Soon after it was said, also while it is still in the window: it costs next to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import trio

from homed.clock import WallClock
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.jobs.making import ReaderPort, Rules
from homed.jobs.storing import put_all
from homed.memory import cooling, passes
from homed.memory.cooling import NONE, RULES, Unread
from homed.store.rows import Storage, Tx

NAME = "rules"

EVERY = 600.0

BATCH = 100
"""Messages that one look takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPorts:
    """What the job touches; where ``reader`` is ready, a model does it instead."""

    store: Storage
    reader: ReaderPort
    rules: Rules
    wall: WallClock
    stored: Callable[[], None] = lambda: None
    """Called when something was made: it has no vector yet."""


def statements(ports: StatementPorts) -> Job:
    """The job."""
    return Job(NAME, lambda: Interval(EVERY), lambda run: _work(ports, run))


async def _work(ports: StatementPorts, run: Run) -> None:
    seq = run.cursor.get("seq")
    after = seq if isinstance(seq, int) else 0
    while not ports.reader.ready():
        place = after
        found = await ports.store.read(lambda tx: cooling.unread(tx, place, BATCH))  # noqa: B023 - awaited here
        if not found:
            return
        for message in found:
            run.seen()
            await run.unit(message.event.id, lambda message=message: _one(ports, run, message))  # type: ignore[misc]
            after = message.event.seq
            run.note(seq=after)


async def _one(ports: StatementPorts, run: Run, message: Unread) -> None:
    found = [] if message.foreign else await trio.to_thread.run_sync(ports.rules, message.event)
    at = ports.wall()

    def write(tx: Tx) -> tuple[int, Counter[str]]:
        if not tx.value("SELECT 1 FROM events WHERE id = ? AND pass = '' AND no_memory = 0", (message.event.id,)):
            return 0, Counter(["changed"])
        kept, drops = put_all(tx, found, at)
        cooling.cover(tx, [message.event.id], RULES if found else NONE)
        passes.count(tx, message.event.scope, drops, at=at)
        return len(kept), drops

    made, drops = await ports.store.write(write)
    run.made(made)
    if made:
        ports.stored()
    for gate, count in drops.items():
        run.dropped(gate, count)
