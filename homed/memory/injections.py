"""The ledger of injections: what each turn was told of what is known, by whom it was found and how sure that was.

Ids, scores and counts alone: the question is the turn's input and is read from there, so that it goes with it; a record
that has gone leaves its id.  Written in the commit that stores the turn's events, so that there is none without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from homed.store.rows import Row, SqlValue, Tx, dumps, loads

Mode = Literal["hit", "background", "snapshot"]
Band = Literal["immediate", "working", "background"]

EVENT = "event"
"""In the place of a record's kind: what was said and is told as a note."""

MOST_LINES = 64
"""Lines of one row; a block has a dozen."""

PAGE = 100

_COLUMNS = "seq, turn, scope, thread, at, mode, chars, ms, late, below, cut, channels"
_LINE = "id, record, revision, band, why, score, relevance, evidence, chars, shortened"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that a turn was told, in the order they stood.

    ``id``: of a record, or of an event (``record`` is then ``event``); ``revision`` 0 for an event.  ``why``: hit,
    active (of the Active Window), graph (a name led to it), latest (told because the question was short), cold (an
    event beyond what is shown).  ``score`` is what it was ranked by, ``relevance`` that of the gate; ``evidence`` the
    mark it was shown with: manual, source, pointer or ''.  ``chars`` of the line; ``shortened``: its text was cut.
    """

    id: str
    record: str
    revision: int = 0
    band: Band = "working"
    why: str = "hit"
    score: float = 0.0
    relevance: float = 0.0
    evidence: str = ""
    chars: int = 0
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class Injection:
    """What one turn was told.  ``at``: UTC seconds; ``chars``: of all of it, with headers; ``ms`` that finding it took.

    ``late``: sources that came too late or failed; ``below``: found, but not relevant enough; ``cut``: had no room;
    ``channels``: how many of the records each channel of the ranker found.  ``seq`` orders them, 0 until it is stored.
    """

    turn: str
    scope: str
    thread: str
    at: float
    mode: Mode
    chars: int
    ms: float = 0.0
    late: tuple[str, ...] = ()
    below: int = 0
    cut: int = 0
    channels: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    seq: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Lines by kind of record: ``{"summary": 1, "fact": 3}``; kinds without any are left out."""
        return counts_of(self.lines)


def counts_of(lines: Sequence[Line]) -> dict[str, int]:
    """How many lines there are of each kind of record that has any."""
    found: dict[str, int] = {}
    for line in lines:
        found[line.record] = found.get(line.record, 0) + 1
    return found


def record(tx: Tx, told: Injection) -> bool:
    """Store what a turn was told; False where nothing is stored: there were no lines, its thread is being removed, or
    a row of the turn tells the very same records (a turn that must make room, or was cut off, selects once more)."""
    if not told.lines or not tx.value("SELECT 1 FROM threads WHERE id = ? AND scope <> ''", (told.thread,)):
        return False
    if any(_told(before) == _told(told)[:MOST_LINES] for before in of_turn(tx, told.turn)):
        return False
    row = tx.one(
        "INSERT INTO injections (turn, scope, thread, at, mode, chars, ms, late, below, cut, channels)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        (
            told.turn, told.scope, told.thread, told.at, told.mode, told.chars, round(told.ms, 2),
            dumps(list(told.late)), told.below, told.cut, dumps(dict(told.channels)),
        ),
    )  # fmt: skip
    assert row is not None
    tx.many(
        f"INSERT INTO injected (injection, place, {_LINE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                row[0], place, one.id, one.record, one.revision, one.band, one.why, round(one.score, 4),
                round(one.relevance, 4), one.evidence, one.chars, int(one.shortened),
            )
            for place, one in enumerate(told.lines[:MOST_LINES])
        ],
    )  # fmt: skip
    return True


def of_turn(tx: Tx, turn: str) -> list[Injection]:
    """What a turn was told: one row as a rule, more where it had to select anew; the oldest first."""
    return _read(tx, "turn = ? ORDER BY seq", (turn,))


def of_turns(tx: Tx, turns: Collection[str]) -> dict[str, Injection]:
    """The last row of each of these turns that was told something."""
    found = _read(tx, "turn IN (SELECT value FROM json_each(?)) ORDER BY seq", (dumps(sorted(turns)),))
    return {one.turn: one for one in found}


def of_record(tx: Tx, record_id: str, *, limit: int = PAGE, before: int | None = None) -> list[Injection]:
    """Where a record (or an event) was told, newest first, each with all of its lines; whole ids only.

    The caller has made sure that the record may be seen.  ``before``: the seq of the last row it has.
    """
    return _read(
        tx,
        "seq IN (SELECT injection FROM injected WHERE id = ? AND injection < ?) ORDER BY seq DESC LIMIT ?",
        (record_id, _seq(before), limit),
    )


