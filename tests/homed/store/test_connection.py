"""What happens when the file is not as it should be: one clear error, and the file stays as it was."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
import trio

from homed.errors import StorageError
from homed.store import migrations
from homed.store.connection import open_writer
from homed.store.db import open_store
from homed.store.executors import InlineExecutor
from homed.store.rows import Tx
from tests.homed.store.files import count, fingerprint, make_store, put, set_version


def refusal(path: Path) -> StorageError:
    """The error of opening ``path``."""
    with pytest.raises(StorageError) as caught:
        open_writer(path)
    assert caught.value.hint
    return caught.value


async def test_a_fresh_path_becomes_a_private_database_in_wal_with_full_sync(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "homed.db"
    async with open_store(path) as store:
        await store.write(put("k"))
        mode = await store.read(lambda tx: tx.value("PRAGMA journal_mode"))
        synchronous = await store.write(lambda tx: tx.value("PRAGMA synchronous"))
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert (mode, synchronous) == ("wal", 2)
    assert modes == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["homed.db"]  # closed cleanly: no log left


async def test_what_was_stored_is_there_after_opening_again(tmp_path: Path) -> None:
    await make_store(tmp_path / "homed.db")
    async with open_store(tmp_path / "homed.db") as store:
        assert await store.read(count) == 200


async def test_an_empty_file_is_a_fresh_one(tmp_path: Path) -> None:
    (tmp_path / "homed.db").touch()
    async with open_store(tmp_path / "homed.db") as store:
        assert await store.read(count) == 0


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    path.write_text("my only copy of a poem\n" * 100)
    before = fingerprint(tmp_path)
    error = refusal(path)
    assert error.detail["reason"] == "not_a_database"
    assert str(path) in error.message
    assert fingerprint(tmp_path) == before


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "homed.db").mkdir()
    assert refusal(tmp_path / "homed.db").detail["reason"] == "not_a_database"


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "homed.db"))
    other.execute("CREATE TABLE photos (id INTEGER)")
    other.close()
    before = fingerprint(tmp_path)
    assert refusal(tmp_path / "homed.db").detail["reason"] == "foreign"
    assert fingerprint(tmp_path) == before


async def test_a_newer_schema_is_refused_with_both_numbers_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    await make_store(path)
    set_version(path, 99)
    before = fingerprint(tmp_path)
    error = refusal(path)
    assert error.detail["reason"] == "newer_schema"
    assert "99" in error.message
    assert str(migrations.latest()) in error.message
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("page", [2, 3, 10])
async def test_c12_a_page_of_zeros_is_found_at_start_and_the_file_is_kept(tmp_path: Path, page: int) -> None:
    path = tmp_path / "homed.db"
    await make_store(path, rows=500)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    before = fingerprint(tmp_path)
    error = refusal(path)
    assert error.detail["reason"] == "corrupt"
    assert "doctor --repair" in error.hint
    assert "\n" not in error.message
    assert fingerprint(tmp_path) == before


async def test_c12_a_file_cut_short_is_found_at_start_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    await make_store(path, rows=500)
    os.truncate(path, 5 * 4096)
    before = fingerprint(tmp_path)
    assert refusal(path).detail["reason"] == "corrupt"
    assert fingerprint(tmp_path) == before


async def test_a_check_that_takes_too_long_does_not_keep_the_daemon_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "homed.db"
    await make_store(path, rows=5000)
    monkeypatch.setattr("homed.store.connection.CHECK_SECONDS", 0.0)
    async with open_store(path) as store:
        assert await store.read(count) == 5000


async def test_c12_a_damaged_file_with_a_log_is_not_even_checkpointed(tmp_path: Path) -> None:
    path, copy = tmp_path / "a" / "homed.db", tmp_path / "b" / "homed.db"
    await make_store(path, rows=500)
    await trio.Path(copy.parent).mkdir()
    async with open_store(path) as store:
        await store.write(put("k"))
        data, log = path.read_bytes(), path.with_name("homed.db-wal").read_bytes()
    copy.write_bytes(data[: 9 * 4096] + bytes(4096) + data[10 * 4096 :])
    copy.with_name("homed.db-wal").write_bytes(log)
    before = fingerprint(copy.parent)
    assert len(before) == 2
    assert refusal(copy).detail["reason"] == "corrupt"
    assert fingerprint(copy.parent) == before


async def test_c12_copies_taken_in_mid_write_open_with_everything_that_was_reported(tmp_path: Path) -> None:
    """What a power cut leaves: the file and its log at some moment, the log perhaps cut anywhere in its last write."""
    path, copy = tmp_path / "a" / "homed.db", tmp_path / "b" / "homed.db"
    copy.parent.mkdir()
    async with open_store(path) as store:
        for n in range(20):
            await store.write(put(f"k{n}"))
        log = path.with_name("homed.db-wal").read_bytes()
        data = path.read_bytes()
        await store.write(put("unreported", "v" * 20_000))
        longer = path.with_name("homed.db-wal").read_bytes()
    for extra in (0, 1, 4096, 9000, len(longer) - len(log) - 1):
        copy.write_bytes(data)
        copy.with_name("homed.db-wal").write_bytes(longer[: len(log) + extra])
        async with open_store(copy) as store:
            assert await store.read(count) == 20
            assert await store.read(lambda tx: tx.value("PRAGMA integrity_check")) == "ok"


async def test_a_log_without_its_database_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(put("k"))
        log = path.with_name("homed.db-wal").read_bytes()
    path.unlink()
    path.with_name("homed.db-wal").write_bytes(log)
    assert refusal(path).detail["reason"] == "log_without_database"
    assert path.with_name("homed.db-wal").read_bytes() == log


async def test_a_database_held_by_another_process_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "homed.db"
    await make_store(path)
    monkeypatch.setattr("homed.store.connection.BUSY_MS", 10)
    async with open_store(path) as store:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another process"):
            await store.write(put("k"))
        other.execute("ROLLBACK")
        other.close()
        await store.write(put("k"))
        assert await store.read(count) == 201


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def without_root_rights() -> Iterator[None]:
    """Take this thread's right to ignore file permissions (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH) for a while."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(0x20080522, 0), (_Data * 2)()
    assert libc.capget(ctypes.byref(header), data) == 0
    kept = data[0].effective
    data[0].effective = kept & ~0b110
    assert libc.capset(ctypes.byref(header), data) == 0
    try:
        yield
    finally:
        data[0].effective = kept
        assert libc.capset(ctypes.byref(header), data) == 0


