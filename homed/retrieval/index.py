"""The index of words over events: kept in the same transactions, so that what is stored is found at once.

That over records, `homed.retrieval.record_words`, is kept with it: one version of the terms, one mending."""

from __future__ import annotations

import hashlib
import logging
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from homed.errors import StorageError
from homed.memory import events
from homed.memory.records import EventKind
from homed.retrieval import record_words
from homed.retrieval.terms import few, joined
from homed.retrieval.words import Words
from homed.store import wordtables
from homed.store.rows import Row, Tx, dumps, loads

log = logging.getLogger(__name__)

STEMMER = "3.1.1"
"""The release of snowballstemmer that pyproject pins: another one may make other stems of a word."""

_MAKING = f"1 {STEMMER} {unicodedata.unidata_version}"  # the first number is of our own rules in `words`
VERSION = int.from_bytes(hashlib.blake2b(_MAKING.encode(), digest_size=6).digest(), "big")
"""Of the terms.  Another version than the file's: everything is indexed again, since only the very same terms can be
taken out of the index."""

BROKEN = -1
"""In the place of the version: the index disagrees with itself, and nothing is put into it until it is made anew."""

SLICE = 200_000
"""Bytes of text that one call of ``backfill`` looks at: some 100 ms of the writer."""

FEW = 32
"""Events whose words are overwritten one by one: some 2 ms each among 60 000."""

DROPS = 256
"""Deleted events looked at by one call of ``erase``."""

MERGED = 64
"""Pages of the index that one call of ``tidy`` rewrites.  60 000 events take 18 calls."""

_COLUMNS = "seq, scope, kind, iif(words = '', text, text || char(10) || words), data"
_INDEXED = "no_memory = 0 AND kind <> 'note'"


def catch_up(tx: Tx) -> int:
    """Index every event stored since the last time, and erase the words of those that were deleted or made private; and
    the same of records.

    Belongs into every transaction that appends, deletes or ends (no_memory) events or writes records; what one left out
    the next one does.  Returns how many were looked at.  Of many deleted ones it erases some: whoever deletes them
    calls ``erase`` and ``tidy`` until there is nothing left to do.

    An index that is damaged keeps nobody from storing: it is left alone from then on, until ``backfill`` or ``tidy``
    makes it anew.
    """
    return _unless_broken(tx, _catch_up)


def broken(tx: Tx) -> bool:
    """Whether the index was found damaged and is to be made anew."""
    return bool(tx.value("SELECT version FROM word_marks") == BROKEN)


def give_up(tx: Tx) -> None:
    """Leave the index alone from now on: it is damaged, and will be made anew."""
    tx.execute("UPDATE word_marks SET version = ?", (BROKEN,))


def _unless_broken(tx: Tx, work: Callable[[Tx], int]) -> int:
    if broken(tx):
        return 0
    _start_over_for_new_terms(tx)
    tx.execute("SAVEPOINT words")
    try:
        result = work(tx)
        tx.execute("SAVEPOINT written")  # here FTS5 writes what it has gathered, not with the COMMIT of everybody
        tx.execute("RELEASE written")
    except StorageError as error:
        if error.detail.get("reason") != "index_damaged":
            raise
        log.error("%s It is made anew soon.", error.message)
        tx.execute("ROLLBACK TO words")
        give_up(tx)
        result = 0
    tx.execute("RELEASE words")
    return result


def _catch_up(tx: Tx) -> int:
    erased = _erase(tx)
    rows = tx.all(f"SELECT {_COLUMNS}, {_INDEXED} FROM events WHERE seq > (SELECT mark FROM word_marks) ORDER BY seq")
    if rows:
        _add(tx, [row[:5] for row in rows if row[5]])
        tx.execute("UPDATE word_marks SET mark = ?", (rows[-1][0],))
    return erased + len(rows) + record_words.work_off(tx)


