"""The index of words over records: facts, summaries, capsules.

Triggers put on a list what has changed, with what stands in the index of it; here the list is worked off, in the
transactions of those who changed something (``index.catch_up``) and, what one left over, in the background.
"""

from __future__ import annotations

from homed.retrieval.terms import few, joined
from homed.retrieval.words import Words
from homed.store.rows import Row, Tx, dumps

MOST = 64
"""Records of one call: some 10 ms of new ones."""

SLICE = 200_000
"""Bytes of text of one call, if there is more than one record in it: some 20 ms."""

TAKEN_OUT = 16
"""Of those so many whose earlier words are overwritten where they stand, at 2 ms each."""


def work_off(tx: Tx) -> int:
    """Bring the words of some changed records up to date, new ones first; how many, 0: none is left on the list."""
    sizes = tx.all(
        "SELECT t.seq, t.was <> '', octet_length(t.was) + coalesce(octet_length(r.text), 0) FROM record_todo t"
        " LEFT JOIN records r ON r.seq = t.seq ORDER BY t.was <> '', t.seq LIMIT ?",
        (MOST,),
    )
    chosen = [row for row in sizes if not row[1]] + [row for row in sizes if row[1]][:TAKEN_OUT]
    chosen = chosen[: few([row[2] for row in chosen], SLICE)]
    if not chosen:
        return 0
    done = tx.all(
        "SELECT seq, scope, was FROM record_todo WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY was <> '', seq",
        (dumps([row[0] for row in chosen]),),
    )
    old = [row for row in done if row[2]]
    words = Words()
    _take_out(tx, words, old)
    _put_in(tx, words, [row[0] for row in done])
    tx.many("DELETE FROM record_todo WHERE seq = ?", [(row[0],) for row in done])
    return len(done)


def _take_out(tx: Tx, words: Words, rows: list[Row]) -> None:
    for seq, scope, was in rows:
        gone = joined(words, scope, was)
        tx.execute("INSERT INTO record_index (record_index, rowid, terms) VALUES ('delete', ?, ?)", (seq, gone))
        tx.execute("UPDATE record_counts SET documents = documents - 1 WHERE scope = ?", (scope,))


def _put_in(tx: Tx, words: Words, seqs: list[int]) -> None:
    """Those of them that are still there."""
    for seq in seqs:
        row = tx.one("SELECT scope, title || char(10) || text FROM records WHERE seq = ?", (seq,))
        if row is None:
            continue
        scope, text = row
        tx.execute("INSERT INTO record_index (rowid, terms) VALUES (?, ?)", (seq, joined(words, scope, text)))
        tx.execute(
            "INSERT INTO record_counts (scope, documents) VALUES (?, 1)"
            " ON CONFLICT (scope) DO UPDATE SET documents = documents + 1",
            (scope,),
        )
