"""A database in memory with every table, as the migrations leave it: made once, and copied for each test."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import apsw

from homed.store import migrations


@cache
def _made() -> bytes:
    connection = apsw.Connection(":memory:")
    migrations.migrate(connection, Path(":memory:"))
    made = connection.serialize("main")
    connection.close()
    return made


def migrated() -> apsw.Connection:
    """One of its own, empty."""
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", _made())
    return connection
