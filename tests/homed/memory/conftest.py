"""A transaction on a database in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from homed.memory import threads
from homed.memory.records import Thread
from homed.store.connection import Transaction
from homed.store.rows import Tx
from tests.kit.migrated import migrated


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    connection = migrated()
    connection.execute("PRAGMA foreign_keys = ON; BEGIN")
    yield connection
    connection.close()


@pytest.fixture
def tx(db: apsw.Connection) -> Tx:
    return Transaction(db, Path(":memory:"))


@pytest.fixture
def thread(tx: Tx) -> Thread:
    return threads.create(tx, scope="owner", channel="cli", title="first", at=1.0)
