"""Whether a secret stands in what is stored: it may be older than what homed knows of secrets, or a key set since.

A repair takes it out where it stands, and out of all that was made of it: indexes, vectors, quotes, what the database's
file still has of it.  That a key was there is said; what it was never is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from homed.jobs.memcheck.check import Check, Fix, Look, RowCheck, judged
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import LOWEST, Found, Judge, Rows
from homed.memory.blocked import cleaned
from homed.memory.evidence import digest, locate
from homed.memory.normal import key, normal
from homed.redact import open_key_block
from homed.retrieval import index, record_words
from homed.store.rows import Row, Tx, dumps, loads

FAULT = "hold something that looks like a secret"
FIX = "Repair takes it out of there and of all that was made of it. Change the key: it was readable."

KEY_LINES = 200
"""Lines that a private key may have whose end nobody finds."""

_KEY_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
MARK = re.compile(r"(\[secret:[a-z_]+\])")


def _clean(room: Room, text: str) -> str:
    """As memory keeps it: without what the redactor knows, and without what no statement may hold."""
    return cleaned(room.redactor.redact(text))


def _json(room: Room, text: str | None) -> str | None:
    """JSON without secrets; as it is where it is none."""
    try:
        value = loads(text)
    except ValueError:
        return text
    found = room.redactor.redact_json(value)
    return text if found == value else dumps(found)


def _tags(room: Room, text: str) -> str:
    try:
        value = loads(text)
    except ValueError:
        return text
    found = [_clean(room, str(one)) for one in value] if isinstance(value, list) else value
    return text if found == value else dumps(found)


Cleaner = Callable[[Room, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Columns of a table and how each is cleaned.  ``follow``: what else changes with a row, after it."""

    id: str
    name: str
    what: str
    table: str
    key: tuple[str, ...]
    shown: str
    columns: tuple[tuple[str, Cleaner], ...]
    start: tuple[int | str, ...] = (LOWEST,)
    where: str = "1"
    write: Callable[[Tx, Row, tuple[str, ...], Room], None] | None = None

    def check(self) -> RowCheck:
        """The check of it."""
        return RowCheck(
            id=self.id, name=self.name, what=self.what, fault=FAULT, fix=FIX, rows=self.rows, cure=self.cure,
        )  # fmt: skip

    def rows(self, room: Room) -> Rows:
        """Its rows."""
        names = tuple(name for name, _ in self.columns)
        weight = " + ".join(f"coalesce(octet_length({name}), 0)" for name in names) if len(self.key) == 1 else ""
        numbers = weight if self.start == (LOWEST,) else ""
        return Rows(
            self.table, self.key, self.shown, also=names, where=self.where, judge=self._judge(room), weight=numbers,
            start=self.start,
        )  # fmt: skip

    def _judge(self, room: Room) -> Judge:
        def judge(tx: Tx, row: Row) -> bool:
            del tx
            return any(one != new for one, new in zip(row, self._cleaned(room, row), strict=True))

        return judge

    def _cleaned(self, room: Room, cells: Sequence[str | None]) -> tuple[str, ...]:
        made = [clean(room, cell) if cell else cell for (_, clean), cell in zip(self.columns, cells, strict=True)]
        return tuple(made)  # type: ignore[arg-type]

    @property
    def cure(self) -> Fix:
        """Writes what is left."""

        def fix(tx: Tx, rows: Sequence[Row], room: Room) -> int:
            for row in rows:
                new = self._cleaned(room, row[len(self.key) + 2 :])
                if self.write is not None:
                    self.write(tx, row, new, room)
                    continue
                sets = ", ".join(f"{name} = ?" for name, _ in self.columns)
                keys = " AND ".join(f"{name} = ?" for name in self.key)
                tx.execute(f"UPDATE {self.table} SET {sets} WHERE {keys}", (*new, *row[: len(self.key)]))
            return len(rows)

        return fix


def _redact(room: Room, text: str) -> str:
    return room.redactor.redact(text)


def _as_json(room: Room, text: str) -> str:
    return _json(room, text) or text


# -- what follows ------------------------------------------------------------------------------------------------------


def _write_event(tx: Tx, row: Row, new: tuple[str, ...], room: Room) -> None:
    """The words are indexed anew, the vector is made anew, quotes are found again in what is left."""
    seq, id_ = row[0], row[1]
    text, words, data, opaque = new
    index.retext(tx, seq, text, words, data)
    if opaque != row[6]:
        tx.execute("UPDATE events SET opaque = '' WHERE seq = ?", (seq,))  # sealed by its source: whole, or not at all
    found = tx.all("SELECT id, record, first, last, excerpt FROM evidence WHERE event = ? AND first NOTNULL", (id_,))
    for evidence, _, first, last, excerpt in found:
        kept = _clean(room, excerpt)
        if text[first:last] != kept or kept != excerpt:
            _requote(tx, evidence, text, "" if kept != excerpt else kept)


