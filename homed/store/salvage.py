"""What can be saved of a damaged database, table by table, into an empty one; and what has to be put right then.

A table that can be read from one end to the other is copied as it is.  In one that cannot, rows are read from both
ends, and those in between, or below a lost inner page, straight from the leaves of the file (``pages``).  What lies on
no leaf of a known tree is recognised by its shape: types, the beginnings of ids, and the schema's own checks.  Deleted
rows do not come back: what is deleted is overwritten with zeros (``secure_delete``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from homed.errors import StorageError
from homed.store.connection import open_damaged
from homed.store.pages import Pages, StoredRow
from homed.store.rows import Row, SqlValue

IDS = {
    "threads": "th_",
    "inputs": "in_",
    "turns": "turn_",
    "events": "ev_",
    "rules": "rule_",
    "crash_reports": "crash_",
    "forgets": "forget_",
}
"""How the ids of a table begin; what is found without its table is told apart by them."""
LIKE: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "settings": {"value": re.compile(r'(?s)[\[{"].*[\]}"]|-?[0-9][0-9.eE+-]*|true|false|null')},
    "grants": {"capability": re.compile(r"[a-z]+(?:\.[a-z]+)*")},
    "accesses": {"turn": re.compile(r"turn_\w+"), "event": re.compile(r"ev_\w+")},
    "loose_files": {"hash": re.compile(r"[0-9a-f]{64}")},
}
"""What columns of tables without rowids look like: three of them have the same types."""
EARLIEST = 1_000_000_000
"""A time in seconds, 2001; what ends an index's entry, a rowid, is never so large here."""
DERIVED_PREFIX = "word_"
"""Tables of the search index begin so; they hold nothing of their own and are made anew."""

_TYPES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}


@dataclass(frozen=True, slots=True)
class Saved:
    """Rows of one table.  ``lost`` is None when the damaged file no longer says how many there were."""

    table: str
    kept: int
    lost: int | None


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    types: tuple[type, ...]
    needed: bool
    key: int


@dataclass(slots=True)
class _Table:
    """A table of the new file.  ``rowid``: the column that is the rowid, if one is."""

    name: str
    columns: list[_Column]
    rowid: str
    has_rowid: bool
    root: int = 0
    stored: list[str] = field(default_factory=list)
    whole: bool = False
    expected: int | None = None

    def fits(self, row: StoredRow) -> bool:
        """Whether a row of unknown home can be one of this table's."""
        if not 0 < len(row.values) <= len(self.columns):
            return False
        pairs = zip(self.columns, row.values, strict=False)
        if not all(self._takes(column, value) for column, value in pairs):
            return False
        mark = IDS.get(self.name)
        named = {column.name: value for column, value in zip(self.columns, row.values, strict=False)}
        if not self.has_rowid and not self._ends_as_one(row):
            return False
        if not all(like.fullmatch(str(named[name])) for name, like in LIKE.get(self.name, {}).items()):
            return False
        return mark is None or str(named.get("id", "")).startswith(mark)

    def _ends_as_one(self, row: StoredRow) -> bool:
        """Whether an entry is a row of a table without rowids, and none of an index: these end with a rowid."""
        last = row.values[-1]
        return len(row.values) == len(self.columns) and (not isinstance(last, int) or last >= EARLIEST)

    def _takes(self, column: _Column, value: SqlValue) -> bool:
        if value is None:
            return not column.needed or column.name == self.rowid
        return isinstance(value, column.types)


def salvage(path: Path, fresh: apsw.Connection) -> list[Saved]:
    """Copy what can be saved of ``path`` into the empty tables of ``fresh``, inside its transaction."""
    tables = _tables(fresh)
    old = _opened(path)
    try:
        for table in tables if old else ():
            assert old is not None
            _look(old, table)
            table.whole = _copy_by_sql(old, table, fresh)
        broken = [table for table in tables if not table.whole]
        if broken:
            _copy_by_pages(path, tables, broken, fresh)
        if old:
            _keep_counters(old, fresh)
    finally:
        if old:
            old.close()
    return [_saved(table, fresh) for table in tables]


