"""Databases with every table, as the migrations leave them: migrated once in this process, and copied from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import apsw

from homed.store import migrations

Migrate = Callable[[apsw.Connection, Path, Sequence[str] | None], int]


def copying(migrate: Migrate) -> Migrate:
    """``migrate`` that gives a new database its schema as a copy, a page for a page: 1 ms, not 17."""

    def copied(connection: apsw.Connection, path: Path, steps: Sequence[str] | None = None) -> int:
        if steps is None and not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get:
            with connection.backup("main", made(connection.pragma("application_id")), "main") as work:
                work.step()
        return migrate(connection, path, steps)

    @cache
    def made(application: int) -> apsw.Connection:
        connection = apsw.Connection(":memory:")
        connection.pragma("application_id", application)
        migrate(connection, Path(":memory:"), None)
        return connection

    return copied


def migrated() -> apsw.Connection:
    """A database in memory, of its own and empty."""
    connection = apsw.Connection(":memory:")
    migrations.migrate(connection, Path(":memory:"))
    return connection
