"""Whether memory can be read and written at all: the file, its columns, its texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from homed.errors import StorageError
from homed.jobs.memcheck.check import Check, Look, RowCheck, Unmended, judged, written
from homed.jobs.memcheck.findings import Status, said
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import HEAVY, Found, Rows, walk
from homed.memory import dedupe
from homed.retrieval import index
from homed.store import examine
from homed.store.rows import ReadOnly, Row, Tx

TABLES = (
    "events", "blocks", "records", "evidence", "revisions", "members", "entities", "entity_names", "tombstones",
    "merges", "merged", "citations", "injections", "injected", "vectors", "passes",
)  # fmt: skip
"""Of memory."""

WRITTEN = "Read {n} rows of all tables, and wrote one and a file: nothing wrong."
REPAIR = "Stop homed and run `homed doctor --repair`."
PROBE = ".memory-doctor"


@dataclass(frozen=True, slots=True)
class ReadAndWritten(Unmended):
    """Every table is read, and something is written: a row that is there within one transaction only, and a file."""

    id: str = "storage"
    name: str = "Storage"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        read = await room.store.read(_rows)
        full = "Free some space on the disk, and see to it that this user may write to the data folder."
        try:
            if not room.looking:
                await room.store.write(_write)
        except ReadOnly:
            return Look(Status.FAIL, "Memory is read-only: nothing is stored.", REPAIR, read, 1)
        except StorageError as error:
            fault = said("Nothing can be stored ({why}).", why=str(error.detail.get("reason", error.code)))
            return Look(Status.FAIL, fault, error.hint or full, read, 1)
        try:
            await trio.to_thread.run_sync(_write_file, room.paths.data)
        except OSError as error:
            fault = said("No file can be written in the data folder ({why}).", why=error.strerror or "OSError")
            return Look(Status.FAIL, fault, full, read, 1)
        evidence = said(WRITTEN, n=read)
        return Look(Status.PASS, evidence, read=read)


def _rows(tx: Tx) -> int:
    """Some of every table, each read whole."""
    read = sum(len(tx.all(f"SELECT * FROM {name} LIMIT {HEAVY}")) for name in TABLES if name != "vectors")
    return read + len(tx.all("SELECT id FROM vectors LIMIT 100")) + 1  # the schema's version


def _write(tx: Tx) -> None:
    tx.execute("INSERT OR REPLACE INTO seeds (key, seeded_at) VALUES (?, 0)", (PROBE,))
    tx.execute("DELETE FROM seeds WHERE key = ?", (PROBE,))


def _write_file(data: Path) -> None:
    place = data / f"{PROBE}-{os.getpid()}"
    try:
        fd = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, b"homed\n")
            os.fsync(fd)
            if os.pread(fd, 16, 0) != b"homed\n":
                raise OSError(5, "another content is read than was written")
        finally:
            os.close(fd)
    finally:
        place.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Sound(Unmended):
    """SQLite reads the whole file and compares every index with its table."""

    id: str = "integrity"
    name: str = "The database file"
    deep: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``.  Where readers keep others from storing, and others are there, a shorter look does."""
        whole = room.local or not room.running
        pages, wrong = await room.store.read(partial(_integrity, whole=whole))
        return judged(Found(pages, pages, wrong, [], []), "pages of the database", "are damaged", REPAIR)


def _integrity(tx: Tx, *, whole: bool) -> tuple[int, int]:
    return int(tx.value("PRAGMA page_count")), len(examine.damage_of(tx, deep=whole))


@dataclass(frozen=True, slots=True)
class References(Unmended):
    """No row of memory's names a row that is not there, other than what other checks look at more closely."""

    id: str = "references"
    name: str = "References"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        found = Found()
        for name in TABLES:
            read, wrong = await room.store.read(partial(_dangling, name=name))
            found.read += read
            found.wrong += wrong
            found.ids += [name] if wrong else []
        found.all = found.read
        return judged(found, "rows", "name a row that is gone", REPAIR)


