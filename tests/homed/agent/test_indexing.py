"""What a start sees to in the word index: events of an earlier release, deletions that a crash cut off, the log."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import apsw
import pytest
import trio

from homed.agent import indexing
from homed.agent.indexing import fill_index
from homed.errors import StorageError
from homed.memory import events, inputs, removal, threads
from homed.memory.records import EventKind, NewEvent, NewInput
from homed.retrieval import index
from homed.retrieval.rank import Hit
from homed.retrieval.without import words_only
from homed.store.db import Store, open_store
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


def documents(tx: Tx) -> int:
    """Events that the index knows, by what it counted and by what it holds."""
    counted = int(tx.value("SELECT sum(documents) FROM word_counts"))
    terms = [str(term) for (term,) in tx.all("SELECT term FROM word_terms WHERE term LIKE '%zqmelonzq_%'")]
    held = {
        row[0]
        for term in terms
        for row in tx.all("SELECT rowid FROM word_index WHERE word_index MATCH ?", (f'"{term}"',))
    }
    assert len(held) == counted
    return counted


HARM = {
    "structure": "UPDATE word_index_data SET block = x'00000000ff' WHERE id = 10",
    "blocks": "UPDATE word_index_data SET block = zeroblob(length(block)) WHERE id > 10",
    "all": "DELETE FROM word_index_data",
}


def harm(path: Path, how: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(HARM[how])
    connection.close()


@pytest.mark.parametrize("how", HARM)
async def test_a_start_makes_a_damaged_index_anew(tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(lambda tx: said(tx, 40))
        await store.write(index.catch_up)
    harm(path, how)
    async with open_store(path) as store:
        assert store.damage is None
        assert "nothing that was said is lost" in caplog.text
        await store.write(lambda tx: said(tx, 3))
        await store.write(index.catch_up)
        await fill_index(store)
        await _is_sound(store)


async def _is_sound(store: Store) -> None:
    assert await store.read(index.waiting) == 0
    assert await store.read(documents) == 43
    await store.write(lambda tx: tx.execute("INSERT INTO word_index (word_index) VALUES ('integrity-check')"))
    assert (await store.read(search))[0].score > 0.8


def search(tx: Tx) -> list[Hit]:
    return list(words_only().search(tx, scope="owner", layer="context", query="zqmelonzq7", limit=9))


@pytest.mark.parametrize("how", HARM)
async def test_one_that_is_damaged_while_homed_runs_keeps_nobody_from_storing_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whoever meets it first, one who stores or one who looks for something."""
    monkeypatch.setattr(indexing, "LOOK", 0.05)
    path = tmp_path / "homed.db"
    async with open_store(path) as store, trio.open_nursery() as nursery:
        nursery.start_soon(indexing.keep_index, store)
        await store.write(lambda tx: said(tx, 40))
        await store.write(index.catch_up)
        harm(path, how)
        for _ in range(3):

            def write(tx: Tx) -> None:
                said(tx, 1)
                index.catch_up(tx)

            await store.write(write)
        with suppress(StorageError):
            await store.read(search)
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM events")) == 43
        await trio.sleep(2 * indexing.LOOK)
        with trio.fail_after(60):
            while await store.read(lambda tx: index.broken(tx) or index.waiting(tx) > 0):
                pass
        await _is_sound(store)
        assert store.damage is None
        nursery.cancel_scope.cancel()


async def test_what_is_deleted_leaves_a_damaged_index_too(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        thread = await store.write(lambda tx: said(tx, 40))
        await store.write(index.catch_up)
        harm(path, "structure")
        await store.write(lambda tx: removal.hide(tx, thread))
        while await store.write(lambda tx: removal.remove_some(tx, thread)):
            pass
        while await store.write(index.erase) or await store.write(index.tidy):
            pass
        await store.empty_log()
        assert b"zqmelonzq" not in path.read_bytes()
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM word_drops")) == 0
