"""Mending a damaged database: what can be saved goes into a new file, which takes the old one's place in one step.

The old file is moved aside, never removed.  From the moment the new one is complete a note beside it says so, and
whoever opens the database next (a start, another repair) finishes the change: a crash in the middle leaves either the
old database or the new one, and never the new one with the old one's log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from homed.errors import StorageError
from homed.store import migrations, problems
from homed.store.connection import APPLICATION_ID, open_damaged
from homed.store.damage import SUFFIXES, Damage, claim_folder
from homed.store.salvage import Saved, mend, salvage
from homed.wire.durable import sync_file, sync_folder

_log = logging.getLogger(__name__)

READABLE = "readable.db"
"""In the folder of a damaged database: what can be saved of it, read while homed is read-only."""

_NEW = ".rebuilt"
_NOTE = ".swap"


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair did.  ``kept``: where the damaged file is; ``mended``: what had to be put right, by count."""

    kept: Path
    tables: Sequence[Saved]
    mended: dict[str, int]


def repair(path: Path, found: str) -> Repair:
    """Rebuild the database at ``path``, verify the result, keep the damaged one aside, and put the new one in place.

    Nobody may have it open: hold the data folder's lock.  Raises StorageError, with the old file where it was, when the
    disk is full, the file holds nothing of ours, or the result does not pass its own checks.
    """
    finish_swap(path)
    new = new_file(path)
    with problems.translated(path):
        try:
            tables, mended = _rebuild(path, new)
            into = claim_folder(Damage(path, found))
            announce_swap(path, into)
        except BaseException:
            _discard(new)
            raise
        finish_swap(path)
        (into / READABLE).unlink(missing_ok=True)
    return Repair(into, tables, mended)


def readable(damage: Damage) -> Path:
    """A sound database with all that can be saved of a damaged one, to read from; made once beside the kept copy.

    Where there is no room for it, the damaged file itself.
    """
    if not damage.kept:
        return damage.path
    view = Path(damage.kept) / READABLE
    making = view.with_suffix(".making")
    if view.exists():
        return view
    try:
        with problems.translated(damage.path):
            _rebuild(damage.path, making)
            making.replace(view)
    except StorageError as error:
        _log.warning("what can be saved of %s could not be gathered: %s", damage.path, error)
        _discard(making)
        return damage.path
    return view


def finish_swap(path: Path) -> None:
    """Put a completed repair in place, if one was cut off; else nothing.  Doing it twice does no harm."""
    note, new = Path(f"{path}{_NOTE}"), new_file(path)
    if not note.exists():
        return
    with problems.translated(path):
        if new.exists():
            into = path.parent / json.loads(note.read_bytes())["into"]
            for suffix in SUFFIXES:
                with suppress(FileNotFoundError):
                    Path(f"{path}{suffix}").replace(into / f"{path.name}{suffix}")
            Path(f"{path}-shm").unlink(missing_ok=True)
            sync_folder(into)
            new.replace(path)
            sync_folder(path.parent)
        note.unlink()
        sync_folder(path.parent)


def _rebuild(path: Path, new: Path) -> tuple[list[Saved], dict[str, int]]:
    """Write a whole, checked database to ``new``."""
    _discard(new)
    new.touch(mode=0o600)
    with closing(apsw.Connection(str(new), flags=apsw.SQLITE_OPEN_READWRITE)) as fresh:
        fresh.pragma("journal_mode", "off")  # a rebuild that is cut off is thrown away whole
        fresh.pragma("synchronous", "off")
        fresh.pragma("application_id", APPLICATION_ID)
        version = _version(path)
        migrations.migrate(fresh, new, migrations.scripts()[:version])
        fresh.execute("BEGIN")
        tables = salvage(path, fresh)
        if not sum(table.kept for table in tables):
            raise problems.nothing_to_save(path)
        mended = mend(fresh)
        fresh.execute("COMMIT")
        migrations.migrate(fresh, new)
        _verify(fresh, path)
    sync_file(new)
    return tables, mended


def _version(path: Path) -> int:
    """The schema that the damaged file has; the latest when it can no longer say."""
    try:
        with closing(open_damaged(path, any_version=True)) as connection:
            version = connection.pragma("user_version")
    except StorageError as error:
        if error.detail.get("reason") in ("foreign", "newer_schema"):
            raise
        return migrations.latest()
    return version if isinstance(version, int) and 0 < version < migrations.latest() else migrations.latest()


def _verify(fresh: apsw.Connection, path: Path) -> None:
    """The new file must be better than sound: whole, its references kept, one outcome an input, one holder a block."""
    wrong = [str(row[0]) for row in fresh.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    wrong += [f"{row[0]} without {row[2]}" for row in fresh.execute("PRAGMA foreign_key_check")]
    wrong += [what for what, sql in INVARIANTS.items() if fresh.execute(f"SELECT EXISTS ({sql})").get]
    if wrong:
        raise problems.not_mended(path, wrong[0])


INVARIANTS = {
    "an input with no outcome, or one too early": (
        "SELECT 1 FROM inputs WHERE (state IN ('accepted', 'running')) <> (outcome IS NULL)"
    ),
    "a block that its event does not hold": (
        "SELECT 1 FROM blocks JOIN events ON events.id = blocks.event"
        " WHERE holder_layer <> CASE layer WHEN 'archived' THEN 'stable' ELSE layer END"
    ),
}
"""What must hold besides what the schema itself keeps: sentence → rows that break it."""


def new_file(path: Path) -> Path:
    """Where a database is made that is to take the place of the one at ``path``."""
    return Path(f"{path}{_NEW}")


def announce_swap(path: Path, into: Path) -> None:
    """From here on the new file counts: ``finish_swap`` moves the old one into the folder ``into``, and it in place."""
    note = Path(f"{path}{_NOTE}")
    making = note.with_suffix(".swap-new")
    making.write_text(json.dumps({"into": str(into.relative_to(path.parent))}), "utf-8")
    sync_file(making)
    making.replace(note)
    sync_folder(path.parent)


def _discard(new: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        Path(f"{new}{suffix}").unlink(missing_ok=True)