def _dangling(tx: Tx, name: str) -> tuple[int, int]:
    count = int(tx.value(f"SELECT count(*) FROM {name}"))
    return count, len(tx.all(f"SELECT * FROM pragma_foreign_key_check('{name}')"))


# -- columns -----------------------------------------------------------------------------------------------------------

OBJECT, ARRAY, ANY = "object", "array", ""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of JSON.  ``empty``: what stands there instead of what cannot be read, where nobody said what it holds;
    '' where a person or a model did: that is left as it is."""

    table: str
    key: tuple[str, ...]
    start: tuple[int | str, ...]
    column: str
    kind: str
    empty: str = ""
    where: str = "1"

    @property
    def wrong(self) -> str:
        kind = f"json_type({self.column}) <> '{self.kind}'" if self.kind else "0"
        return f"CASE WHEN json_valid({self.column}) THEN {kind} ELSE 1 END"

    @property
    def rows(self) -> Rows:
        id_ = " || ' ' || ".join([f"'{self.table}.{self.column}'", *self.key])
        return Rows(self.table, self.key, id_, self.wrong, where=self.where, start=self.start)


_LOW = (-(1 << 62),)
COLUMNS = (
    _Column("events", ("seq",), _LOW, "data", OBJECT),
    _Column("inputs", ("seq",), _LOW, "outcome", OBJECT, where="outcome IS NOT NULL"),
    _Column("turns", ("id",), ("",), "usage", OBJECT, "{}"),
    _Column("settings", ("key",), ("",), "value", ANY, where="substr(key, 1, 1) <> '.'"),
    _Column("records", ("seq",), _LOW, "tags", ARRAY, "[]"),
    _Column("revisions", ("record", "revision"), ("", -(1 << 62)), "tags", ARRAY, "[]"),
    _Column("merged", ("id",), _LOW, "data", OBJECT),
    _Column("ledger", ("seq",), _LOW, "data", OBJECT, "{}"),
    _Column("injections", ("seq",), _LOW, "late", ARRAY, "[]"),
    _Column("injections", ("seq",), _LOW, "channels", OBJECT, "{}"),
    _Column("jobs", ("name",), ("",), "cursor", OBJECT, "{}"),
    _Column("job_runs", ("id",), _LOW, "drops", OBJECT, "{}"),
    _Column("forgets", ("seq",), _LOW, "counts", OBJECT, "{}"),
    _Column("threshold_changes", ("seq",), _LOW, "was", ANY, "null"),
    _Column("threshold_changes", ("seq",), _LOW, "now", ANY, "null"),
)
"""Every column of memory's that holds JSON: ``dumps`` is in reach of it."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Every column of JSON holds JSON of its kind."""

    id: str = "json"
    name: str = "Columns of JSON"
    deep: bool = False
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        total = Found()
        for column in COLUMNS:
            found = await walk(room, column.rows)
            total.read += found.read
            total.wrong += found.wrong
            total.ids += found.ids
        total.all = total.read
        return judged(
            total, "columns", "hold no JSON, or none of their kind",
            "Repair empties those that hold counts and lists of ours; of messages, settings and outcomes put back the"
            " row from a backup.",
        )  # fmt: skip

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        del look
        count = 0
        for column in COLUMNS:
            if column.empty:
                found = await walk(room, column.rows)
                for start in range(0, len(found.keys), HEAVY):
                    some = found.keys[start : start + HEAVY]
                    count += await written(room, partial(_emptied, column=column, keys=some))
        return count


def _emptied(tx: Tx, column: _Column, keys: Sequence[tuple[int | str, ...]]) -> int:
    where = " AND ".join(f"{name} = ?" for name in column.key)
    tx.many(
        f"UPDATE {column.table} SET {column.column} = ? WHERE {where} AND ({column.wrong})",
        [(column.empty, *key) for key in keys],
    )
    return len(keys)


# -- texts -------------------------------------------------------------------------------------------------------------


