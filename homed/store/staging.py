"""A database of its own in which what is to be taken in is looked at first: only what the schema lets in goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from homed.store import migrations, problems
from homed.store.connection import APPLICATION_ID, Transaction
from homed.store.rows import SqlValue, Tx


class Refused(Exception):
    """The schema does not let a row in; ``args[0]`` says why, without what is in it."""


class Staging:
    """Used by one thread at a time."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self.tx: Tx = Transaction(connection, path)

    def put(self, table: str, columns: Sequence[str], row: Sequence[SqlValue]) -> None:
        """Take a row.  Raises ``Refused`` for a wrong type or range, and for a key that is there already."""
        marks = ", ".join("?" * len(columns))
        named = ", ".join(f'"{column}"' for column in columns)
        try:
            self._connection.execute(f"INSERT INTO {table} ({named}) VALUES ({marks})", tuple(row))
        except apsw.ConstraintError as error:
            raise Refused("there twice" if "UNIQUE" in str(error) else "a value of a wrong kind") from None
        except (apsw.MismatchError, apsw.TooBigError):
            raise Refused("a value of a wrong kind") from None

    def keep(self) -> None:
        """All of it to the disk, for a later process."""
        self._connection.execute("COMMIT; BEGIN")


@contextmanager
def staging(path: Path) -> Iterator[Staging]:
    """One at ``path``: made, if nothing is there.  It has the schema, without triggers and references: what names
    nothing is for the caller to find."""
    with problems.translated(path):
        fresh = not path.exists()
        path.touch(mode=0o600)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("journal_mode", "delete")
            if fresh:
                connection.pragma("application_id", APPLICATION_ID)
                migrations.migrate(connection, path)
                named = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
                for name in [row[0] for row in named]:
                    connection.execute(f"DROP TRIGGER {name}")
            connection.execute("BEGIN")
            yield Staging(connection, path)
            connection.execute("COMMIT")
        finally:
            connection.close()
