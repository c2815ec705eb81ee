"""A small process that makes vectors and indexes of them on a real store, and is killed in the middle of it.

``python -m tests.kit.vector_child`` reads one round a line on stdin, ``FOLDER FAILPOINT NTH SPACE EVENTS``, forks a
child for it and writes ``end STATUS`` when that child is gone.  A child stores EVENTS events of two scopes, deletes
some, rewrites a record, and lets the refill with a fake embedder named SPACE and the keeper of indexes do their work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import trio

from homed.errors import NotFound
from homed.events import Bus
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory import events, inputs, threads
from homed.memory.records import EventKind, NewEvent, NewInput
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import Vectors, due, refill
from homed.retrieval.vectors.indexed import checksum
from homed.retrieval.vectors.keeper import Keeper
from homed.retrieval.vectors.making import Bench
from homed.retrieval.vectors.refill import Refill, RefillPorts
from homed.store.db import Store, open_store
from homed.store.rows import Storage, Tx
from tests.kit.failpoints import KillAt

SCOPES = ("owner", "group:1")
CROSSOVER = 20
DIMS = 16
REACHED = (
    "refill.batch", "vectors.stored", "index.written", "index.swapped", "store.before_commit", "store.after_commit"
)  # fmt: skip
"""The failpoints that a round passes."""


async def trees(folder: Path, dims: int, count: int) -> Mapping[str, object]:
    """So many that a search in them looks at nearly everything: few vectors are enough for it."""
    from annoy import AnnoyIndex

    await trio.lowlevel.checkpoint()
    tree = AnnoyIndex(dims, "angular")
    for place, vector in enumerate(np.fromfile(folder / "vectors", "<f4").reshape(count, dims)):
        tree.add_item(place, vector)
    tree.build(100, 1)
    tree.save(str(folder / "tree"))
    sums = {name: checksum(folder / name) for name in ("vectors", "ids", "tree")}
    return {"width": count - 1, "recall": 1.0, "sums": sums}


def keeper(store: Storage, vectors: Vectors, folder: Path, failpoints: Failpoints) -> Keeper:
    """Of indexes in this folder."""
    return Keeper(vectors.parts, Bench(store, folder / "vectors", trees, failpoints), crossover=CROSSOVER)


class Always:
    """The one embedder."""

    def __init__(self, space: str) -> None:
        self.current = FakeEmbedder(space, DIMS)

    async def wait_changed(self) -> None:
        """Never."""
        await trio.sleep_forever()


async def no_picture(hash_: str) -> bytes:
    """There are none."""
    await trio.lowlevel.checkpoint()
    raise NotFound(hash_)


async def one_round(folder: Path, failpoints: Failpoints, space: str, count: int) -> None:
    """Say things, take some back, and have everything made that is to be made."""
    due.LEAST_CHANGED, refill.BATCH = 5, 8
    async with open_store(folder / "homed.db", failpoints=failpoints) as store:
        vectors = Vectors()
        indexes = keeper(store, vectors, folder, failpoints)
        ports = RefillPorts(store, Always(space), Bus(), no_picture, indexes.wake, failpoints=failpoints)
        filling = Refill(ports)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(filling.keep)
            await indexes.open()
            for part in range(2):
                await store.write(lambda tx, part=part: _say(tx, count, part))  # type: ignore[misc]
                await filling.wait_done()
                await indexes.look()
            await store.write(_take_back)
            await indexes.look()
            await _all_made(store, filling)
            nursery.cancel_scope.cancel()


async def _all_made(store: Store, filling: Refill) -> None:
    await filling.wait_done()
    assert not await store.read(lambda tx: tx.value("SELECT count(*) FROM vector_todo"))


def _say(tx: Tx, count: int, part: int) -> None:
    known = int(tx.value("SELECT coalesce(max(seq), 0) FROM events"))
    for number in range(known, known + count):
        scope = SCOPES[number % 2]
        thread = tx.value("SELECT id FROM threads WHERE scope = ?", (scope,))
        if thread is None:
            thread = threads.create(tx, scope=scope, channel="cli", title=scope, at=1.0).id
            inputs.accept(tx, NewInput(thread, scope, "cli", "cli:a", "owner", "x"), at=1.0)
        id_ = tx.value("SELECT id FROM inputs WHERE scope = ?", (scope,))
        given = inputs.begin(tx, str(id_), turn=f"turn_{scope}", at=1.0)
        text = " ".join(f"w{(number * k) % 23}" for k in range(1, 5))
        events.append(tx, given, NewEvent(EventKind.USER, f"n{number} {text}"), at=2.0)
    tx.execute(
        "INSERT INTO records (id, scope, record, kind, text, key, origin, extractor, created_at, updated_at)"
        " VALUES (?1, 'owner', 'fact', 'fact', ?1, ?1, 'manual', 'manual', 1, 1)",
        (f"record{known}_{part}",),
    )


def _take_back(tx: Tx) -> None:
    """Of what there is: some events are deleted, some archived, one record says something else."""
    highest = int(tx.value("SELECT max(seq) FROM events"))
    tx.execute("DELETE FROM events WHERE seq % 7 = 3 AND seq > ?", (highest - 20,))
    tx.execute("UPDATE events SET layer = 'archived' WHERE seq % 11 = 5 AND seq > ?", (highest - 20,))
    tx.execute("UPDATE records SET text = text || ' more' WHERE seq = (SELECT max(seq) FROM records)")


def serve() -> None:
    """Read rounds, fork a child for each."""
    for line in sys.stdin:
        folder, name, nth, space, count = line.split()
        failpoints = NoFailpoints() if name == "none" else KillAt(name, int(nth))
        child = os.fork()
        if child == 0:
            trio.run(one_round, Path(folder), failpoints, space, int(count))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.write(1, f"end {os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    serve()
