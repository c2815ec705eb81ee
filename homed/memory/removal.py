"""Removing a thread for good: first nobody sees it any more, then its rows go bit by bit, so that others write between.

A thread without a scope is one that is being removed: no peer's scope is empty, so none finds it, and a start that
finds one knows what a crash cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from homed.errors import NotFound
from homed.memory import forget
from homed.store.rows import Tx, dumps

ROWS = 256
"""Rows that one call of ``remove_some`` takes: some 50 ms of the writer."""

BYTES = 1_000_000
"""Bytes of text after which it takes no further event: SQLite overwrites what it deletes."""


def size(tx: Tx, thread: str) -> tuple[int, int]:
    """Events and files of a thread."""
    events = int(tx.value("SELECT count(*) FROM events WHERE thread = ?", (thread,)))
    files = tx.value(
        "SELECT count(*) FROM (SELECT b.hash FROM events e JOIN blocks b ON b.event = e.id WHERE e.thread = ?1"
        " UNION SELECT u.hash FROM inputs i JOIN uploads u ON u.input = i.id WHERE i.thread = ?1)",
        (thread,),
    )
    return events, int(files)


def hide(tx: Tx, thread: str) -> None:
    """From here on the thread is nobody's, has no name and no rule, and nothing in it waits or is taken up again.

    Raises NotFound.
    """
    tx.execute("UPDATE threads SET scope = '', title = '' WHERE id = ? AND scope <> ''", (thread,))
    if not tx.changes():
        raise NotFound(f"There is no thread {thread}.", hint="It may have been removed.")
    tx.execute("DELETE FROM rules WHERE thread = ?", (thread,))
    unfinished = "SELECT id FROM inputs WHERE thread = ? AND outcome IS NULL"
    _remove_turns(tx, _ids(tx, f"SELECT id FROM turns WHERE input IN ({unfinished})", thread))
    _remove_inputs(tx, _ids(tx, unfinished, thread))


def hidden(tx: Tx) -> list[str]:
    """Threads that are being removed."""
    return [str(thread) for (thread,) in tx.all("SELECT id FROM threads WHERE scope = '' ORDER BY id")]


def remove_some(tx: Tx, thread: str) -> bool:
    """Remove some of a hidden thread; False once nothing of it is left.

    The words of the index go with ``index.erase`` and ``index.tidy``, the bytes of files with ``Uploads.collect``.
    """
    for query, remove in _STEPS:
        if ids := _ids(tx, f"{query} LIMIT {ROWS}", thread):
            remove(tx, ids)
            return True
    if ids := _events(tx, thread):
        _remove_events(tx, ids)
        return True
    tx.execute("DELETE FROM threads WHERE id = ? AND scope = ''", (thread,))
    return False


def _events(tx: Tx, thread: str) -> list[str]:
    rows = tx.all(f"SELECT id, octet_length(text) FROM events WHERE thread = ? ORDER BY seq LIMIT {ROWS}", (thread,))
    taken, room = 0, BYTES
    while taken < len(rows) and room > 0:
        room -= rows[taken][1]
        taken += 1
    return [str(id_) for id_, _ in rows[:taken]]


def _remove_events(tx: Tx, ids: Sequence[str]) -> None:
    """With what was derived from them alone."""
    forget.remove_events(tx, ids, at=float(tx.value("SELECT unixepoch('subsec')")))


def _remove_turns(tx: Tx, ids: Sequence[str]) -> None:
    _delete(tx, "accesses", "turn", ids)
    _delete(tx, "turns", "id", ids)


def _remove_inputs(tx: Tx, ids: Sequence[str]) -> None:
    _delete(tx, "uploads", "input", ids)
    _delete(tx, "inputs", "id", ids)


def _remove_records(tx: Tx, seqs: Sequence[str]) -> None:
    _delete(tx, "ledger", "seq", seqs)


_STEPS: tuple[tuple[str, Callable[[Tx, Sequence[str]], None]], ...] = (
    ("SELECT id FROM turns WHERE thread = ?", _remove_turns),
    ("SELECT seq FROM ledger WHERE thread = ?", _remove_records),
    ("SELECT id FROM inputs WHERE thread = ?", _remove_inputs),
)
"""What names a row of another table goes before it.  Turns first: without them nothing in it is found or resumed."""


def _ids(tx: Tx, query: str, thread: str) -> list[str]:
    return [row[0] for row in tx.all(query, (thread,))]


def _delete(tx: Tx, table: str, column: str, ids: Sequence[str]) -> None:
    if ids:
        tx.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (dumps(list(ids)),))
