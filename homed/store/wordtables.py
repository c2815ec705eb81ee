"""The tables of the word indexes: they hold nothing of their own, so what is wrong with them is no reason to stop."""

from __future__ import annotations

from homed.store.rows import Tx

_INDEXES = ("word_index", "record_index")
_TABLES = ("word_terms", "record_terms", *_INDEXES)


def remake(tx: Tx) -> bool:
    """Make the indexes anew, empty, with everything in them still to be indexed; False where there are none yet.

    Nothing of the old one is read.  Raises StorageError when even its pages are damaged.
    """
    made: dict[str, str] = dict(tx.all("SELECT name, sql FROM sqlite_schema WHERE name IN (?, ?, ?, ?)", _TABLES))
    if len(made) < len(_TABLES):
        return False
    for name in _TABLES:
        tx.execute(f"DROP TABLE {name}")
    for name in reversed(_TABLES):
        tx.execute(made[name])
    for name in _INDEXES:
        tx.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('secure-delete', 1)")
    tx.execute("DELETE FROM word_counts")
    tx.execute("DELETE FROM word_drops")
    tx.execute("UPDATE word_marks SET backlog = mark, untidy = 0")
    tx.execute("DELETE FROM record_counts")
    tx.execute("DELETE FROM record_todo")
    tx.execute("INSERT INTO record_todo SELECT seq, scope, '' FROM records")
    return True
