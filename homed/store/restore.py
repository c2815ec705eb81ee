"""Putting a backup in the place of the database: in one step, with what was there kept aside.

The steps are those of a repair (``repair.finish_swap``): the new database is made whole beside the old one, a note says
so, and from then on whoever opens the folder next finishes the change.  A crash before leaves everything as it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from homed.errors import StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.store import migrations, problems
from homed.store.backup import (
    DATABASE,
    MEDIA,
    BackupInfo,
    changed,
    check,
    copy_file,
    free_name,
    look,
    newer,
    no_backup,
    other_schema,
    place,
)
from homed.store.connection import APPLICATION_ID, open_damaged
from homed.store.copying import opened
from homed.store.layout import difference, layout, of_version
from homed.store.repair import INVARIANTS, announce_swap, finish_swap, new_file
from homed.wire.durable import sync_file, sync_folder

ASIDE = "replaced"
"""Beside the database: what restores have replaced, a folder each, until a person removes it."""

STALE = ("vectors",)
"""Folders of files that were made from the rows of the old database; they are made anew from the new one's."""

KEY = 32
"""Bytes of each key of the tombstones."""

_LISTED_SINCE = 8
"""The schema from which on it is stored what a wish takes."""

CUT = "homed was put back to a backup that was made while this was being worked on."


@dataclass(frozen=True, slots=True)
class Restored:
    """``aside``: where the old database and its attachments are, if there was one.  ``missing``: attachments that the
    database names and the backup does not have.  ``forgotten``: what was forgotten since and will be again."""

    backup: BackupInfo
    aside: Path | None
    missing: Sequence[str]
    forgotten: int


def restore(
    path: Path, media: Path, source: Path, *, wall: Callable[[], float] = time.time,
    failpoints: Failpoints | None = None,
) -> Restored:  # fmt: skip
    """Make the backup ``source`` the database at ``path`` and its attachments those in ``media``.  Blocks.

    One of an earlier schema is brought to ours first.  Nobody may have the database open: hold the data folder's lock.
    Raises StorageError, and nothing is changed, for what is no backup, was made by a later release, has a schema that
    is of no release, or is damaged.  Logins, API keys and secrets are not in a backup:
    the folder keeps its secrets file; logins and keys are made again.
    """
    reach = (failpoints or NoFailpoints()).reach
    with problems.translated(path):
        finish_swap(path)
        info = look(source)
        sound = check(info)
        reach("restore.checked")
        new = new_file(path)
        try:
            copy_file(source / DATABASE, new)
            with _of_the_backup(source):
                forgotten = _put_right(new, source, path, media, wall())
                missing = _missing(new, sound)
            sync_file(new)
            reach("restore.copied")
            aside = _keep_aside(path, media, wall())
            for hash_ in sound:
                place(source / MEDIA / hash_[:2] / hash_, media / hash_[:2] / hash_)
            for folder in sorted({media / hash_[:2] for hash_ in sound}):
                sync_folder(folder)
            reach("restore.placed")
            announce_swap(path, aside)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        reach("restore.announced")
        finish_swap(path)
        reach("restore.swapped")
    return Restored(info, aside if any(aside.iterdir()) else None, missing, forgotten)


@contextmanager
def _of_the_backup(source: Path) -> Iterator[None]:
    """What is wrong with the copy is wrong with the backup, and that is what a person knows the name of."""
    try:
        yield
    except StorageError as error:
        reason = error.detail.get("reason")
        if reason == "newer_schema":
            raise newer(source) from error
        if reason == "foreign":
            raise no_backup(source) from error
        if reason in ("corrupt", "not_a_database"):
            raise changed(source, DATABASE) from error
        raise


def _migrated(db: apsw.Connection, new: Path, source: Path) -> None:
    """Bring it to our schema, once it is sure that it has that of a release: a trigger or a view is a program, and
    changing rows would run it."""
    version = int(db.pragma("user_version"))
    if version <= migrations.latest() and (what := difference(layout(db), of_version(version))):
        raise other_schema(source, version, what)
    migrations.migrate(db, new)


def _put_right(new: Path, source: Path, old: Path, media: Path, at: float) -> int:
    """What must not be as it was then: turns that were running, files that nothing names, and what was forgotten since
    must not come back.  Returns how much of that there is."""
    with opened(new) as db:
        if db.pragma("application_id") != APPLICATION_ID:
            raise problems.foreign(new)
        db.pragma("journal_mode", "delete")
        _migrated(db, new, source)
        db.pragma("foreign_keys", "on")
        db.execute("BEGIN IMMEDIATE")
        forgotten = _carry_over(db, old)
        _end_what_ran(db, at)
        db.execute("DELETE FROM logins")
        _mark_loose(db, media)
        db.execute("COMMIT")
        wrong = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
        wrong += ["a row that names what is not there"] if db.execute("PRAGMA foreign_key_check").fetchone() else []
        wrong += [what for what, sql in INVARIANTS.items() if db.execute(f"SELECT EXISTS ({sql})").get]
        if wrong:
            raise problems.corrupt(new, wrong[0])
    return forgotten


