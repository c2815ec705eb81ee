"""How well `search` finds evidence: ``python -m benchmarks.recall DIR`` on DIR/events.jsonl and DIR/queries.jsonl.

The events go through the real store and index, each history a scope, each session a thread, and every query is answered
by `homed.retrieval.lexical.search`.  Of a query only ``id``, ``history`` and ``text`` are read; the ranked ids are
written to DIR/hits.jsonl for the scorer that came with the data.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import trio

from benchmarks.figures import median_ms, p99_ms
from homed.memory import inputs, threads
from homed.memory.events import append
from homed.memory.records import EventKind, Input, InputState, NewEvent, NewInput
from homed.retrieval import index, lexical
from homed.store.db import Store, open_store
from homed.store.rows import Tx

BATCH = 200


def main() -> int:
    """Write the hits; figures of the run on stderr."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        hits = trio.run(answer, args.folder, Path(data) / "homed.db", args.limit)
    out = args.folder / "hits.jsonl"
    out.write_text("".join(json.dumps(hit, ensure_ascii=False) + "\n" for hit in hits), "utf-8")
    return 0


async def answer(folder: Path, database: Path, limit: int) -> list[dict[str, Any]]:
    """The ranked ids of every query."""
    events, queries = list(_rows(folder / "events.jsonl")), list(_rows(folder / "queries.jsonl"))
    async with open_store(database) as store:
        start = time.perf_counter()
        names = await _store(store, events)
        stored = time.perf_counter() - start
        hits, times = [], []
        for query in queries:
            start = time.perf_counter()
            found = await store.read(
                lambda tx, q=query: lexical.search(  # type: ignore[misc]
                    tx, scope=q["history"], layer="context", query=q["text"], limit=limit
                )
            )
            times.append(time.perf_counter() - start)
            hits.append({"query": query["id"], "hits": [names[hit.id] for hit in found]})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{len(events) / stored:.0f} events/s, query p50 {median_ms(times):.1f} ms, p99 {p99_ms(times):.1f} ms,"
        f" peak {peak} MB",
        file=sys.stderr,
    )
    return hits


async def _store(store: Store, events: list[dict[str, Any]]) -> dict[str, str]:
    names: dict[str, str] = {}
    opened: dict[tuple[str, str], Input] = {}

    def write(tx: Tx, batch: list[dict[str, Any]]) -> None:
        for given in batch:
            place = (given["history"], given["session"])
            at = datetime.fromisoformat(given["time"]).timestamp()
            if place not in opened:
                opened[place] = _open(tx, *place, at)
            said = NewEvent(EventKind.USER, f"{given['speaker']}: {given['text']}")
            names[append(tx, opened[place], said, at=at).id] = given["id"]
        index.catch_up(tx)

    for at in range(0, len(events), BATCH):
        await store.write(lambda tx, at=at: write(tx, events[at : at + BATCH]))  # type: ignore[misc]
    return names


def _open(tx: Tx, history: str, session: str, at: float) -> Input:
    thread = threads.create(tx, scope=history, channel="bench", title=session, at=at)
    new = NewInput(thread.id, history, "bench", "bench:owner", "owner", session)
    accepted, _ = inputs.accept(tx, new, at=at)
    begun = inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=at)
    assert begun.state is InputState.RUNNING
    return begun


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


if __name__ == "__main__":
    raise SystemExit(main())
