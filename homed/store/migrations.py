"""Ordered changes of the schema.

``PRAGMA user_version`` says how many were made; it changes in the same transaction as the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import apsw

from homed.store import problems

MIGRATIONS: tuple[str, ...] = (
    "schema.sql", "window.sql", "media.sql", "plugins.sql", "memory.sql", "runtime.sql",
    "checked.sql", "forgetting.sql",
)  # fmt: skip
"""SQL files beside this module, in order.  A released one is never edited; a change is a new file at the end."""


def latest() -> int:
    """The schema version this code knows."""
    return len(MIGRATIONS)


def scripts() -> list[str]:
    """The text of every migration."""
    here = resources.files(__package__)
    return [here.joinpath(name).read_text(encoding="utf-8") for name in MIGRATIONS]


def migrate(connection: apsw.Connection, path: Path, steps: Sequence[str] | None = None) -> int:
    """Bring the file to the latest version and return it.

    Killed or failing in the middle of a step: that step is rolled back whole, those before it stay.
    """
    todo = scripts() if steps is None else list(steps)
    for number, script in enumerate(todo, start=1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.pragma("user_version") < number:
                connection.execute(script)
                connection.pragma("user_version", number)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    version = connection.pragma("user_version")
    if version > len(todo):
        raise problems.newer(path, version, len(todo))
    return len(todo)
