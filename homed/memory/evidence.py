"""Where records come from: pieces of events, with a hash of what stood there, so that each can be checked."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from homed.memory import bounds, tombstones
from homed.memory import events as event_table
from homed.memory.blocked import cleaned, secret_in
from homed.memory.records import Event
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps

LONGEST = 1600
"""Characters of one excerpt where nothing else is set (``bounds``); of a longer quote its beginning is kept."""

AROUND = 200
"""Characters on each side of a quote that tell whether it is a part of a secret."""

OK, MISMATCH, MISSING = "ok", "mismatch", "missing"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``first`` up to, without, ``last`` of the text of an event."""

    event: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """An event without a place in it: the words are not verbatim there."""

    event: str


Evidence = Span | Pointer


@dataclass(frozen=True, slots=True)
class Item:
    """One stored piece of evidence.  ``first`` None: a pointer.  ``state``: ok, mismatch, missing; '' for a pointer."""

    id: int
    event: str
    first: int | None
    last: int | None
    excerpt: str
    at: float
    state: str


def digest(text: str) -> str:
    """sha256 of an excerpt, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find(event: Event, quote: str) -> Evidence:
    """Where ``quote`` stands in the event, blanks of any kind and number being one; a Pointer when it does not.

    The span is of the event's own characters, so the excerpt may have other blanks than the quote.
    """
    place = locate(event.text, quote)
    return Pointer(event.id) if place is None else Span(event.id, *place)


def locate(text: str, quote: str) -> tuple[int, int] | None:
    """First and last+1 character of ``quote`` in ``text``, blanks aside; None when it is not there verbatim."""
    words = quote.split()
    if not words:
        return None
    exact = text.find(quote.strip())
    if exact >= 0:
        return exact, exact + len(quote.strip())
    plain, places = _squeezed(text)
    at = plain.find(" ".join(words))
    return None if at < 0 else (places[at], places[at + len(" ".join(words)) - 1] + 1)


def _squeezed(text: str) -> tuple[str, list[int]]:
    """The text with every run of blanks as one, and where each of its characters stood."""
    made: list[str] = []
    places: list[int] = []
    for at, one in enumerate(text):
        if not one.isspace():
            made.append(one)
            places.append(at)
        elif made and made[-1] != " ":
            made.append(" ")
            places.append(at)
    return "".join(made), places


def usable(tx: Tx, scope: str, given: Iterable[Evidence]) -> tuple[list[tuple[Evidence, Event]], dict[str, int]]:
    """Those pieces that may stand behind a record of this scope, with their events; and why others may not.

    Dropped, with a count each: ``missing`` (no such event in this scope), ``no_memory``, ``forgotten`` (a tombstone of
    the event), ``span`` (outside of its text).  The scope is a hard filter: another's events are not seen at all.
    """
    pieces = list(dict.fromkeys(given))
    wanted = dumps(sorted({piece.event for piece in pieces}))
    rows = tx.all(
        f"SELECT {event_table.COLUMNS} FROM events WHERE id IN (SELECT value FROM json_each(?)) AND +scope = ?"
        f" AND {event_table.NOT_REMOVED}",
        (wanted, scope),
    )
    found = {event.id: event for event in map(event_table.from_row, rows)}
    gone = tombstones.events(tx, scope, found)
    kept: list[tuple[Evidence, Event]] = []
    drops: dict[str, int] = {}
    for piece in pieces:
        event = found.get(piece.event)
        why = _unusable(piece, event, gone)
        if why or event is None:
            drops[why] = drops.get(why, 0) + 1
        else:
            kept.append((piece, event))
    return kept, drops


def _unusable(piece: Evidence, event: Event | None, gone: Collection[str]) -> str:
    if event is None:
        return "missing"
    if event.no_memory:
        return "no_memory"
    if event.id in gone:
        return "forgotten"
    if isinstance(piece, Span) and not 0 <= piece.first < piece.last <= len(event.text):
        return "span"
    return ""


def add(tx: Tx, record: str, given: Sequence[tuple[Evidence, Event]], *, at: float) -> int:
    """Put these behind the record; returns how many events are new to it.

    The same place twice is one.  A piece that holds a secret becomes a pointer: the excerpt is not copied.  A pointer
    to an event that has a span already adds nothing.
    """
    known = {event for (event,) in tx.all("SELECT DISTINCT event FROM evidence WHERE record = ?", (record,))}
    new = {event.id for _, event in given} - known
    longest = bounds.get(tx, bounds.EXCERPT, LONGEST)
    held: set[str] = set()
    for piece, event in given:
        if isinstance(piece, Span):
            held.add(event.id)
            excerpt = event.text[piece.first : piece.last][:longest]
            secret = _secret(event.text, piece.first, excerpt)
            _insert(tx, record, Pointer(event.id) if secret else piece, "" if secret else excerpt, at)
    for piece, event in given:
        if isinstance(piece, Pointer) and event.id in new - held:
            _insert(tx, record, piece, "", at)
    return len(new)


def _secret(text: str, first: int, excerpt: str) -> bool:
    """Whether an excerpt holds a secret or a part of one: a quote may begin behind the word that tells it is one, or in
    the middle of a number."""
    around = text[max(0, first - AROUND) : first + len(excerpt) + AROUND]
    return bool(secret_in(excerpt)) or excerpt not in cleaned(around)


def _insert(tx: Tx, record: str, piece: Evidence, excerpt: str, at: float) -> None:
    first, last = (piece.first, piece.first + len(excerpt)) if isinstance(piece, Span) else (None, None)
    tx.execute(
        "INSERT OR IGNORE INTO evidence (record, event, first, last, excerpt, hash, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (record, piece.event, first, last, excerpt, digest(excerpt) if excerpt else "", at),
    )


def items(tx: Tx, record: str) -> list[Item]:
    """Everything behind a record, oldest first, each checked against its event and its hash."""
    rows = tx.all(
        "SELECT v.id, v.event, v.first, v.last, v.excerpt, v.hash, v.at, e.text FROM evidence v"
        " LEFT JOIN events e ON e.id = v.event WHERE v.record = ? ORDER BY v.id",
        (record,),
    )
    return [
        Item(id_, event, first, last, excerpt, at, _state(first, last, excerpt, hash_, text))
        for id_, event, first, last, excerpt, hash_, at, text in rows
    ]


def _state(first: int | None, last: int | None, excerpt: str, hash_: str, text: str | None) -> str:
    if text is None:
        return MISSING
    if first is None or last is None:
        return ""
    return OK if excerpt == text[first:last] and digest(excerpt) == hash_ else MISMATCH


def check(tx: Tx, record: str) -> str:
    """``ok``: every span holds what its hash says, and there is one; ``mismatch``: one does not; ``missing``: no span
    (pointers only, or nothing), or an event is gone."""
    states = [item.state for item in items(tx, record)]
    if MISMATCH in states:
        return MISMATCH
    return OK if OK in states and MISSING not in states else MISSING


def mark(tx: Tx, record: Record) -> str:
    """What a note says of where it comes from: ``manual``, ``source`` (verbatim and checked), ``pointer``, or ''."""
    if record.origin == "manual":
        return "manual"
    found = items(tx, record.id)
    if not found:
        return ""
    return "source" if check(tx, record.id) == OK else "pointer"


def latest(given: Iterable[tuple[Evidence, Event]]) -> float | None:
    """When the newest of these was said, UTC seconds; None of nothing."""
    return max((event.created_at for _, event in given), default=None)