def backfill(tx: Tx, limit: int = 256) -> int:
    """Index some events that an earlier release stored, newest first, and count their tokens; 0: none is left.

    For the start of the daemon, again and again until it returns 0, beside everything else: a call takes the writer
    for about 100 ms.
    """
    _start_over_for_new_terms(tx)
    return _unless_broken(tx, lambda tx: _backfill(tx, limit))


def _backfill(tx: Tx, limit: int) -> int:
    sizes = tx.all(
        "SELECT octet_length(text) + octet_length(words) FROM events WHERE seq <= (SELECT backlog FROM word_marks)"
        " ORDER BY seq DESC LIMIT ?",
        (limit,),
    )
    taken = few([size for (size,) in sizes], SLICE)
    rows = tx.all(
        f"SELECT {_COLUMNS}, {_INDEXED} FROM events WHERE seq <= (SELECT backlog FROM word_marks)"
        " ORDER BY seq DESC LIMIT ?",
        (taken,),
    )
    _add(tx, [row[:5] for row in rows[:taken] if row[5]])
    events.count_tokens(tx, [row[0] for row in rows[:taken]])
    tx.execute("UPDATE word_marks SET backlog = ?", (rows[taken - 1][0] - 1 if rows else 0,))
    return taken + record_words.work_off(tx)


def waiting(tx: Tx) -> int:
    """How many events are not yet indexed."""
    return int(tx.value("SELECT count(*) FROM events, word_marks WHERE seq <= backlog OR seq > mark"))


def document(kind: str, text: str, data: Mapping[str, object]) -> str:
    """What of an event is indexed: its text and the words of its files, which stand behind it in ``text``; of a tool's
    result also the tool's name and what it was asked.
    """
    if kind != EventKind.TOOL:
        return text
    asked = data.get("args")
    return f"{data.get('name', '')} {dumps(asked) if asked else ''}\n{text}"


def reword(tx: Tx, seq: int, words: str) -> None:
    """Give an event other words of its files, and let it be found by them; in one transaction with what they are from.

    ``words`` replace those it has.  An event that is not there, or not in the index, is not put into it.
    """
    if not _unless_broken(tx, lambda tx: _reword(tx, seq, words)):
        tx.execute("UPDATE events SET words = ? WHERE seq = ?", (words, seq))  # what is made anew takes them in


def _reword(tx: Tx, seq: int, words: str) -> int:
    row = _taken_out(tx, seq)
    tx.execute("UPDATE events SET words = ? WHERE seq = ?", (words, seq))
    if row is not None:
        _add(tx, tx.all(f"SELECT {_COLUMNS} FROM events WHERE seq = ?", (seq,)))
    return 1


def retext(tx: Tx, seq: int, text: str, words: str, data: str) -> None:
    """Give an event another text (its secrets taken out), other words of its files and other data; by what stood there
    before it is found no more.  Its vectors are made anew."""
    values = (text, words, data, seq)
    if not _unless_broken(tx, lambda tx: _retext(tx, values)):
        tx.execute("UPDATE events SET text = ?, words = ?, data = ? WHERE seq = ?", values)
    tx.execute("DELETE FROM vectors WHERE kind = 'event' AND item = ?", (seq,))
    tx.execute(
        "INSERT OR REPLACE INTO vector_todo (kind, item) SELECT 'event', seq FROM events WHERE seq = ?"
        " AND no_memory = 0 AND kind <> 'note' AND layer <> 'archived'",
        (seq,),
    )


def _retext(tx: Tx, values: tuple[str, str, str, int]) -> int:
    row = _taken_out(tx, values[-1])
    tx.execute("UPDATE events SET text = ?, words = ?, data = ? WHERE seq = ?", values)
    if row is not None:
        _add(tx, tx.all(f"SELECT {_COLUMNS} FROM events WHERE seq = ?", (values[-1],)))
    return 1