def test_a_read_only_folder_is_said_to_be(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o500)
    with without_root_rights():
        error = refusal(tmp_path / "homed.db")
    os.chmod(tmp_path, 0o700)
    assert error.detail["reason"] == "read_only"
    assert str(tmp_path) in error.hint


async def test_a_read_only_file_is_said_to_be_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    await make_store(path)
    before = fingerprint(tmp_path)
    path.chmod(0o400)
    with without_root_rights():
        error = refusal(path)
    assert error.detail["reason"] == "read_only"
    assert fingerprint(tmp_path) == before


async def test_a_folder_that_became_read_only_is_said_to_be(tmp_path: Path) -> None:
    await make_store(tmp_path / "homed.db")
    os.chmod(tmp_path, 0o500)
    with without_root_rights():
        error = refusal(tmp_path / "homed.db")
    os.chmod(tmp_path, 0o700)
    assert error.detail["reason"] == "read_only"


async def test_a_full_disk_fails_that_write_alone_and_is_said_to_be(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(put("small"))
        await store.write(lambda tx: tx.value("PRAGMA max_page_count = 60"))
        with pytest.raises(StorageError, match="no space left") as caught:
            await store.write(put("big", "v" * 1_000_000))
        assert caught.value.detail["reason"] == "full"
        assert await store.read(count) == 1
        await store.write(put("small again"))
        assert await store.read(count) == 2


async def test_a_write_that_swallows_the_full_disk_cannot_go_on_outside_its_transaction(tmp_path: Path) -> None:
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: tx.value("PRAGMA max_page_count = 60"))

        def stubborn(tx: Tx) -> None:
            with pytest.raises(StorageError):
                put("big", "v" * 1_000_000)(tx)
            with pytest.raises(StorageError):
                put("after")(tx)

        with pytest.raises(StorageError):
            await store.write(stubborn)
        assert await store.read(count) == 0


async def test_scrubbed_text_is_on_no_page_once_closed(tmp_path: Path) -> None:
    path = tmp_path / "homed.db"
    async with open_store(path) as store:
        await store.write(put("k", "the-secret-word " * 500))
        await store.write(lambda tx: tx.execute("UPDATE settings SET value = 'clean'"))
    assert b"the-secret-word" not in path.read_bytes()


def test_opening_needs_no_event_loop_thread(tmp_path: Path) -> None:
    async def main() -> int:
        async with open_store(tmp_path / "homed.db", executor=InlineExecutor()) as store:
            await store.write(put("k"))
            return await store.read(count)

    assert trio.run(main) == 1
