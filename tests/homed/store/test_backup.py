"""Backups made beside writers, and put back: whole or not at all, what was there kept aside."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from homed.errors import Conflict, StorageError
from homed.memory import tombstones
from homed.store import migrations
from homed.store.backup import BackupInfo, backup, backup_as, backups, look
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles
from homed.store.filesystem import FileSystem
from homed.store.restore import restore
from homed.store.rows import Tx
from tests.kit.failpoints import RaiseAt

PICTURE = b"a picture, as far as this goes"
HASH = hashlib.sha256(PICTURE).hexdigest()


def rows(tx: Tx, first: int, count: int) -> None:
    tx.execute("INSERT OR IGNORE INTO threads VALUES ('th_1', 'owner', 'cli', '', 1.0, 1.0)")
    tx.many(
        "INSERT INTO events (id, scope, thread, channel, kind, text, created_at)"
        " VALUES (?, 'owner', 'th_1', 'cli', 'user', ?, 1.0)",
        [(f"ev_{number}", f"event {number} " + "x" * 500) for number in range(first, first + count)],
    )


def picture(tx: Tx) -> None:
    tx.execute(
        "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at) VALUES ('blk_1', ?, 'image/png', 30,"
        " 'ev_0', 1.0)",
        (HASH,),
    )
    tx.execute("INSERT INTO logins VALUES ('loginhash', 'session', 'cli:owner', 1.0, 9e9)")
    tx.execute("INSERT INTO api_keys VALUES ('keyhash', 'laptop', 'cli:owner', '[]', 1.0, NULL)")


async def filled(folder: Path) -> None:
    async with open_store(folder / "homed.db") as store:
        await store.write(lambda tx: rows(tx, 0, 2000))
        await store.write(picture)
    file = folder / "media" / HASH[:2] / HASH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(PICTURE)


def value(path: Path, sql: str) -> object:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchone()[0]


async def saved(folder: Path, keep: int = 7, at: float = 1e9) -> BackupInfo:
    async with open_store(folder / "homed.db") as store:
        return await backup(store, MediaFiles(folder / "media"), folder / "backups", keep=keep, wall=lambda: at)


async def test_a_backup_is_of_one_moment_though_others_write_all_the_time(
    tmp_path: Path, either_journal: FileSystem
) -> None:
    await filled(tmp_path)
    async with open_store(tmp_path / "homed.db") as store:
        written = 2000

        def two(tx: Tx) -> None:
            rows(tx, written, 2)

        async def write() -> None:
            nonlocal written
            while True:
                await store.write(two)
                written += 2

        async with trio.open_nursery() as nursery:
            nursery.start_soon(write)
            info = await backup(store, MediaFiles(tmp_path / "media"), tmp_path / "backups", keep=3)
            nursery.cancel_scope.cancel()
        assert written > 2000
    copy = info.path / "homed.db"
    assert value(copy, "PRAGMA integrity_check") == "ok"
    assert value(copy, "PRAGMA journal_mode") == "delete"
    events = value(copy, "SELECT count(*) FROM events")
    assert events == info.counts["events"] >= 2000
    assert events == value(copy, "SELECT max(seq) FROM events"), "one moment: no hole and no half of a pair"
    assert int(str(events)) % 2 == 0


async def test_what_it_holds_and_what_it_does_not(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / "secrets.json").write_text('{"password": "hunter2hunter2"}')
    info = await saved(tmp_path)
    assert {path.name for path in info.path.iterdir()} == {"homed.db", "media", "SHA256SUMS", "manifest.json"}
    await trio.run_process(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=info.path)
    data = b"".join(file.read_bytes() for file in info.path.rglob("*") if file.is_file())
    assert PICTURE in data
    for secret in (b"hunter2", b"loginhash", b"keyhash"):
        assert secret not in data
    assert look(info.path) == info
    assert (info.files, info.missing, info.counts["blocks"]) == (1, [], 1)
    assert [path.stat().st_mode & 0o077 for path in (info.path, *info.path.iterdir())] == [0] * 5


async def test_the_newest_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / "backups" / "homed-20200101-000000").mkdir(parents=True)
    (tmp_path / "backups" / "mine").mkdir()
    (tmp_path / "backups" / ".making-homed-20010909-014640-00ff").mkdir()
    made = [(await saved(tmp_path, 2, at)).path.name for at in (1e9, 1e9, 1e9 + 1, 1e9 + 2)]
    assert made == [f"homed-20010909-0146{end}" for end in ("40", "40-2", "41", "42")]
    assert [info.path.name for info in backups(tmp_path / "backups")] == made[2:]
    assert {path.name for path in (tmp_path / "backups").iterdir()} == {*made[2:], "mine", "homed-20200101-000000"}


async def test_nothing_is_replaced_and_what_fails_leaves_nothing(tmp_path: Path) -> None:
    await filled(tmp_path)
    files = MediaFiles(tmp_path / "media")
    async with open_store(tmp_path / "homed.db") as store:
        await backup_as(store, files, tmp_path / "usb" / "first")
        with pytest.raises(Conflict):
            await backup_as(store, files, tmp_path / "usb" / "first")
        for point in ("backup.copied", "backup.listed"):
            with pytest.raises(StorageError):
                await backup_as(
                    store, files, tmp_path / "usb" / "second", failpoints=RaiseAt(point, StorageError("full"))
                )
        with trio.move_on_after(0) as scope:
            await backup_as(store, files, tmp_path / "usb" / "third")
        assert scope.cancelled_caught
    assert [path.name for path in (tmp_path / "usb").iterdir()] == ["first"]


async def test_restored_all_is_as_it_was_and_the_old_one_is_aside(tmp_path: Path) -> None:
    await filled(tmp_path)
    info = await saved(tmp_path)
    other = hashlib.sha256(b"later").hexdigest()
    (tmp_path / "media" / other[:2]).mkdir(exist_ok=True)
    (tmp_path / "media" / other[:2] / other).write_bytes(b"later")
    (tmp_path / "media" / HASH[:2] / HASH).unlink()
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: rows(tx, 5000, 1))
        await store.write(lambda tx: tx.execute("DELETE FROM blocks"))
    done = restore(tmp_path / "homed.db", tmp_path / "media", info.path)
    assert value(tmp_path / "homed.db", "SELECT count(*) FROM events") == 2000
    assert (tmp_path / "media" / HASH[:2] / HASH).read_bytes() == PICTURE
    assert done.missing == []
    assert done.aside is not None
    assert value(done.aside / "homed.db", "SELECT count(*) FROM events") == 2001
    assert (done.aside / "media" / other[:2] / other).read_bytes() == b"later"
    assert value(tmp_path / "homed.db", "SELECT hash FROM loose_files") == other
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(lambda tx: rows(tx, 6000, 1))


async def test_into_an_empty_folder(tmp_path: Path) -> None:
    await filled(tmp_path / "one")
    info = await saved(tmp_path / "one")
    (tmp_path / "two").mkdir()
    done = restore(tmp_path / "two" / "homed.db", tmp_path / "two" / "media", info.path)
    assert (done.aside, value(tmp_path / "two" / "homed.db", "SELECT count(*) FROM events")) == (None, 2000)
    assert (tmp_path / "two" / "media" / HASH[:2] / HASH).read_bytes() == PICTURE


async def test_a_turn_that_ran_then_is_not_answered_now_and_what_was_forgotten_since_stays_so(tmp_path: Path) -> None:
    def unfinished(tx: Tx) -> None:
        tx.execute(
            "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, state, turn, accepted_at) VALUES"
            " ('in_1', 'th_1', 'owner', 'cli', 'cli:owner', 'owner', 'hi', 'running', 'turn_1', 1.0)"
        )
        tx.execute(
            "INSERT INTO turns (id, thread, input, started_at, state) VALUES ('turn_1', 'th_1', 'in_1', 1, 'running')"
        )

    def forgotten(tx: Tx) -> None:
        tx.execute("INSERT OR REPLACE INTO memory_key VALUES (1, x'0102')")
        tx.execute("INSERT INTO tombstones VALUES ('owner', 'stone', 1.0)")
        tx.execute("INSERT INTO forgets (id, kind, target, at, done_at) VALUES ('forget_1', 'event', 'ev_7', 1.0, 2.0)")

    await filled(tmp_path)
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(unfinished)
    info = await saved(tmp_path)
    async with open_store(tmp_path / "homed.db") as store:
        await store.write(forgotten)
    assert restore(tmp_path / "homed.db", tmp_path / "media", info.path).forgotten == 1
    path = tmp_path / "homed.db"
    assert value(path, "SELECT state || json_extract(outcome, '$.state') FROM inputs") == "stoppedstopped"
    assert value(path, "SELECT state FROM turns") == "stopped"
    assert value(path, "SELECT hash FROM tombstones") == "stone"
    assert value(path, "SELECT key FROM memory_key") == b"\x01\x02"
    assert value(path, "SELECT target FROM forgets WHERE done_at IS NULL") == "ev_7"


async def test_what_was_forgotten_here_and_in_the_house_of_the_backup_both_stay_so(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, text in ((here, "The cat is red"), (there, "The dog is blue")):
        await filled(folder)
        async with open_store(folder / "homed.db") as store:
            await store.write(lambda tx, text=text: tombstones.bury(tx, "owner", texts=[text], at=1.0))  # type: ignore[misc]
    keys = [value(folder / "homed.db", "SELECT hex(key) FROM memory_key") for folder in (there, here)]
    info = await saved(there)
    for _ in range(2):  # also one that is put back twice
        restore(here / "homed.db", here / "media", info.path)
        async with open_store(here / "homed.db") as store:
            await store.write(lambda tx: tombstones.bury(tx, "owner", texts=["The sun is green"], at=1.0))
            for text in ("The cat is red", "The dog is blue", "The sun is green"):
                assert await store.read(lambda tx, text=text: tombstones.buried(tx, "owner", text))  # type: ignore[misc]
        assert value(here / "homed.db", "SELECT hex(key) FROM memory_key") == f"{keys[0]}{keys[1]}"
    async with open_store(here / "homed.db") as store:
        await store.write(lambda tx: tombstones.lift(tx, "owner", "The cat is red"))
        assert not await store.read(lambda tx: tombstones.buried(tx, "owner", "The cat is red"))


async def test_what_is_no_backup_newer_or_changed_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    await filled(tmp_path)
    info = await saved(tmp_path)

    def broken(name: str, change: str) -> Path:
        copy = tmp_path / change
        shutil.copytree(info.path, copy)
        if name == "manifest.json":
            manifest = json.loads((copy / name).read_text()) | {"schema": migrations.latest() + 1}
            (copy / name).write_text(json.dumps(manifest))
        elif change == "gone":
            (copy / name).unlink()
        else:
            with (copy / name).open("r+b") as file:
                file.seek(9000)
                file.write(b"?")
        return copy

    cases = {
        "no_backup": [
            tmp_path / "media",
            tmp_path / "nowhere",
            tmp_path / "homed.db",
            broken("manifest.json", "gone2"),
        ],
        "changed": [broken("homed.db", "changed"), broken("homed.db", "gone"), broken("SHA256SUMS", "sums")],
        "newer_schema": [broken("manifest.json", "newer")],
    }
    (cases["no_backup"][3] / "manifest.json").write_text("[1]")
    before = (tmp_path / "homed.db").read_bytes()
    for reason, paths in cases.items():
        for path in paths:
            with pytest.raises(StorageError) as caught:
                restore(tmp_path / "homed.db", tmp_path / "media", path)
            assert caught.value.detail["reason"] == reason, path
    assert (tmp_path / "homed.db").read_bytes() == before
    assert not (tmp_path / "replaced").exists()


HOSTILE_MANIFESTS: tuple[tuple[str, object], ...] = (
    ("made_at", float("nan")), ("made_at", 1e300), ("made_at", "soon"), ("bytes", 10**400), ("schema", -4),
    ("counts", {}), ("counts", []), ("missing", 5), ("files", None),
)  # fmt: skip


async def test_a_list_that_nobody_can_read_is_no_backup_and_hides_no_other(tmp_path: Path) -> None:
    await filled(tmp_path)
    made = await saved(tmp_path)
    good = json.loads((made.path / "manifest.json").read_text())
    other = tmp_path / "backups" / "homed-20300101-000000"
    other.mkdir()
    forms = [json.dumps({**good, key: value}) for key, value in HOSTILE_MANIFESTS]
    for text in (*forms, "[" * 200_000, "[]", "5", '"x"', ""):
        (other / "manifest.json").write_text(text)
        with pytest.raises(StorageError, match="is no backup"):
            look(other)
        assert [info.path for info in backups(tmp_path / "backups")] == [made.path]
    (other / "manifest.json").unlink()
    os.mkfifo(other / "manifest.json")  # to open it would be to wait for ever
    assert [info.path for info in backups(tmp_path / "backups")] == [made.path]


def evil(path: Path, *sql: str) -> None:
    with closing(sqlite3.connect(path / "homed.db")) as db:
        for one in sql:
            db.execute(one)
        db.commit()


def piped(path: Path, name: str) -> None:
    (path / name).unlink()
    os.mkfifo(path / name)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a trigger": (lambda p: evil(p, "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END"),
                  "does not have the schema"),
    "a view": (lambda p: evil(p, "DROP TABLE tombstones", "CREATE VIEW tombstones AS SELECT 1, 2, 3"),
               "does not have the schema"),
    "no table": (lambda p: evil(p, "DROP TABLE api_keys"), "does not have the schema"),
    "not the schema it says": (lambda p: evil(p, "PRAGMA user_version = 3"), "does not have the schema 3"),
    "a row of nobody": (lambda p: evil(p, "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at) VALUES"
                                          " ('b', 'x', 'i', 1, 'ev_none', 1.0)"), "is not"),
    "another program": (lambda p: evil(p, "PRAGMA application_id = 5"), "is no backup"),
    "a later release": (lambda p: evil(p, "PRAGMA user_version = 99"), "newer version"),
    "a damaged page": (lambda p: os.truncate(p / "homed.db", 8192), "is not"),
    "a pipe": (lambda p: piped(p, "homed.db"), "is not"),
    "a list as a pipe": (lambda p: piped(p, "SHA256SUMS"), "is not"),
}  # fmt: skip


async def test_a_hostile_database_with_sums_that_fit_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    await filled(tmp_path)
    made = await saved(tmp_path)
    before = (tmp_path / "homed.db").read_bytes()
    for number, (case, (spoil, why)) in enumerate(BAD.items()):
        bad = tmp_path / "backups" / f"homed-20300101-00000{number}"
        shutil.copytree(made.path, bad)
        spoil(bad)
        _fit(bad)
        with pytest.raises(StorageError, match=why) as caught:
            await trio.to_thread.run_sync(restore, tmp_path / "homed.db", tmp_path / "media", bad)
        assert str(bad) in caught.value.message, f"{case}: the person knows this name"
        assert (tmp_path / "homed.db").read_bytes() == before, case
        assert not (tmp_path / "homed.db.rebuilt").exists()


def _fit(bad: Path) -> None:
    """Sums that fit what stands there now."""
    if not ((bad / "homed.db").is_file() and (bad / "SHA256SUMS").is_file()):
        return
    lines = (bad / "SHA256SUMS").read_text().splitlines()
    whole = hashlib.sha256((bad / "homed.db").read_bytes()).hexdigest()
    lines = [f"{whole}  homed.db" if line.endswith("  homed.db") else line for line in lines]
    (bad / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    manifest = json.loads((bad / "manifest.json").read_text())
    manifest["sums"] = hashlib.sha256((bad / "SHA256SUMS").read_bytes()).hexdigest()
    (bad / "manifest.json").write_text(json.dumps(manifest))


async def test_a_list_that_points_elsewhere_is_refused_and_a_lost_picture_is_told(tmp_path: Path) -> None:
    await filled(tmp_path)
    info = await saved(tmp_path)
    listed = info.path / "media" / HASH[:2] / HASH
    listed.unlink()
    listed.symlink_to("/etc/hostname")
    (tmp_path / "media" / HASH[:2] / HASH).unlink()
    assert restore(tmp_path / "homed.db", tmp_path / "media", info.path).missing == [HASH]
    sums = (info.path / "SHA256SUMS").read_text() + f"{HASH}  media/../../{HASH}\n"
    (info.path / "SHA256SUMS").write_text(sums)
    manifest = json.loads((info.path / "manifest.json").read_text())
    manifest["sums"] = hashlib.sha256(sums.encode()).hexdigest()
    (info.path / "manifest.json").write_text(json.dumps(manifest))
    assert restore(tmp_path / "homed.db", tmp_path / "media", info.path).missing == [HASH]


async def test_a_damaged_database_is_not_backed_up(tmp_path: Path) -> None:
    await filled(tmp_path)

    async def refused(store: Store) -> None:
        store.found_damaged(StorageError("broken"))
        with pytest.raises(StorageError):
            await backup(store, MediaFiles(tmp_path / "media"), tmp_path / "backups", keep=1)

    async with open_store(tmp_path / "homed.db") as store:
        await refused(store)
    assert backups(tmp_path / "backups") == []