def _taken_out(tx: Tx, seq: int) -> Row | None:
    """Take an event's words out of the index; None when they are not in it."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM events, word_marks WHERE seq = ? AND {_INDEXED} AND seq <= mark AND seq > backlog",
        (seq,),
    )
    if row is not None:
        _, scope, kind, text, data = row
        terms = joined(Words(), scope, document(kind, text, loads(data) or {}))
        tx.execute("INSERT INTO word_index (word_index, rowid, terms) VALUES ('delete', ?, ?)", (seq, terms))
        tx.execute("UPDATE word_counts SET documents = documents - 1 WHERE scope = ?", (scope,))
    return row


def _add(tx: Tx, rows: Sequence[Row]) -> None:
    words = Words()
    for seq, scope, kind, text, data in rows:
        terms = joined(words, scope, document(kind, text, loads(data) or {}))
        tx.execute("INSERT INTO word_index (rowid, terms) VALUES (?, ?)", (seq, terms))
        tx.execute(
            "INSERT INTO word_counts (scope, documents) VALUES (?, 1)"
            " ON CONFLICT (scope) DO UPDATE SET documents = documents + 1",
            (scope,),
        )


def erase(tx: Tx) -> int:
    """Take out some of what the triggers put on the lists (about 100 ms of it); 0: nothing is left on them.

    The terms are made again from the text, so none of them stays.  Up to ``FEW`` are overwritten where they stand.
    More are only marked as gone, which is 40 times faster, and leave the file with ``tidy``.
    """
    return _unless_broken(tx, lambda tx: _erase(tx) + record_words.work_off(tx))


def _erase(tx: Tx) -> int:
    count = int(tx.value("SELECT count(*) FROM word_drops"))
    if not count:
        return 0
    sizes = tx.all("SELECT octet_length(text) FROM word_drops ORDER BY seq LIMIT ?", (DROPS,))
    taken = few([size for (size,) in sizes], SLICE)
    rows = tx.all("SELECT seq, scope, kind, text, data FROM word_drops ORDER BY seq LIMIT ?", (taken,))
    many, words = count > FEW, Words()
    if many:
        tx.execute("INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 0)")
    for seq, scope, kind, text, data in rows:
        terms = joined(words, scope, document(kind, text, loads(data) or {}))
        tx.execute("INSERT INTO word_index (word_index, rowid, terms) VALUES ('delete', ?, ?)", (seq, terms))
        tx.execute("UPDATE word_counts SET documents = documents - 1 WHERE scope = ?", (scope,))
    tx.execute("DELETE FROM word_drops WHERE seq <= ?", (rows[taken - 1][0],))
    if many:
        tx.execute("INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', 1)")
        tx.execute("UPDATE word_marks SET untidy = 1")
    return taken


def tidy(tx: Tx) -> bool:
    """Rewrite some of the index (20 ms of it), so that words marked as gone are in no page; False: all is tidy.

    One that is damaged is made anew here, empty: so nothing of what was deleted is in it either.
    """
    going_on = _unless_broken(tx, _tidy)
    if broken(tx):
        _start_over_for_new_terms(tx)
    return bool(going_on)


def _tidy(tx: Tx) -> bool:
    state = tx.value("SELECT untidy FROM word_marks")
    if not state:
        return False
    before = tx.value("SELECT total_changes()")
    # as FTS5's documentation has it: once a negative number, which takes every segment into the merge, then on and on
    pages = MERGED if state == 2 else -MERGED
    tx.execute("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?)", (pages,))
    going_on = int(tx.value("SELECT total_changes()")) - int(before) >= 2
    tx.execute("UPDATE word_marks SET untidy = ?", (2 if going_on else 0,))
    return going_on


def _start_over_for_new_terms(tx: Tx) -> None:
    found = tx.one("SELECT version, mark FROM word_marks")
    if found is None or found[0] == VERSION:
        return
    wordtables.remake(tx)
    if found[0] != BROKEN:  # what has come since is indexed by ``catch_up``, at once
        tx.execute("UPDATE word_marks SET mark = ?1, backlog = ?1", (found[1],))
    tx.execute("UPDATE word_marks SET version = ?", (VERSION,))
