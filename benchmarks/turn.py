"""The kernel's own share of a turn: everything but the model, with a store of 0, 1 000 and 10 000 events."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import trio

from benchmarks.figures import Figure, median_ms, p99_ms
from homed.memory import inputs, threads
from homed.memory.records import EventKind, InputState, NewEvent, NewInput, Outcome
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.builders import running_agent

ROUNDS = 60


def measure() -> Iterator[Figure]:
    """One turn with an instant model, beside two durable commits of the same store, which no turn can do without."""
    for events in (0, 1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            turns, commits = trio.run(_turns, Path(folder), events)
        name = f"kernel overhead of a turn, {events} events (p99 {p99_ms(turns):.1f} ms)"
        yield Figure(name, median_ms(turns), 2 * median_ms(commits), "two durable commits")


async def _turns(folder: Path, events: int) -> tuple[list[float], list[float]]:
    async with open_store(folder / "homed.db") as store:
        await _fill(store, events)
        commits = [await _timed_commit(store) for _ in range(ROUNDS)]
    turns = []
    async with running_agent(folder) as agent:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            await agent.ask("hi")
            turns.append(time.perf_counter() - start)
    return turns, commits


async def _timed_commit(store: Store) -> float:
    start = time.perf_counter()
    await store.write(lambda tx: tx.execute("INSERT OR REPLACE INTO seeds (key, seeded_at) VALUES ('bench', 1)"))
    return time.perf_counter() - start


async def _fill(store: Store, events: int) -> None:
    def write(tx: Tx, count: int = events) -> None:
        for n in range(count // 100):
            thread = threads.create(tx, scope="owner", channel="webui", title=f"thread {n}", at=float(n))
            for m in range(50):
                new = NewInput(
                    thread.id, "owner", "webui", "webui:owner", "owner", f"question {n} {m} about the garden"
                )
                given, _ = inputs.accept(tx, new, at=float(n))
                inputs.begin(tx, given.id, turn=f"turn_{n}_{m}", at=float(n))
                said = NewEvent(EventKind.ASSISTANT, "an answer of some length " * 8, {"final": True})
                asked = NewEvent(EventKind.USER, new.text)
                inputs.finish(tx, given.id, Outcome(InputState.ANSWERED, said.text), [asked, said], at=float(n))

    await store.write(write)
