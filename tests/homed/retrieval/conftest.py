"""A database in memory, and conversations in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from homed.memory import events, inputs, threads
from homed.memory.records import Event, EventKind, Input, NewEvent, NewInput
from homed.retrieval import index
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


@dataclass
class Talks:
    """Stores what is said, indexed at once."""

    tx: Tx
    open: dict[tuple[str, str], Input] = field(default_factory=dict)

    def __call__(
        self, text: str, *, scope: str = "owner", thread: str = "one", kind: EventKind = EventKind.USER, **data: object
    ) -> Event:
        given = self.turn(scope, thread)
        event = events.append(self.tx, given, NewEvent(kind, text, data), at=1.0)
        index.catch_up(self.tx)
        return event

    def turn(self, scope: str = "owner", thread: str = "one") -> Input:
        if (scope, thread) not in self.open:
            made = threads.create(self.tx, scope=scope, channel="cli", title=thread, at=1.0)
            new = NewInput(made.id, scope, "cli", "cli:owner", "owner", thread)
            accepted, _ = inputs.accept(self.tx, new, at=1.0)
            self.open[scope, thread] = inputs.begin(self.tx, accepted.id, turn=f"turn_{scope}_{thread}", at=1.0)
        return self.open[scope, thread]


@pytest.fixture
def say(tx: Tx) -> Talks:
    return Talks(tx)
