"""The tables of the word index: they hold nothing of their own, so what is wrong with them is no reason to stop."""

from __future__ import annotations

from homed.store.rows import Tx

_TABLES = ("word_terms", "word_index")


def remake(tx: Tx) -> bool:
    """Make the index anew, empty, with everything in it still to be indexed; False where there is none yet.

    Nothing of the old one is read.  Raises StorageError when even its pages are damaged.
    """
    made: dict[str, str] = dict(tx.all("SELECT name, sql FROM sqlite_schema WHERE name IN (?, ?)", _TABLES))
    if len(made) < len(_TABLES):
        return False
    for name in _TABLES:
        tx.execute(f"DROP TABLE {name}")
    for name in reversed(_TABLES):
        tx.execute(made[name])
    tx.execute("INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1)")
    tx.execute("DELETE FROM word_counts")
    tx.execute("DELETE FROM word_drops")
    tx.execute("UPDATE word_marks SET backlog = mark, untidy = 0")
    return True