def _is_text(cell: bytes | None) -> bool:
    try:
        (cell or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _undecodable(tx: Tx, row: Row) -> bool:
    """Bytes that are no text."""
    del tx
    return not all(map(_is_text, row))


def _unreadable(tx: Tx, row: Row) -> bool:
    """Bytes that are no text, or a sign that ends one for many a program."""
    return _undecodable(tx, row) or any(b"\0" in (cell or b"") for cell in row)


def _readable(cell: bytes | None, *, strict: bool) -> str:
    text = (cell or b"").decode("utf-8", "replace")
    return text.replace("\0", "") if strict else text


@dataclass(frozen=True, slots=True)
class _Texts:
    """Columns of text of a table.  ``strict``: a sign that ends a text for many a program may not be in them either."""

    id: str
    name: str
    what: str
    table: str
    key: tuple[str, ...]
    shown: str
    columns: tuple[str, ...]
    start: tuple[int | str, ...] = (-(1 << 62),)
    strict: bool = False

    def check(self) -> RowCheck:
        """The check of it."""
        rows = Rows(
            self.table, self.key, self.shown, also=tuple(f"CAST({name} AS BLOB)" for name in self.columns),
            judge=_unreadable if self.strict else _undecodable, start=self.start,
            weight=" + ".join(f"octet_length({name})" for name in self.columns) if self.start == _LOW else "",
        )  # fmt: skip
        return RowCheck(
            id=self.id, name=self.name, what=self.what, fault="hold bytes that are no text", fix=_STAYS, rows=rows,
            cure=self.mend,
        )  # fmt: skip

    def mend(self, tx: Tx, rows: Sequence[Row], room: Room) -> int:
        """What can be read stays; each byte that cannot is a sign for just that.  What the index has of it nobody knows
        any more, so that is made anew."""
        del room
        sets = ", ".join(f"{name} = ?" for name in self.columns)
        keys = " AND ".join(f"{name} = ?" for name in self.key)
        for row in rows:
            cells = [_readable(cell, strict=self.strict) for cell in row[len(self.key) + 2 :]]
            tx.execute(f"UPDATE {self.table} SET {sets} WHERE {keys}", (*cells, *row[: len(self.key)]))
            if self.table == "records":
                tx.execute("UPDATE records SET key = ? WHERE seq = ?", (dedupe.key(cells[1]), row[0]))
                tx.execute("DELETE FROM record_todo WHERE seq = ?", (row[0],))
        if self.table in ("records", "events"):
            index.give_up(tx)
        return len(rows)


_STAYS = "Repair keeps all that can be read; a byte that cannot becomes a sign that says so."

TEXTS: tuple[_Texts, ...] = (
    _Texts(
        "record_texts", "Texts of records", "records", "records", ("seq",), "id",
        ("title", "text", "object", "relation"), strict=True,
    ),
    _Texts("event_texts", "Texts of messages", "messages", "events", ("seq",), "id", ("text", "words")),
    _Texts("quote_texts", "Texts of quotes", "pieces of evidence", "evidence", ("id",), "record", ("excerpt",)),
    _Texts(
        "history_texts", "Texts of revisions", "revisions", "revisions", ("record", "revision"), "record",
        ("title", "text"), start=("", -(1 << 62)),
    ),
    _Texts("entity_texts", "Texts of names", "people and things", "entities", ("seq",), "id", ("name",), strict=True),
    _Texts("title_texts", "Texts of titles", "conversations", "threads", ("id",), "id", ("title",), start=("",)),
    _Texts("input_texts", "Texts of inputs", "inputs", "inputs", ("seq",), "id", ("text",)),
)  # fmt: skip

CHECKS: tuple[Check, ...] = (*(texts.check() for texts in TEXTS), ReadAndWritten(), Sound(), Columns())
"""First of all: a text that is none makes homed read-only as soon as anybody reads it."""

LAST: tuple[Check, ...] = (References(),)
"""After all that mend what they find more closely."""
