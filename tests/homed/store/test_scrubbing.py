"""Free places of pages: what was moved and then deleted stands nowhere, and nothing else is touched."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import apsw
import pytest
import trio

from homed.store.db import Store, open_store
from homed.store.filesystem import FileSystem
from homed.store.rows import Tx
from homed.store.scrubbing import free_places


def mixed(tx: Tx, chance: random.Random) -> list[str]:
    """Rows that come and grow in no order, so that pages are split; keys of those that are deleted afterwards."""
    keys = []
    for number in range(1500):
        key = f"SECRET{chance.getrandbits(64):016x}END"
        keys.append(key)
        tx.execute("INSERT INTO settings VALUES (?, ?, 1.0)", (key, "n" * chance.randint(0, 60)))
        tx.execute("INSERT INTO seeds VALUES (?, 1.0)", (key,))
        if number % 7 == 0:
            change = ("m" * chance.randint(0, 200), chance.choice(keys))
            tx.execute("UPDATE settings SET value = ? WHERE key = ?", change)
    gone = chance.sample(keys, 300)
    for key in gone:
        tx.execute("DELETE FROM settings WHERE key = ?", (key,))
        tx.execute("DELETE FROM seeds WHERE key = ?", (key,))
    return gone


def left(path: Path, keys: list[str]) -> list[str]:
    data = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    return [key for key in keys if key.encode() in data]


async def content(store: Store) -> object:
    return await store.read(lambda tx: tx.all("SELECT * FROM settings ORDER BY key"))


async def test_what_pages_kept_of_rows_that_were_moved_is_gone_and_the_rest_stays(
    tmp_path: Path, either_journal: FileSystem
) -> None:
    chance, path, seen = random.Random(2), tmp_path / "homed.db", 0
    for number in range(4):
        gone: list[str] = []
        async with open_store(path) as store:
            gone = await store.write(lambda tx: mixed(tx, chance))
            before = await content(store)
        seen += len(left(path, gone))  # looked at when nobody has the file open: that would take our locks away
        async with open_store(path) as store:
            assert await store.scrub() is not None
            assert await content(store) == before
            await store.write(lambda tx, n=number: tx.execute("INSERT INTO seeds VALUES (?, 1.0)", (f"after {n}",)))  # type: ignore[misc]
            assert await store.write(lambda tx: tx.value("PRAGMA integrity_check")) == "ok"
        assert left(path, gone) == []
    assert seen, "otherwise this shows nothing"


async def test_others_write_while_all_pages_are_gone_through(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(lambda tx: mixed(tx, random.Random(3)))
        done = 0

        def one(tx: Tx) -> None:
            tx.execute("INSERT OR REPLACE INTO seeds VALUES (?, 1.0)", (f"k{done}",))

        async def write() -> None:
            nonlocal done
            while True:
                await store.write(one)
                done += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(write)
            for _ in range(20):
                assert await store.scrub() is not None
            nursery.cancel_scope.cancel()
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM seeds WHERE key LIKE 'k%'")) >= done
        assert await store.write(lambda tx: tx.value("PRAGMA integrity_check")) == "ok"


async def test_a_reader_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homed.store.connection.BUSY_MS", 20)
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        other = apsw.Connection(str(path))
        other.execute("BEGIN; SELECT 1 FROM seeds")
        await store.write(lambda tx: tx.execute("INSERT INTO seeds VALUES ('a', 1.0)"))
        assert await store.scrub() is None
        other.close()
        assert await store.scrub() is not None


def test_what_is_no_trees_page_is_left_alone() -> None:
    assert free_places(bytes(4096)) == []
    assert free_places(b"\x00\x00\x00\x05" + b"x" * 4092) == []
    leaf = bytearray(4096)
    leaf[0:8] = b"\x0d\x00\x00\x00\x01\x0f\xf0\x00"
    assert free_places(bytes(leaf)) == [(10, 0x0FF0)]
    leaf[1:3] = (0x0FF4).to_bytes(2, "big")  # a hole of nonsense length
    assert free_places(bytes(leaf)) == []
    leaf[0x0FF4:0x0FF8] = b"\x00\x00\x00\x08"
    assert free_places(bytes(leaf)) == [(10, 0x0FF0), (0x0FF8, 0x0FFC)]
    leaf[5:7] = b"\x00\x05"  # cells that begin within the header
    assert free_places(bytes(leaf)) == []


OTHER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0)
try:
    print(db.execute("PRAGMA journal_mode = delete").fetchone()[0])
except sqlite3.OperationalError as error:
    print(error)
"""


async def test_it_lets_go_of_no_lock(tmp_path: Path) -> None:
    """Who opens and closes the file by other means than SQLite does, and another process may then pull the log away."""
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(lambda tx: mixed(tx, random.Random(4)))
        assert await store.scrub() is not None
        done = await trio.run_process([sys.executable, "-c", OTHER, str(path)], capture_stdout=True)
        assert b"locked" in done.stdout, done.stdout
        with path.open("rb"):
            pass
        done = await trio.run_process([sys.executable, "-c", OTHER, str(path)], capture_stdout=True)
        assert b"locked" not in done.stdout, "otherwise this shows nothing"
