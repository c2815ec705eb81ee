"""Backups of earlier releases: restored and brought to today's schema; one of no release is called what it is."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import trio

from homed.errors import StorageError
from homed.retrieval import index
from homed.store import layout, migrations
from homed.store.backup import look
from homed.store.connection import APPLICATION_ID
from homed.store.db import open_store
from homed.store.restore import restore

PICTURE = b"a picture, as far as this goes"
HASH = hashlib.sha256(PICTURE).hexdigest()

ROWS = (
    "INSERT INTO threads (id, scope, channel, title, created_at, updated_at) VALUES ('th', 'owner', 'cli', '', 1, 1)",
    "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, state, turn, accepted_at) VALUES"
    " ('in', 'th', 'owner', 'cli', 'cli:owner', 'owner', 'hi', 'running', 'turn', 1.0)",
    "INSERT INTO turns (id, thread, input, started_at, state) VALUES ('turn', 'th', 'in', 1, 'running')",
    *(
        "INSERT INTO events (id, scope, thread, turn, channel, kind, text, created_at)"
        f" VALUES ('ev_{n}', 'owner', 'th', 'turn', 'cli', 'user', 'the cello number {n} 大提琴', {n}.0)"
        for n in range(30)
    ),
    "INSERT INTO blocks (id, hash, media_type, bytes, event, created_at)"
    f" VALUES ('b', '{HASH}', 'image/png', 30, 'ev_0', 1.0)",
)
"""Of every schema: what an owner had said and was being answered."""

OLDER = range(1, migrations.latest())


def made(folder: Path, version: int, *more: str) -> Path:
    """A backup as a release with this schema made it."""
    path = folder / f"homed-2026010{version}-000000"
    media = path / "media" / HASH[:2]
    media.mkdir(parents=True)
    (media / HASH).write_bytes(PICTURE)
    with closing(apsw.Connection(str(path / "homed.db"))) as db:
        db.pragma("application_id", APPLICATION_ID)
        migrations.migrate(db, path, migrations.scripts()[:version])
        for sql in (*ROWS, *more):
            db.execute(sql)
        assert db.pragma("user_version") == version
    digest = hashlib.sha256((path / "homed.db").read_bytes()).hexdigest()
    sums = f"{digest}  homed.db\n{HASH}  media/{HASH[:2]}/{HASH}\n"
    (path / "SHA256SUMS").write_text(sums)
    manifest = {
        "format": "homed backup", "version": 1, "made_at": 1e9, "homed": "0.0.1", "schema": version, "bytes": 1,
        "counts": {"events": 30}, "files": 1, "missing": [], "sums": hashlib.sha256(sums.encode()).hexdigest(),
    }  # fmt: skip
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def value(path: Path, sql: str) -> object:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchone()[0]


@pytest.mark.parametrize("version", OLDER)
async def test_a_backup_of_an_earlier_schema_is_restored_and_brought_to_ours(tmp_path: Path, version: int) -> None:
    source, path, media = made(tmp_path, version), tmp_path / "new" / "homed.db", tmp_path / "new" / "media"
    path.parent.mkdir()
    assert look(source).schema == version
    done = await trio.to_thread.run_sync(restore, path, media, source)
    assert (done.missing, done.forgotten) == ([], 0)
    assert value(path, "PRAGMA user_version") == migrations.latest()
    assert value(path, "SELECT state FROM inputs") == "stopped"
    assert value(path, "SELECT holder_layer FROM blocks") == "context"
    assert (media / HASH[:2] / HASH).read_bytes() == PICTURE
    async with open_store(path) as store:
        while await store.write(index.catch_up):
            pass
        texts = await store.read(lambda tx: tx.all("SELECT text FROM events ORDER BY seq"))
        found = await store.read(lambda tx: tx.value("SELECT count(*) FROM word_index WHERE word_index MATCH 'cello'"))
    assert texts == [(f"the cello number {n} 大提琴",) for n in range(30)]
    assert found in (0, 30)
    with closing(apsw.Connection(str(path))) as db:
        assert layout.difference(layout.layout(db), layout.of_version(migrations.latest())) == ""


@pytest.mark.parametrize("version", OLDER)
def test_over_a_folder_of_an_earlier_schema_too(tmp_path: Path, version: int) -> None:
    source, home = made(tmp_path, version), tmp_path / "home"
    home.mkdir()
    (home / "homed.db").write_bytes((made(tmp_path / "other", version) / "homed.db").read_bytes())
    done = restore(home / "homed.db", home / "media", source)
    assert done.aside is not None
    assert value(done.aside / "homed.db", "PRAGMA user_version") == version
    assert value(home / "homed.db", "PRAGMA user_version") == migrations.latest()


@pytest.mark.parametrize("version", OLDER)
def test_a_program_in_an_earlier_schema_never_runs(tmp_path: Path, version: int) -> None:
    trigger = "CREATE TRIGGER evil AFTER UPDATE ON events BEGIN DELETE FROM inputs; END"
    source, path = made(tmp_path, version, trigger), tmp_path / "homed.db"
    with pytest.raises(StorageError) as caught:
        restore(path, tmp_path / "media", source)
    assert caught.value.detail["reason"] == "other_schema"
    assert f"does not have the schema {version} it says" in caught.value.message
    assert "'trigger evil'" in caught.value.message
    assert "damaged" not in f"{caught.value.message} {caught.value.hint}"
    assert not path.exists()


def test_comments_and_blanks_make_no_other_schema(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path, sql in ((one, "CREATE TABLE t(a TEXT DEFAULT '--x  y', b)"),
                      (two, "CREATE TABLE t (\n  a TEXT DEFAULT '--x  y', -- why\n  b /* and */\n)")):  # fmt: skip
        with closing(apsw.Connection(str(path))) as db:
            db.execute(sql)
    layouts = []
    for path in (one, two):
        with closing(apsw.Connection(str(path))) as db:
            layouts.append(layout.layout(db))
    assert layout.difference(*layouts) == ""
    with closing(apsw.Connection(str(two))) as db:
        db.execute("CREATE INDEX i ON t (a)")
        assert layout.difference(layouts[0], layout.layout(db)) == "index i"
    other = {("table", "t"): layouts[0][("table", "t")].replace("--x  y", "--x y")}
    assert layout.difference(layouts[0], other) == "table t"
