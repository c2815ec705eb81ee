"""Databases in states a person may find them in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw

from homed.store.db import open_store
from homed.store.rows import Tx


async def make_store(path: Path, *, rows: int = 200) -> None:
    """A sound, closed database with ``rows`` settings, several pages long."""

    def fill(tx: Tx) -> None:
        tx.many(
            "INSERT INTO settings (key, value, updated_at) VALUES (?, ?, 0)",
            [(f"k{n:05}", f'"{"v" * 200}"') for n in range(rows)],
        )

    async with open_store(path) as store:
        await store.write(fill)


def set_version(path: Path, version: int) -> None:
    """Say the file is of another schema version."""
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", version)
    connection.close()


def fingerprint(folder: Path) -> dict[str, str]:
    """Name and sha256 of the database and its log; neither an empty log nor the -shm file holds anything."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if not file.name.endswith("-shm") and file.stat().st_size
    }


def count(tx: Tx) -> int:
    """Rows in ``settings``."""
    found = tx.value("SELECT count(*) FROM settings")
    assert isinstance(found, int)
    return found


def put(key: str, value: str = "1") -> Callable[[Tx], None]:
    """A write function that stores one setting."""

    def write(tx: Tx) -> None:
        tx.execute("INSERT INTO settings (key, value, updated_at) VALUES (?, ?, 0)", (key, value))

    return write