def mend(fresh: apsw.Connection) -> dict[str, int]:
    """Put right what the losses left inconsistent; ``{what was done: how often}``."""
    done = {"conversations whose name was lost": _stub_threads(fresh)}
    with _files_stay(fresh):
        dropped = 0
        while more := _drop_orphans(fresh):
            dropped += more
    done["rows that belonged to something lost"] = dropped
    if _has(fresh, "word_marks"):  # everything is still to be indexed
        fresh.execute(
            "UPDATE word_marks SET mark = n, backlog = n FROM (SELECT coalesce(max(seq), 0) AS n FROM events)"
        )
    fresh.execute(
        "UPDATE blocks SET holder_layer = (SELECT CASE layer WHEN 'archived' THEN 'stable' ELSE layer END FROM events"
        " WHERE events.id = blocks.event) WHERE EXISTS (SELECT 1 FROM events WHERE events.id = blocks.event)"
    )
    return {what: count for what, count in done.items() if count}


def _opened(path: Path) -> apsw.Connection | None:
    try:
        return open_damaged(path, any_version=True)
    except StorageError:
        return None  # not even its first page: the leaves remain


def _tables(fresh: apsw.Connection) -> list[_Table]:
    """The tables of ours, parents before children as the schema makes them."""
    listed = _ask(fresh, "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")
    kinds = {name: (kind, bool(without)) for name, kind, without in listed}
    found = []
    for (name,) in _ask(fresh, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid"):
        kind, without = kinds[name]
        if kind != "table" or name.startswith(("sqlite_", DERIVED_PREFIX)):
            continue
        info = _ask(fresh, 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid', name)
        columns = [_Column(c, _TYPES.get(t.upper(), (object,)), bool(n), pk) for c, t, n, pk in info]
        keys = [c for c in columns if c.key]
        rowid = keys[0].name if not without and len(keys) == 1 and int in keys[0].types else ""
        found.append(_Table(name, columns, rowid, not without))
    return found


def _ask(connection: apsw.Connection, sql: str, *params: SqlValue) -> list[Row]:
    return list(connection.execute(sql, params))


def _look(old: apsw.Connection, table: _Table) -> None:
    """What the damaged file says of a table: its columns, where it begins, and how many rows its indexes know."""
    name = table.name
    with suppress(apsw.Error):
        table.stored = [row[0] for row in _ask(old, "SELECT name FROM pragma_table_info(?)", name)]
        table.root = _ask(old, "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?", name)[0][0]
    table.expected = max(_counts(old, name), default=None)


def _counts(old: apsw.Connection, table: str) -> Iterator[int]:
    """Rows as each readable index of a table counts them; not those that index only some."""
    listed = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?"
    with suppress(apsw.Error):
        for (index,) in _ask(old, f"{listed} AND (sql IS NULL OR sql NOT LIKE '% WHERE %')", table):
            with suppress(apsw.Error):
                yield _ask(old, f'SELECT count(*) FROM "{table}" INDEXED BY "{index}"')[0][0]


def _copy_by_sql(old: apsw.Connection, table: _Table, fresh: apsw.Connection) -> bool:
    """Read from the beginning, and if that breaks off, from the end; True if it did not."""
    columns = [column for column in table.columns if column.name in table.stored]
    if not columns:
        return False
    names = [column.name for column in columns]
    # texts as bytes: one that is no longer UTF-8 is kept, with marks where it is damaged
    shown = ", ".join(f'CAST("{c.name}" AS BLOB)' if c.types == (str,) else f'"{c.name}"' for c in columns)
    keys = ["rowid"] if table.has_rowid else [c.name for c in sorted(table.columns, key=lambda c: c.key) if c.key]
    whole = True
    for order in ("ASC", "DESC"):
        sort = ", ".join(f'"{key}" {order}' for key in keys)
        try:
            for row in old.execute(f'SELECT {shown} FROM "{table.name}" NOT INDEXED ORDER BY {sort}'):
                _insert(fresh, table.name, names, [_text(c, value) for c, value in zip(columns, row, strict=True)])
        except apsw.Error:
            whole = False
            continue
        return whole
    return False


def _text(column: _Column, value: SqlValue) -> SqlValue:
    return value.decode("utf-8", "replace") if column.types == (str,) and isinstance(value, bytes) else value


def _copy_by_pages(path: Path, tables: Sequence[_Table], broken: Sequence[_Table], fresh: apsw.Connection) -> None:
    with_rowid = [table for table in broken if table.has_rowid]
    without = [table for table in broken if not table.has_rowid]
    with closing(Pages(path)) as pages:
        placed: set[int] = set()
        for table in tables:
            seen, leaves = pages.tree(table.root) if table.root else (set(), [])
            placed |= seen
            if table in with_rowid:
                for leaf in leaves:
                    _adopt(fresh, [table], pages.rows(leaf))
        for leaf in pages.leaves():
            if leaf not in placed:
                _adopt(fresh, with_rowid, pages.rows(leaf))
        if without:
            _adopt(fresh, without, pages.entries())


def _adopt(fresh: apsw.Connection, tables: Sequence[_Table], rows: Iterable[StoredRow]) -> None:
    """Give each row to the first table that it fits and that takes it."""
    for row in rows:
        for table in (table for table in tables if table.fits(row)):
            names = [column.name for column in table.columns[: len(row.values)]]
            pairs = zip(names, row.values, strict=True)
            values = [row.rowid if name == table.rowid else value for name, value in pairs]
            if _insert(fresh, table.name, names, values):
                break


def _insert(fresh: apsw.Connection, table: str, names: Sequence[str], values: Sequence[SqlValue]) -> bool:
    """False if the schema does not take the row; one that is there already is left as it is."""
    shown, holes = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    try:
        fresh.execute(f'INSERT INTO "{table}" ({shown}) VALUES ({holes})', tuple(values))
    except apsw.ConstraintError as error:
        return getattr(error, "extendedresult", 0) in _THERE_ALREADY
    return True


_THERE_ALREADY = frozenset(
    {apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_ROWID}
)


def _keep_counters(old: apsw.Connection, fresh: apsw.Connection) -> None:
    """A number that was given once is never given again, also if its row is lost."""
    with suppress(apsw.Error):
        for name, last in old.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
            fresh.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))
            if not fresh.changes():
                fresh.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last))


