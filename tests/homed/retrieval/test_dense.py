"""The vectors in a daemon: there at once, of use a moment later, with a real process that builds the trees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from homed.errors import NotFound
from homed.events import Bus
from homed.retrieval.dense import DenseIndex, DensePorts, open_dense
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import due
from homed.retrieval.vectors.refill import uncleaned
from homed.store.db import Store, open_store
from tests.homed.retrieval.vectors.filling import Chosen, say
from tests.homed.retrieval.vectors.indexes import clustered
from tests.kit.dense import unit


async def no_picture(hash_: str) -> bytes:
    raise NotFound(f"There is no {hash_}.")


class Told:
    """Which facilities came up."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def up(self, *names: str) -> None:
        self.names += names


@asynccontextmanager
async def daemon(folder: Path, embedder: FakeEmbedder, told: Told) -> AsyncIterator[tuple[Store, DenseIndex]]:
    async with open_store(folder / "homed.db") as store:
        ports = DensePorts(
            store=store, folder=folder / "vectors", family="t3st", environment=dict(os.environ),
            embedder=Chosen(embedder), bus=Bus(), picture=no_picture, clean=uncleaned,
        )  # fmt: skip
        async with open_dense(ports, told) as dense:
            yield store, dense


@pytest.mark.slow
async def test_from_what_was_said_to_what_is_found(tmp_path: Path) -> None:
    told, embedder = Told(), FakeEmbedder()
    async with daemon(tmp_path, embedder, told) as (store, dense):
        assert (told.names, dense.trouble) == ([], "")
        dense.wake()
        event = await store.write(lambda tx: say(tx, "the heron stands in the reeds"))
        with trio.fail_after(60):
            await dense.wait_done()
        assert told.names == ["index"]
        vector = embedder.vector("heron")
        found = await store.read(
            lambda tx: dense.nearest(tx, scope="owner", vector=vector, space="fake", kinds=["event"], limit=3)
        )
        assert [near.item for near in found] == [event.seq]
        cosines = await store.read(
            lambda tx: dense.cosines(tx, scope="owner", vector=vector, space="fake", kind="event", items=[event.seq])
        )
        assert cosines == {event.seq: pytest.approx(found[0].cosine)}
        counts = await dense.counts()
        assert (counts.have, counts.waiting) == (1, 0)
        assert await dense.retry() == 0
        assert await dense.forget_now("owner") == 0


async def test_before_it_is_up_it_finds_nothing(tmp_path: Path) -> None:
    async def never() -> None:
        await trio.sleep_forever()

    async with open_store(tmp_path / "homed.db") as store:
        ports = DensePorts(
            store=store, folder=tmp_path / "vectors", family="t3st", environment={}, embedder=Chosen(), bus=Bus(),
            picture=no_picture, clean=uncleaned, hold=never,
        )  # fmt: skip
        async with open_dense(ports) as dense:
            one = unit([1, 0])
            assert await store.read(
                lambda tx: dense.nearest(tx, scope="owner", vector=one, space="a", kinds=["event"], limit=3)
            ) == []  # fmt: skip
            assert await store.read(
                lambda tx: dense.cosines(tx, scope="owner", vector=one, space="a", kind="event", items=[1])
            ) == {}  # fmt: skip


async def test_switched_off_nothing_of_it_is_loaded_until_it_is_on_or_something_must_go(tmp_path: Path) -> None:
    for ending in ("on", "forget"):
        off, chosen, told = {"off": True}, Chosen(), Told()
        async with open_store(tmp_path / f"{ending}.db") as store:
            ports = DensePorts(
                store=store, folder=tmp_path / ending, family="t3st", environment={}, embedder=chosen, bus=Bus(),
                picture=no_picture, clean=uncleaned, off=partial(off.__getitem__, "off"),
            )  # fmt: skip
            await store.write(lambda tx: say(tx, "the heron stands in the reeds"))
            async with open_dense(ports, told) as dense:
                dense.wake()
                await trio.testing.wait_all_tasks_blocked(0.05)
                assert (dense._parts, told.names) == (None, ["index"])
                with trio.fail_after(60):
                    if ending == "on":
                        off["off"] = False
                        chosen.use(FakeEmbedder())
                        await dense.wait_done()
                    else:
                        assert await dense.forget_now("owner") == 0
                assert dense._parts is not None
                assert told.names == ["index"]


@pytest.mark.slow
async def test_a_process_of_its_own_builds_the_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from homed.memory.ports import Space
    from homed.retrieval.vectors import rows

    monkeypatch.setattr(due, "CROSSOVER", 1000)
    made = clustered(1, 3000, 64)
    async with daemon(tmp_path, FakeEmbedder(), Told()) as (store, dense):
        await dense.counts()
        assert dense._parts is not None
        dense._parts.keeper._crossover = 1000

        def put(tx: object) -> None:
            number = rows.enter(tx, Space("fake", 64, 0.0))  # type: ignore[arg-type]
            tx.many(  # type: ignore[attr-defined]
                "INSERT INTO vectors (space, scope, kind, item, data) VALUES (?, 'owner', 'event', ?, ?)",
                ((number, n, rows.encoded(vector)) for n, vector in enumerate(made)),
            )

        await store.write(put)
        with trio.fail_after(60):
            await dense._parts.keeper.look()
        (folder,) = (tmp_path / "vectors").iterdir()
        assert sorted(path.name for path in folder.iterdir()) == ["about.json", "ids", "tree", "vectors"]
        found = await store.read(
            lambda tx: dense.nearest(tx, scope="owner", vector=made[7], space="fake", kinds=["event"], limit=1)
        )
        assert found[0].item == 7


def test_importing_it_loads_no_numpy() -> None:
    code = "import sys, homed.retrieval.dense; sys.exit('numpy' in sys.modules or 'annoy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
