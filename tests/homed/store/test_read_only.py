"""C12: a damaged database is read as far as it goes, takes nothing, and is kept aside once."""

from __future__ import annotations

import json
import os
import stat
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from homed.errors import StorageError
from homed.store import connection as connections
from homed.store import damage, migrations
from homed.store.damage import Damage, keep
from homed.store.db import Store, open_store
from homed.store.rows import Damaged, ReadOnly
from tests.homed.store.files import count, fingerprint, make_store, put

PAGE = 4096


def zero(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


def leaves(path: Path) -> list[int]:
    """The pages of ``settings`` that hold rows."""
    connection = apsw.Connection(str(path))
    pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'settings' AND pagetype = 'leaf'").fetchall()
    connection.close()
    return sorted(int(str(page[0])) for page in pages)


def copy(live: Path, path: Path) -> None:
    for suffix in ("", "-wal"):
        Path(f"{path}{suffix}").write_bytes(Path(f"{live}{suffix}").read_bytes())


async def make_more(path: Path) -> None:
    """So much that what was read first is no longer in a connection's memory."""
    async with open_store(path) as store:
        await store.write(
            lambda tx: tx.many("INSERT INTO settings VALUES (?, ?, 0)", [(f"m{n}", "v" * 500) for n in range(20_000)])
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "homed.db"
    trio.run(partial(make_store, made, rows=500))
    return made


def content(path: Path) -> tuple[bytes, bytes]:
    """Of the database and of its log."""
    log = path.with_name("homed.db-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else b""


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in (folder, folder.parent)} | {
        stat.S_IMODE(file.stat().st_mode) & 0o77 for file in folder.iterdir()
    }


def spoil(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


async def kept_by(store: Store) -> Damage:
    with trio.fail_after(60):
        return await store.wait_damaged()


async def test_what_is_sound_is_read_and_what_is_new_is_refused_at_once_with_what_to_do(path: Path) -> None:
    zero(path, 3)
    before = fingerprint(path.parent)
    async with open_store(path) as store:
        assert await store.read(count) == 500
        with pytest.raises(ReadOnly) as refused:
            await store.write(put("k"))
        found = await kept_by(store)
        with pytest.raises(ReadOnly, match="read-only") as later:
            await store.write(put("k"))
    assert refused.value.detail["reason"] == "read_only"
    assert "doctor --repair" in refused.value.hint
    assert found.kept in later.value.hint
    assert without_copies(path) == before


def without_copies(path: Path) -> dict[str, str]:
    """Of the database and its log, without the folder of copies."""
    kept = path.parent / damage.FOLDER
    moved = path.parent.parent / "moved"
    kept.rename(moved)
    try:
        return fingerprint(path.parent)
    finally:
        moved.rename(kept)


async def test_with_a_damaged_word_index_beside_it_nothing_of_the_file_is_changed_either(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is made anew only in a file that is sound then, however long it takes to be sure of that."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE word_index_data SET block = x'00000000ff' WHERE id = 10")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    zero(path, max(leaves(path)))
    before = content(path)
    looked: list[float] = []
    check = connections._quick_check

    def hurried(connection: apsw.Connection, seconds: float) -> str:
        looked.append(seconds)
        return check(connection, seconds)

    monkeypatch.setattr(connections, "_quick_check", hurried)
    async with open_store(path) as store:
        assert store.damage is not None
    assert content(path) == before
    assert looked[1:] == [float("inf")]


async def test_the_log_of_a_damaged_one_is_not_emptied(path: Path) -> None:
    zero(path, max(leaves(path)))
    async with open_store(path) as store:
        assert store.damage is not None
        assert not await store.empty_log()


async def test_the_copy_is_private_whole_and_made_once_for_all_starts(path: Path) -> None:
    zero(path, 3)
    folders = []
    for _ in range(3):
        async with open_store(path) as store:
            folders.append((await kept_by(store)).kept)
    kept = Path(folders[0])
    assert len(set(folders)) == 1
    assert content(kept / "homed.db") == content(path)
    assert modes(kept) == {0o700, 0}
    zero(path, 4)  # another damage: another copy
    async with open_store(path) as store:
        assert (await kept_by(store)).kept != folders[0]


async def test_the_log_is_kept_and_read_too_and_closing_does_not_put_it_into_the_file(tmp_path: Path) -> None:
    live, path = tmp_path / "live" / "homed.db", tmp_path / "copy" / "homed.db"
    path.parent.mkdir()
    await make_store(live, rows=300)
    async with open_store(live) as store:
        await store.write(put("in the log"))
        copy(live, path)
    zero(path, 3)
    before = content(path)
    async with open_store(path) as store:
        assert await store.read(lambda tx: tx.value("SELECT 1 FROM settings WHERE key = 'in the log'")) == 1
        kept = Path((await kept_by(store)).kept)
    assert content(path) == before == content(kept / "homed.db")


async def test_damage_met_while_running_makes_it_read_only_from_then_on(path: Path) -> None:
    bad = leaves(path)[-1]
    async with open_store(path) as store:
        await store.write(put("before"))
        assert store.damage is None
        zero(path, bad)
        with pytest.raises(Damaged):
            await store.read(lambda tx: tx.all("SELECT * FROM settings"))
        with pytest.raises(ReadOnly):
            await store.write(put("after"))
        kept = Path((await kept_by(store)).kept)
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM events")) == 0
        before = content(path)
    assert content(path) == before == content(kept / "homed.db"), "not even the last checkpoint"


async def test_a_write_that_meets_damage_tells_as_much_and_the_next_is_refused(path: Path) -> None:
    await make_more(path)
    bad = leaves(path)[5]
    async with open_store(path) as store:
        zero(path, bad)
        with pytest.raises(Damaged):
            await store.write(lambda tx: tx.execute("UPDATE settings SET value = '2'"))
        with pytest.raises(ReadOnly):
            await store.write(put("after"))


async def test_a_text_that_is_no_text_is_damage_and_no_crash(path: Path) -> None:
    async with open_store(path) as store:
        await store.write(put("k", "unmistakable"))
    spoil(path, b"unmistakable", b"unmistak\xff\xfe\xfd\xfc")
    async with open_store(path) as store:
        with pytest.raises(Damaged, match="UTF-8"):
            await store.read(lambda tx: tx.all("SELECT * FROM settings"))
        with pytest.raises(ReadOnly):
            await store.write(put("after"))


async def test_jobs_that_wait_in_the_queue_are_refused_too(path: Path) -> None:
    bad = leaves(path)[-1]
    async with open_store(path) as store, trio.open_nursery() as nursery:
        await store.write(put("before"))
        zero(path, bad)
        outcomes: list[str] = []

        async def write(key: str) -> None:
            try:
                await store.write(put(key))
                outcomes.append("stored")
            except (ReadOnly, StorageError) as error:
                outcomes.append(type(error).__name__)

        with pytest.raises(Damaged):
            await store.read(lambda tx: tx.all("SELECT * FROM settings"))
        for n in range(100):
            nursery.start_soon(write, f"k{n}")
    assert outcomes == ["ReadOnly"] * 100


def no_room(_: object) -> os.statvfs_result:
    raise OSError(28, "No space left on device")


async def test_without_room_for_a_copy_it_says_so_and_runs_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zero(path, 3)
    monkeypatch.setattr("shutil.disk_usage", no_room)
    async with open_store(path) as store:
        found = await kept_by(store)
        assert await store.read(count) == 500
    assert found.kept == ""
    assert "No space left" in found.hint
    assert "homed.db-wal away yourself" in found.hint


def test_a_copy_that_is_stopped_or_fails_leaves_nothing(path: Path) -> None:
    assert keep(Damage(path, "x"), cancelled=lambda: True).kept == ""
    assert list((path.parent / damage.FOLDER).iterdir()) == []


async def test_a_label_that_says_nonsense_is_no_copy(path: Path) -> None:
    zero(path, 3)
    for n, text in enumerate(("", "[]", '{"files": 1}', json.dumps({"files": {"homed.db": [1, 2]}}))):
        folder = path.parent / damage.FOLDER / f"homed-2020010{n}-000000"
        folder.mkdir(parents=True)
        (folder / damage.LABEL).write_text(text)
    assert keep(Damage(path, "x")).kept != ""


async def test_one_of_an_older_schema_is_read_as_this_one_and_left_as_it_is(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 1)
    connection.close()
    zero(path, 3)
    before = content(path)
    async with open_store(path) as store:
        assert await store.read(count) == 500
        assert await store.read(lambda tx: tx.value("PRAGMA user_version")) == migrations.latest()
    assert content(path) == before


async def test_rows_that_only_a_rebuild_reaches_are_read_too(path: Path) -> None:
    """Page 3 is an index that finds a conversation by its id: the rows are there, and no query would find them."""
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO threads VALUES ('th_1', 'owner', 'webui', 'plums', 0, 0)")
    number = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_threads_1'").get
    connection.close()
    assert number == 3
    zero(path, 3)
    async with open_store(path) as store:
        assert await store.read(lambda tx: tx.value("SELECT title FROM threads WHERE id = 'th_1'")) == "plums"


async def test_without_room_for_that_the_damaged_file_itself_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zero(path, leaves(path)[3])

    def full(*_: object) -> None:
        raise StorageError("There is no space left.")

    monkeypatch.setattr("homed.store.repair._rebuild", full)
    async with open_store(path) as store:
        assert await store.read(lambda tx: tx.value("SELECT count(*) FROM events")) == 0
        with pytest.raises(Damaged):
            await store.read(lambda tx: tx.all("SELECT * FROM settings"))


async def test_damage_met_while_running_is_known_at_the_next_start_and_read_around(path: Path) -> None:
    async with open_store(path) as store:
        await store.write(put("k", "unmistakable"))
    spoil(path, b"unmistakable", b"unmistak\xff\xfe\xfd\xfc")
    async with open_store(path) as store:
        with pytest.raises(Damaged, match="UTF-8"):
            await store.read(lambda tx: tx.all("SELECT * FROM settings"))
        await kept_by(store)
    async with open_store(path) as store:
        assert store.damage is not None
        rows: dict[str, str] = await store.read(lambda tx: dict(tx.all("SELECT key, value FROM settings")))
        assert len(rows) == 501
        assert rows["k"].startswith("unmistak\ufffd")


async def test_a_lost_first_page_is_refused_as_before(path: Path) -> None:
    zero(path, 1)
    before = fingerprint(path.parent)
    with pytest.raises(StorageError) as refused:
        async with open_store(path):
            pass
    assert refused.value.detail["reason"] == "not_a_database"
    assert fingerprint(path.parent) == before