def _carry_over(db: apsw.Connection, old: Path) -> int:
    """Tombstones, their key, and what was forgotten since: it is forgotten again at the next start."""
    if not old.exists() or not old.stat().st_size:
        return 0
    try:
        with closing(open_damaged(old, any_version=True)) as before:
            rows = list(before.execute("SELECT id, kind, target, wide, upto, at FROM forgets ORDER BY seq"))
            stones = list(before.execute("SELECT scope, hash, at FROM tombstones"))
            key = before.execute("SELECT key FROM memory_key").get
            listed, took = _listed(before)
    except (apsw.Error, StorageError):
        return 0  # damaged, or of a schema that knew no forgetting: the person knows what it is put back for
    if key is not None:
        both = _keys(db.execute("SELECT key FROM memory_key").get, key)
        db.execute("INSERT INTO memory_key (one, key) VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET key = ?1", (both,))
    db.executemany("INSERT OR IGNORE INTO tombstones (scope, hash, at) VALUES (?, ?, ?)", stones)
    count = 0
    last = db.execute("SELECT coalesce(max(seq), 0) FROM events").get  # numbers above it are given again
    for *row, upto, at in rows:
        db.execute(
            "INSERT OR IGNORE INTO forgets (id, kind, target, wide, upto, at) VALUES (?, ?, ?, ?, ?, ?)",
            (*row, min(upto, last), at),
        )
        count += db.changes()
    again = "SELECT ?1, ?2, ?3 FROM forgets WHERE id = ?1 AND done_at IS NULL"
    db.executemany(f"INSERT OR IGNORE INTO forget_todo (request, what, item) {again}", (*listed, *took))
    return count


def _keys(of_backup: bytes | None, here: bytes) -> bytes:
    """That of the backup first, and behind it those of here that it lacks: one of another house has its own, and what
    was forgotten there is known by that alone (`homed.memory.tombstones`)."""
    first = of_backup or b""
    known = {first[at : at + KEY] for at in range(0, len(first), KEY)}
    more = (here[at : at + KEY] for at in range(0, len(here), KEY))
    return first + b"".join(one for one in more if one not in known)


def _listed(before: apsw.Connection) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What wishes still had to remove there, and what they removed: the backup may have it, and not what they are
    about.  An earlier release kept neither."""
    if before.pragma("user_version") < _LISTED_SINCE:
        return [], []
    todo = list(before.execute("SELECT request, what, item FROM forget_todo ORDER BY seq"))
    return todo, list(before.execute("SELECT request, what, item FROM forget_took"))


def _end_what_ran(db: apsw.Connection, at: float) -> None:
    """A message of then is not answered now."""
    outcome = json.dumps({"state": "stopped", "text": "", "error": CUT, "hint": "", "usage": {}, "ms": 0})
    db.execute("UPDATE turns SET state = 'stopped', ended_at = ? WHERE ended_at IS NULL", (at,))
    db.execute("UPDATE inputs SET state = 'stopped', outcome = ?, ended_at = ? WHERE outcome IS NULL", (outcome, at))
    db.execute("UPDATE jobs SET cursor = '{}'")


def _mark_loose(db: apsw.Connection, media: Path) -> None:
    """Attachments of the old database: the next start removes them here; they are kept aside."""
    for file in media.glob("[0-9a-f][0-9a-f]/*"):
        db.execute(
            "INSERT OR IGNORE INTO loose_files (hash) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE hash = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM uploads WHERE hash = ?1)",
            (file.name,),
        )


def _missing(new: Path, sound: Sequence[str]) -> list[str]:
    with opened(new) as db:
        named = {str(row[0]) for row in db.execute("SELECT hash FROM blocks UNION SELECT hash FROM uploads")}
    return sorted(named - set(sound))


def _keep_aside(path: Path, media: Path, at: float) -> Path:
    """A folder for what is replaced, with the attachments in it already; the database follows in the swap."""
    root = path.parent / ASIDE
    root.mkdir(mode=0o700, exist_ok=True)
    aside = free_name(root, at)
    aside.mkdir(mode=0o700)
    for file in media.glob("[0-9a-f][0-9a-f]/*"):
        if file.is_file() and not file.is_symlink():
            place(file, aside / MEDIA / file.parent.name / file.name)
    for name in STALE:
        with suppress(FileNotFoundError):
            (path.parent / name).rename(aside / name)
    sync_folder(root)
    return aside