def _saved(table: _Table, fresh: apsw.Connection) -> Saved:
    kept: int = fresh.execute(f'SELECT count(*) FROM "{table.name}"').get
    if table.expected is not None:
        return Saved(table.name, kept, max(0, table.expected - kept))
    return Saved(table.name, kept, 0 if table.whole else None)


def _stub_threads(fresh: apsw.Connection) -> int:
    """A conversation whose own row is lost still has its events: it gets one again, without its name."""
    fresh.execute(
        "INSERT INTO threads (id, scope, channel, title, created_at, updated_at)"
        " SELECT thread, scope, channel, '', min(at), max(at) FROM ("
        "  SELECT thread, scope, channel, created_at AS at FROM events"
        "  UNION ALL SELECT thread, scope, channel, accepted_at FROM inputs)"
        " WHERE thread NOT IN (SELECT id FROM threads) GROUP BY thread"
    )
    return fresh.changes()


def _drop_orphans(fresh: apsw.Connection) -> int:
    dropped = 0
    for table, column, parent, key in _references(fresh):
        fresh.execute(
            f'DELETE FROM "{table}" WHERE "{column}" IS NOT NULL AND "{column}" NOT IN (SELECT "{key}" FROM "{parent}")'
        )
        dropped += fresh.changes()
    return dropped


@contextmanager
def _files_stay(fresh: apsw.Connection) -> Iterator[None]:
    """An attachment whose event is lost must not lose its file too, as it would if somebody had deleted it."""
    if not _has(fresh, "loose_files"):
        yield
        return
    before = {row[0] for row in _ask(fresh, "SELECT hash FROM loose_files")}
    yield
    for (found,) in _ask(fresh, "SELECT hash FROM loose_files"):
        if found not in before:
            fresh.execute("DELETE FROM loose_files WHERE hash = ?", (found,))


def _has(fresh: apsw.Connection, table: str) -> bool:
    return bool(_ask(fresh, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", table))


def _references(fresh: apsw.Connection) -> Iterator[tuple[str, str, str, str]]:
    """``(table, column, table it refers to, column there)``."""
    for (name,) in _ask(fresh, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"):
        for row in _ask(fresh, 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', name):
            yield name, row[0], row[1], row[2]
