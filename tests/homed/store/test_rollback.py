"""C11: on a disk that is not local there is no log and no shared memory, and moving to and fro loses nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import apsw
import pytest
import trio

from homed.store.db import Store, open_store
from tests.homed.store.conftest import LOCAL, REMOTE
from tests.homed.store.files import count, put


async def modes(store: Store) -> tuple[str, int, str]:
    """Journal mode as readers see it, and synchronous and locking mode of the writer."""
    return (
        await store.read(lambda tx: tx.value("PRAGMA journal_mode")),
        await store.write(lambda tx: tx.value("PRAGMA synchronous")),
        await store.write(lambda tx: tx.value("PRAGMA locking_mode")),
    )


def files(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()}


async def test_a_network_disk_gets_a_rollback_journal_and_no_shared_memory_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("homed.store.db.file_system", lambda _: REMOTE)
    path = tmp_path / "homed.db"
    with caplog.at_level(logging.WARNING):
        async with open_store(path) as store:
            await store.write(put("k"))
            assert await modes(store) == ("delete", 3, "normal")
            assert files(path) == {"homed.db"}
            assert store.disk == REMOTE
    assert "nfs4" in caplog.text


async def test_a_folder_that_moves_between_disks_keeps_everything_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "homed.db"
    for n, disk in enumerate((LOCAL, REMOTE, LOCAL, REMOTE, REMOTE, LOCAL)):
        monkeypatch.setattr("homed.store.db.file_system", lambda _, disk=disk: disk)
        async with open_store(path) as store:
            await store.write(put(f"k{n}"))
            assert await store.read(count) == n + 1
            assert (await modes(store))[0] == ("wal" if disk.local else "delete")
    assert files(path) == {"homed.db"}


async def test_a_log_left_by_a_kill_is_taken_over_without_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, path = tmp_path / "live" / "homed.db", tmp_path / "moved" / "homed.db"
    await trio.Path(path.parent).mkdir()
    async with open_store(live) as store:
        await store.write(put("in the log"))
        for suffix in ("", "-wal"):
            data = await trio.Path(f"{live}{suffix}").read_bytes()
            await trio.Path(f"{path}{suffix}").write_bytes(data)
    await trio.Path(f"{path}-shm").mkdir()  # whoever wants to share memory finds no room for it
    monkeypatch.setattr("homed.store.db.file_system", lambda _: REMOTE)
    async with open_store(path) as store:
        assert await store.read(count) == 1
        assert files(path) == {"homed.db", "homed.db-shm"}


async def test_a_long_read_holds_the_writer_up_but_fails_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the turnstile SQLite would answer "busy" after its own patience, and a message would be lost."""
    monkeypatch.setattr("homed.store.db.file_system", lambda _: REMOTE)
    monkeypatch.setattr("homed.store.connection.BUSY_MS", 10)
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)"
    slow = f"{counting} SELECT count(*) FROM n, settings"
    async with open_store(tmp_path / "homed.db") as store, trio.open_nursery() as nursery:
        await store.write(put("k"))
        for _ in range(5):
            nursery.start_soon(store.read, lambda tx: tx.value(slow))
        for n in range(20):
            await store.write(put(f"k{n}"))
        assert await store.read(count) == 21


async def test_somebody_else_with_the_file_open_keeps_it_from_changing_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from homed.errors import StorageError

    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(put("k"))
        other = apsw.Connection(str(path))
        other.execute("SELECT * FROM settings").fetchall()
    other.execute("BEGIN")
    other.execute("SELECT * FROM settings").fetchall()
    monkeypatch.setattr("homed.store.db.file_system", lambda _: REMOTE)
    monkeypatch.setattr("homed.store.connection.BUSY_MS", 10)
    with pytest.raises(StorageError) as refused:
        async with open_store(path):
            pass
    assert refused.value.detail["reason"] == "busy"
    other.close()
