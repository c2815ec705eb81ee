"""However long texts are, a call of what works in the background reads about a slice of them, not a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from homed.retrieval import index, record_words
from homed.store.connection import Transaction
from homed.store.rows import Row
from tests.homed.retrieval.conftest import Talks

LONG = "heron " * (index.SLICE // 6)
MANY = 20


class Counting(Transaction):
    """Counts the characters that it gives out."""

    read = 0

    def all(self, sql: str, parameters: Any = ()) -> list[Row]:
        rows = super().all(sql, parameters)
        self.read += sum(len(value) for row in rows for value in row if isinstance(value, str))
        return rows


def test_of_long_deleted_events_those_are_read_that_are_erased(db: apsw.Connection, say: Talks) -> None:
    for _ in range(MANY):
        say(LONG)
    tx = Counting(db, Path(":memory:"))
    tx.execute("DELETE FROM events")
    assert 0 < index.erase(tx) < 3
    assert tx.read < 3 * index.SLICE
    while index.erase(tx):
        pass
    assert tx.value("SELECT count(*) FROM word_drops") == 0


def test_of_long_events_of_an_earlier_release_those_are_read_that_are_indexed(db: apsw.Connection, say: Talks) -> None:
    for _ in range(MANY):
        say(LONG)
    tx = Counting(db, Path(":memory:"))
    tx.execute("UPDATE word_marks SET version = 0")
    assert 0 < index.backfill(tx) < 3
    assert tx.read < 3 * index.SLICE
    while index.backfill(tx):
        pass
    assert index.waiting(tx) == 0


def test_long_records_take_the_writer_for_a_slice_at_a_time(db: apsw.Connection) -> None:
    tx = Counting(db, Path(":memory:"))
    tx.many(
        "INSERT INTO records (id, scope, record, kind, title, text, key, origin, extractor, created_at, updated_at)"
        " VALUES (?1, 'owner', 'fact', 'fact', '', ?2, ?1, 'manual', 'manual', 1, 1)",
        [(f"r{n}", LONG) for n in range(MANY)],
    )
    calls = [0]
    while done := record_words.work_off(tx):
        assert done < 3
        calls.append(done)
    assert sum(calls) == MANY
    tx.execute("DELETE FROM records")
    tx.read = 0
    assert 0 < record_words.work_off(tx) < 3
    assert tx.read < 3 * index.SLICE
    while record_words.work_off(tx):
        pass
    assert tx.value("SELECT count(*) FROM record_todo") == 0