def of_scopes(
    tx: Tx, scopes: Collection[str], *, thread: str = "", limit: int = PAGE, before: int | None = None
) -> list[Injection]:
    """What turns of these scopes (of one ``thread``) were told, newest first; ``before`` as of ``of_record``."""
    if thread:
        return _read(
            tx,
            "thread = ? AND +scope IN (SELECT value FROM json_each(?)) AND seq < ? ORDER BY seq DESC LIMIT ?",
            (thread, dumps(sorted(scopes)), _seq(before), limit),
        )
    newest = "SELECT seq FROM injections WHERE scope = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
    found = [seq for scope in scopes for (seq,) in tx.all(newest, (scope, _seq(before), limit))]
    return by_seq(tx, sorted(found)[-limit:])  # from each scope's own: among all, every row would be sorted


def by_seq(tx: Tx, seqs: Collection[int]) -> list[Injection]:
    """These rows, newest first."""
    return _read(tx, "seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC", (dumps(sorted(seqs)),))


def told_in(tx: Tx, thread: str, ids: Collection[str]) -> set[str]:
    """Those of these records that turns of the thread were told of; whole ids."""
    rows = tx.all(  # each id by itself: a conversation of years has more lines than an answer has time
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM injected l CROSS JOIN injections i"
        " ON i.seq = l.injection WHERE l.id = value AND i.thread = ?)",
        (dumps(sorted(ids)), thread),
    )
    return {str(id_) for (id_,) in rows}


def questions(tx: Tx, turns: Collection[str]) -> dict[str, str]:
    """What these turns were asked, as it is stored now: '' once that was forgotten, and of what was private from the
    beginning.  Nowhere is it kept twice."""
    rows = tx.all(
        "SELECT t.id, iif(i.no_memory, '', i.text) FROM turns t JOIN inputs i ON i.id = t.input"
        " WHERE t.id IN (SELECT value FROM json_each(?))",
        (dumps(sorted(turns)),),
    )
    return {str(turn): str(text) for turn, text in rows}


def words(tx: Tx, told: Collection[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """What these records said at these revisions, as far as their history goes back; not what they say now."""
    rows = tx.all(
        "SELECT v.record, v.revision, v.text FROM json_each(?) w"
        " JOIN revisions v ON v.record = w.value ->> 0 AND v.revision = w.value ->> 1",
        (dumps([list(one) for one in sorted(told)]),),
    )
    return {(str(record), int(revision)): str(text) for record, revision, text in rows}


def gone(tx: Tx, ids: Collection[str]) -> set[str]:
    """Of these ids of records and events those that are nowhere any more: they are shown as deleted."""
    listed = dumps(sorted(ids))
    rows = tx.all(
        "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = value)"
        " AND NOT EXISTS (SELECT 1 FROM events WHERE id = value)",
        (listed,),
    )
    return {str(id_) for (id_,) in rows}


def older(tx: Tx, before: float, limit: int) -> list[int]:
    """The seqs of rows that were made before this time, UTC seconds."""
    return [seq for (seq,) in tx.all("SELECT seq FROM injections WHERE at < ? LIMIT ?", (before, limit))]


def drop(tx: Tx, seqs: Collection[int]) -> None:
    """Delete these rows with their lines."""
    tx.execute("DELETE FROM injections WHERE seq IN (SELECT value FROM json_each(?))", (dumps(sorted(seqs)),))


def _told(one: Injection) -> list[tuple[str, int]]:
    return [(line.id, line.revision) for line in one.lines]


def _seq(before: int | None) -> int:
    return 1 << 62 if before is None else before


def _read(tx: Tx, where: str, params: tuple[SqlValue, ...]) -> list[Injection]:
    rows = tx.all(f"SELECT {_COLUMNS} FROM injections WHERE {where}", params)
    lines: dict[int, list[Line]] = {row[0]: [] for row in rows}
    found = tx.all(
        f"SELECT injection, {_LINE} FROM injected WHERE injection IN (SELECT value FROM json_each(?))"
        " ORDER BY injection, place",
        (dumps(sorted(lines)),),
    )
    for row in found:
        lines[row[0]].append(_line(row[1:]))
    return [_from_row(row, tuple(lines[row[0]])) for row in rows]


def _line(row: Row) -> Line:
    id_, record, revision, band, why, score, relevance, evidence, chars, shortened = row
    return Line(id_, record, revision, band, why, score, relevance, evidence, chars, bool(shortened))


def _from_row(row: Row, lines: tuple[Line, ...]) -> Injection:
    seq, turn, scope, thread, at, mode, chars, ms, late, below, cut, channels = row
    return Injection(
        turn, scope, thread, at, mode, chars, ms, tuple(loads(late) or ()), below, cut, loads(channels) or {}, lines,
        seq,
    )  # fmt: skip