def _requote(tx: Tx, evidence: int, text: str, quote: str) -> None:
    """Where it stands now; a quote that held a secret points at its message alone."""
    place = locate(text, quote) if quote else None
    if place is not None and text[place[0] : place[1]] == quote:
        values: tuple[int | str | None, ...] = (*place, quote, digest(quote))
    else:
        values = (None, None, "", "")
    tx.execute(
        "UPDATE OR IGNORE evidence SET first = ?, last = ?, excerpt = ?, hash = ? WHERE id = ?", (*values, evidence)
    )
    # the same pointer is there already: this row says nothing more
    row = tx.one("SELECT record, first, excerpt FROM evidence WHERE id = ?", (evidence,))
    if row is not None and (row[1], row[2]) != (values[0], values[2]):
        before = tx.all("SELECT * FROM revisions WHERE record = ?", (row[0],))
        tx.execute("DELETE FROM evidence WHERE id = ?", (evidence,))
        tx.many("INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", before)


def _write_excerpt(tx: Tx, row: Row, new: tuple[str, ...], room: Room) -> None:
    del new, room
    _requote(tx, row[0], "", "")


def _write_record(tx: Tx, row: Row, new: tuple[str, ...], room: Room) -> None:
    """No revision: it would keep what is to go.  Its words leave the index in this transaction, too."""
    del room
    title, text, object_, tags = new
    tx.execute(
        "UPDATE records SET title = ?, text = ?, object = ?, tags = ?, key = ? WHERE seq = ?",
        (title, text, object_, tags, key(text), row[0]),
    )
    while record_words.work_off(tx):
        pass


def _write_entity(tx: Tx, row: Row, new: tuple[str, ...], room: Room) -> None:
    del room
    tx.execute("UPDATE entities SET name = ? WHERE seq = ?", (new[0], row[0]))
    tx.execute("DELETE FROM vectors WHERE kind = 'entity' AND item = ?", (row[0],))
    tx.execute("INSERT OR REPLACE INTO vector_todo (kind, item) VALUES ('entity', ?)", (row[0],))


def _write_name(tx: Tx, row: Row, new: tuple[str, ...], room: Room) -> None:
    del room
    scope, old = row[0], row[1]
    tx.execute(
        "UPDATE OR REPLACE entity_names SET name = ?, key = ? WHERE scope = ? AND key = ?",
        (new[0], old if old.startswith("@") else normal(new[0]) or old, scope, old),
    )


PLACES: tuple[_Place, ...] = (
    _Place(
        id="secrets_records", name="Secrets in records", what="records", table="records", key=("seq",), shown="id",
        columns=(("title", _clean), ("text", _clean), ("object", _clean), ("tags", _tags)), write=_write_record,
    ),
    _Place(
        id="secrets_history", name="Secrets in what records said before", what="revisions", table="revisions",
        key=("record", "revision"), shown="record", start=("", LOWEST),
        columns=(("title", _clean), ("text", _clean), ("tags", _tags)),
    ),
    _Place(
        id="secrets_messages", name="Secrets in messages", what="messages", table="events", key=("seq",), shown="id",
        columns=(("text", _redact), ("words", _redact), ("data", _as_json), ("opaque", _redact)), write=_write_event,
    ),
    _Place(
        id="secrets_quotes", name="Secrets in quotes", what="pieces of evidence", table="evidence", key=("id",),
        shown="record", columns=(("excerpt", _clean),), write=_write_excerpt,
    ),
    _Place(
        id="secrets_names", name="Secrets in names", what="people and things", table="entities", key=("seq",),
        shown="id", columns=(("name", _clean),), write=_write_entity,
    ),
    _Place(
        id="secrets_aliases", name="Secrets in other names", what="names", table="entity_names", key=("scope", "key"),
        shown="entity", start=("", ""), columns=(("name", _clean),), write=_write_name,
    ),
    _Place(
        id="secrets_inputs", name="Secrets in what was asked and answered", what="inputs", table="inputs", key=("seq",),
        shown="id", columns=(("text", _redact), ("outcome", _as_json)),
    ),
    _Place(
        id="secrets_titles", name="Secrets in titles", what="conversations", table="threads", key=("id",), shown="id",
        start=("",), columns=(("title", _redact),),
    ),
    _Place(
        id="secrets_merges", name="Secrets in merges that can be taken back", what="merges", table="merged",
        key=("id",), shown="kept", columns=(("data", _as_json),),
    ),
    _Place(
        id="secrets_reports", name="Secrets in reports of crashes", what="reports of crashes", table="crash_reports",
        key=("id",), shown="plugin", start=("",), columns=(("stderr", _redact), ("pending", _redact)),
    ),
)  # fmt: skip
"""Messages after records, so that their quotes are found in what is left; quotes after both."""


