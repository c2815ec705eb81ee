"""Whether a database has the tables, indexes, triggers and views that a release of ours made, and no others.

A trigger or a view is a program; what is opened from a backup runs none that is not ours.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import apsw

from homed.store import migrations

Layout = dict[tuple[str, str], str]
"""By kind and name how each was made, without comments and blanks; SQLite's own statistics aside."""

_PIECES = re.compile(r"--[^\n]*|/\*.*?\*/|\s+|('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+|.)", re.DOTALL)


def layout(db: apsw.Connection) -> Layout:
    """That of an open database.  Only reads: nothing in it runs."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    return {(str(type_), str(name)): _plain(str(sql)) for type_, name, sql in rows}


def of_version(version: int) -> Layout:
    """That of schema ``version`` as our migrations make it."""
    with closing(apsw.Connection(":memory:")) as db:
        migrations.migrate(db, Path(":memory:"), migrations.scripts()[:version])
        return layout(db)


def difference(found: Layout, wanted: Layout) -> str:
    """What is in one and not, or otherwise, in the other: "trigger x" for the first of them, '' when they are alike."""
    for kind, name in sorted(found.keys() | wanted.keys()):
        if found.get((kind, name)) != wanted.get((kind, name)):
            return f"{kind} {name}"
    return ""


def _plain(sql: str) -> str:
    """The statement's words alone: one that was only commented or laid out anew is the same."""
    return " ".join(piece for piece in _PIECES.findall(sql) if piece)
