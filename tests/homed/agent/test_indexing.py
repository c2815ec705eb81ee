"""What a start sees to in the word index: events of an earlier release, deletions that a crash cut off, the log."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from homed.agent.indexing import fill_index
from homed.errors import StorageError
from homed.memory import events, inputs, removal, threads
from homed.memory.records import EventKind, NewEvent, NewInput
from homed.retrieval import index
from homed.store.db import open_store
from homed.store.rows import Tx


def said(tx: Tx, count: int) -> str:
    thread = threads.create(tx, scope="owner", channel="webui", title="", at=1.0)
    input_, _ = inputs.accept(tx, NewInput(thread.id, "owner", "webui", "webui:owner", "owner", "hi"), at=1.0)
    for n in range(count):
        events.append(tx, input_, NewEvent(EventKind.USER, f"zqmelonzq{n}"), at=1.0)
    return thread.id


def terms(tx: Tx) -> int:
    return int(tx.value("SELECT count(*) FROM word_terms WHERE term LIKE '%zqmelonzq_%'"))


async def test_events_of_an_earlier_release_are_indexed(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: said(tx, 300))
        await store.write(lambda tx: tx.execute("UPDATE word_marks SET mark = 300, backlog = 300"))
        await fill_index(store)
        assert await store.read(terms) == 300


@pytest.mark.parametrize("count", [index.FEW, index.DROPS + index.FEW + 1])
async def test_what_was_being_deleted_is_gone_and_the_log_is_empty(tmp_path: Path, count: int) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        thread = await store.write(lambda tx: said(tx, count))
        await store.write(index.catch_up)
        assert await store.read(terms) == count
        await store.write(lambda tx: removal.hide(tx, thread))
        while await store.write(lambda tx: removal.remove_some(tx, thread)):
            pass
        await fill_index(store)
        assert await store.read(terms) == 0
        assert (tmp_path / "homed.db-wal").stat().st_size == 0
        assert b"zqmelonzq" not in (tmp_path / "homed.db").read_bytes()


async def test_a_store_that_takes_nothing_stops_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageError("It is damaged.")

    async with open_store(tmp_path / "homed.db") as store:
        monkeypatch.setattr(store, "write", refuse)
        await fill_index(store)