# -- files -------------------------------------------------------------------------------------------------------------

LOGS = ("homed.log*", "logs/*.log*", "textlog/*.jsonl", "cassettes/*")
"""Files that programs write line by line, below DATA."""

LONGEST_LINE = 4_000_000
QUICK = 2_000_000
"""Bytes from the end of each file that a quick look reads."""


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """Logs and records in files, as they are now and as earlier releases left them."""

    id: str = "secrets_files"
    name: str = "Secrets in files"
    deep: bool = False
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        found = await trio.to_thread.run_sync(partial(_look, room), abandon_on_cancel=True)
        fix = "Repair overwrites it where it stands. Change the key: it was readable."
        return judged(found, "lines of logs and of the text log", FAULT, fix)

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        count = 0
        for name in dict.fromkeys(look.ids):
            count += await trio.to_thread.run_sync(_overwrite, room, room.paths.data / name)
            room.failpoints.reach("doctor.mended")
        return count


def _files(data: Path) -> list[Path]:
    return sorted({path for pattern in LOGS for path in data.glob(pattern) if path.is_file() and not path.is_symlink()})


def _lines(path: Path, start: int) -> Iterator[tuple[int, bytes]]:
    """Each line with its place, from behind the first end of a line after ``start``."""
    try:
        with path.open("rb") as reading:
            reading.seek(start)
            at = start + (len(reading.readline()) if start else 0)
            reading.seek(at)
            while line := reading.readline(LONGEST_LINE):
                yield at, line
                at += len(line)
    except OSError:  # it went meanwhile, or is nobody's to read: there is a check of that
        return


def _look(room: Room) -> Found:
    found = Found()
    for path in _files(room.paths.data):
        size = path.stat().st_size if path.exists() else 0
        for _, line, new in _cleaned(room, path, 0 if room.deep else max(0, size - QUICK)):
            found.read += 1
            if new != line:
                found.wrong += 1
                found.ids.append(str(path.relative_to(room.paths.data)))
    found.all = found.read
    found.ids = list(dict.fromkeys(found.ids))
    return found


def _overwrite(room: Room, path: Path) -> int:
    """Overwrite in place, byte by byte, so that who writes to the file goes on where it is."""
    count = 0
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for at, line, new in _cleaned(room, path, 0):
            if new != line:
                os.pwrite(fd, new, at)
                count += 1
        os.fsync(fd)
    finally:
        os.close(fd)
    return count


def _cleaned(room: Room, path: Path, start: int) -> Iterator[tuple[int, bytes, bytes]]:
    """Each line with its place and as it should be; of a private key all lines go, not its first alone."""
    inside = 0
    for at, line in _lines(path, start):
        new = _blanked(room, line)
        if open_key_block(line.decode("utf-8", "replace")) >= 0:
            inside = KEY_LINES
        elif inside:
            inside = 0 if _KEY_END.search(line) else inside - 1
            new = _blank(line)
        yield at, line, new


def _blank(line: bytes) -> bytes:
    end = line[len(line.rstrip(b"\r\n")) :]
    return b" " * (len(line) - len(end)) + end


def _blanked(room: Room, line: bytes) -> bytes:
    """The line as long as before, with a marker or blanks in the place of each secret."""
    body = line.rstrip(b"\r\n")
    text, end = body.decode("utf-8", "surrogateescape"), line[len(body) :]
    if room.redactor.redact(text) == text:
        return line
    for fill in (_marker, " ".__mul__, "'".__mul__):
        new = text
        for _ in range(8):  # what is left of a line may look like another one
            if (clean := room.redactor.redact(new)) == new:
                break
            new = _filled(new, clean, fill)
        made = new.encode("utf-8", "surrogateescape")
        if room.redactor.redact(new) == new and len(made) == len(body):
            return made + end
    return _blank(line)


def _marker(size: int) -> str:
    """Of so many bytes, where that is enough."""
    return f"[secret:{'x' * (size - 9)}]" if size > 9 else " " * size


def _filled(text: str, clean: str, fill: Callable[[int], str]) -> str:
    """``text`` with something else where ``clean`` has a marker that it has not."""
    made, at = "", 0
    pieces = MARK.split(clean)
    for literal, marker, after in zip(pieces[::2], [*pieces[1::2], ""], [*pieces[2::2], ""], strict=True):
        made += literal
        at += len(literal)
        if not marker:
            break
        if text.startswith(marker, at):  # it stood there before
            made += marker
            at += len(marker)
            continue
        end = text.find(after, at) if after else len(text)
        end = len(text) if end < 0 else max(end, at + 1)
        made += fill(len(text[at:end].encode("utf-8", "surrogateescape")))
        at = end
    return made


CHECKS: tuple[Check, ...] = (*(place.check() for place in PLACES), SecretFiles())
