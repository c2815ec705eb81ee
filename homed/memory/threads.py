"""Threads in their table."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from homed.clock import new_id
from homed.errors import NotFound
from homed.memory import needles
from homed.memory.records import Thread
from homed.store.rows import Tx, dumps

_COLUMNS = "id, scope, channel, title, created_at, updated_at"


def create(tx: Tx, *, scope: str, channel: str, title: str, at: float) -> Thread:
    """Open a new thread."""
    thread = Thread(new_id("th"), scope, channel, title, at, at)
    tx.execute(
        f"INSERT INTO threads ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", (thread.id, scope, channel, title, at, at)
    )
    return thread


def get(tx: Tx, thread: str) -> Thread | None:
    """The thread, or None."""
    row = tx.one(f"SELECT {_COLUMNS} FROM threads WHERE id = ?", (thread,))
    return None if row is None else Thread(*row)


LOOKED_THROUGH = 100_000
"""The newest events that are searched letter by letter: some 0.3 s at worst.  Older ones are found by their words."""


def list_(
    tx: Tx,
    scopes: Collection[str],
    query: str = "",
    limit: int = 50,
    before: float | None = None,
    known: Collection[str] = (),
) -> tuple[list[Thread], bool]:
    """Threads of these scopes and no others, last used first; and whether there are more.

    ``query`` is looked for in titles and in what was said lately, without regard to ASCII case; threads in ``known``
    have been found another way.  ``before`` is the ``updated_at`` of the last one already seen.
    """
    marks = ", ".join("?" * len(scopes))
    found = "instr(lower(title), lower(?)) OR id IN (SELECT value FROM json_each(?))"
    found += " OR EXISTS (SELECT 1 FROM events e WHERE e.thread = t.id AND e.seq > ? AND e.kind IN"
    found += " ('user', 'assistant') AND instr(lower(e.text), lower(?)))"
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM threads t WHERE scope IN ({marks}) AND (? IS NULL OR updated_at < ?)"
        f" AND (? = '' OR {found}) ORDER BY updated_at DESC, id LIMIT ?",
        (
            *scopes, before, before, query, query, dumps(sorted(known)), looked_through(tx), query, limit + 1,
        ),
    )  # fmt: skip
    return [Thread(*row) for row in rows[:limit]], len(rows) > limit


def looked_through(tx: Tx) -> int:
    """The seq up to which ``list_`` does not look into what was said."""
    return int(tx.value("SELECT max(seq) FROM events") or 0) - LOOKED_THROUGH


def rename(tx: Tx, thread: str, title: str) -> None:
    """Give the thread a title.  Raises NotFound."""
    tx.execute("UPDATE threads SET title = ? WHERE id = ?", (title, thread))
    _must_exist(tx, thread)


def unname(tx: Tx, thread: str, texts: Iterable[str], names: Collection[str] = (), said: Iterable[str] = ()) -> str:
    """Take away a title that is the beginning of one of these texts, or one of these names of files: it was made of
    them (or says the same).  Also one that repeats something ``said``, whoever gave it.  Returns what it was, without
    the ellipsis; '' where it stays."""
    title = str(tx.value("SELECT title FROM threads WHERE id = ?", (thread,)) or "")
    begun = title.removesuffix("…")
    if not begun or not (
        title in names
        or any(" ".join(text.split()).startswith(begun) for text in texts)
        or needles.repeating([title], said)
    ):
        return ""
    tx.execute("UPDATE threads SET title = '' WHERE id = ?", (thread,))
    return begun


def touch(tx: Tx, thread: str, *, at: float) -> None:
    """It was used at ``at``; never moves backwards.  Raises NotFound."""
    tx.execute("UPDATE threads SET updated_at = max(updated_at, ?) WHERE id = ?", (at, thread))
    _must_exist(tx, thread)


def _must_exist(tx: Tx, thread: str) -> None:
    if tx.changes() == 0:
        raise NotFound(f"There is no thread {thread}.", hint="It may have been removed.")
