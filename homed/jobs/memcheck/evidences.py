"""Whether every record still shows where it comes from: the message is there, and the quote stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.jobs.memcheck import findings
from homed.jobs.memcheck.check import Check, Look, RowCheck, Unmended
from homed.jobs.memcheck.findings import Status, said
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Rows
from homed.memory.blocked import secret_in
from homed.memory.evidence import digest, locate
from homed.store.rows import Row, Tx

QUOTES = "pieces of evidence"

FEW = 20
"""Facts below which a share of them says nothing."""

_TOLD = "('active', 'superseded')"


def _fault(row: Row) -> str:
    """What is wrong with a quote, the first that is: ``span``, ``hash``, ``text``; '' when it stands as it was."""
    first, last, excerpt, hash_, text = row[:5]
    if first is None and last is None:
        return "span" if excerpt or hash_ else ""  # a pointer has neither
    if first is None or last is None or not 0 <= first < last <= len(text):
        return "span"
    if digest(excerpt) != hash_:
        return "hash"
    return "" if text[first:last] == excerpt else "text"


def _quotes(fault: str) -> Rows:
    return Rows(
        "evidence v JOIN events e ON e.id = v.event", ("v.id",), "v.record",
        also=("v.first", "v.last", "v.excerpt", "v.hash", "e.text", "v.event"),
        judge=lambda _, row: _fault(row) == fault, weight="octet_length(e.text) + octet_length(v.excerpt)",
    )  # fmt: skip


def _mend_quotes(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """Put the quote back from the message, or the place from the quote; what fits neither becomes a pointer.

    The message is the original and is never touched.
    """
    del room
    for id_, record, _, first, last, excerpt, hash_, text, event in rows:
        quote = _original(text, first, last, excerpt, hash_)
        if quote is not None and not secret_in(text[quote[0] : quote[1]]):
            found = text[quote[0] : quote[1]]
            tx.execute(
                "UPDATE OR IGNORE evidence SET first = ?, last = ?, excerpt = ?, hash = ? WHERE id = ?",
                (*quote, found, digest(found), id_),
            )
        else:
            tx.execute(
                "UPDATE OR IGNORE evidence SET first = NULL, last = NULL, excerpt = '', hash = '' WHERE id = ?", (id_,)
            )
            tx.execute("UPDATE records SET recheck = 1 WHERE id = ?", (record,))
        if _twice(tx, id_, event, record):
            _drop_twin(tx, id_, event, record)
    return len(rows)


def _original(text: str, first: int | None, last: int | None, excerpt: str, hash_: str) -> tuple[int, int] | None:
    """Where in the message the quote stands that was kept; None when it is nowhere."""
    inside = first is not None and last is not None and 0 <= first < last <= len(text)
    if inside and digest(text[first:last]) == hash_:  # the excerpt was changed
        return first, last  # type: ignore[return-value]
    place = locate(text, excerpt) if excerpt else None
    if place is not None and text[place[0] : place[1]] == excerpt:  # the span, or the hash, was changed
        return (first, last) if inside and text[first:last] == excerpt else place  # type: ignore[return-value]
    return None


def _twice(tx: Tx, id_: int, event: str, record: str) -> bool:
    """Whether what should have been changed is still as it was: the same place is there in another row already."""
    row = tx.one(
        "SELECT v.first, v.last, v.excerpt, v.hash, e.text FROM evidence v JOIN events e ON e.id = v.event"
        " WHERE v.id = ? AND v.event = ? AND v.record = ?",
        (id_, event, record),
    )
    return row is not None and bool(_fault(row))


def _drop_twin(tx: Tx, id_: int, event: str, record: str) -> None:
    """Of two rows that would be one the wrong one goes; what the record said before stays."""
    before = tx.all("SELECT * FROM revisions WHERE record = ?", (record,))
    tx.execute("DELETE FROM evidence WHERE id = ? AND event = ?", (id_, event))
    tx.many("INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", before)


def _set_aside(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """A source is gone.  Its quote is kept in the record's history; what rested on it alone is put in quarantine, where
    a person decides: by law nothing holds that rests on nothing, and by law nothing that was said is thrown away."""
    for id_, record, _, excerpt, known in rows:
        if known:
            tx.execute(
                "UPDATE records SET origin = 'import', status = iif(status = 'active', 'quarantined', status)"
                " WHERE id = ? AND origin = 'auto' AND (SELECT count(*) FROM evidence WHERE record = ?) = 1",
                (record, record),
            )
        before = tx.all("SELECT * FROM revisions WHERE record = ?", (record,))
        tx.execute("DELETE FROM evidence WHERE id = ?", (id_,))
        tx.many("INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", before)
        if known and excerpt:
            tx.execute(
                "INSERT OR REPLACE INTO revisions (record, revision, title, text, importance, tags, why, at)"
                " SELECT id, revision, title, ?, importance, tags, 'its source is gone; this is the quote', ?"
                " FROM records WHERE id = ?",
                (excerpt, room.now, record),
            )
            tx.execute("UPDATE records SET revision = revision + 1 WHERE id = ?", (record,))
    return len(rows)


def _quarantine(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """What may not be told is told no more, and a person sees it among what waits for a decision."""
    for _, record, *_ in rows:
        tx.execute("UPDATE records SET status = 'quarantined', updated_at = ? WHERE id = ?", (room.now, record))
    return len(rows)


def _let_go_private(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """As the trigger does when something turns out to be private: it is evidence of nothing."""
    del room
    for id_, *_ in rows:
        tx.execute("DELETE FROM evidence WHERE id = ?", (id_,))
    return len(rows)


@dataclass(frozen=True, slots=True)
class Coverage(Unmended):
    """How many records that hold show their source verbatim, point at it, were written by hand, or show none."""

    id: str = "source_coverage"
    name: str = "Where records come from"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        source, pointer, manual, none, quoted, facts = await room.store.read(_coverage)
        read = source + pointer + manual + none
        if not read:
            return Look(Status.PASS, said(findings.EMPTY, what="records"))
        evidence = said(
            "Of {n} records that hold {source} show their source verbatim, {pointer} point at it, {manual} were written"
            " by hand and {none} show none.",
            n=read, source=source, pointer=pointer, manual=manual, none=none,
        )  # fmt: skip
        if facts >= FEW and quoted * 2 < facts:
            fix = (
                "Fewer than half of the facts that a model made have a verbatim quote: let a better model do it"
                " (core.memory.extract_source)."
            )
            return Look(Status.WARN, evidence, fix, read, facts - quoted)
        return Look(Status.PASS, evidence, read=read)


def _coverage(tx: Tx) -> Row:
    span = "EXISTS (SELECT 1 FROM evidence v WHERE v.record = r.id AND v.first IS NOT NULL)"
    any_ = "EXISTS (SELECT 1 FROM evidence v WHERE v.record = r.id)"
    found = tx.one(
        f"SELECT coalesce(sum(origin <> 'manual' AND {span}), 0),"
        f" coalesce(sum(origin <> 'manual' AND {any_} AND NOT {span}), 0), coalesce(sum(origin = 'manual'), 0),"
        f" coalesce(sum(origin <> 'manual' AND NOT {any_}), 0),"
        f" coalesce(sum(record = 'fact' AND extractor = 'model' AND origin <> 'import' AND {span}), 0),"
        " coalesce(sum(record = 'fact' AND extractor = 'model' AND origin <> 'import'), 0) FROM records r"
        " WHERE status = 'active'"
    )
    assert found is not None
    return found


FROM_MESSAGE = "Repair puts back what stands in the message; what stands nowhere becomes a pointer to the message."

CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="evidence_gone", name="Evidence and its messages", what=QUOTES, fault="point to a message that is gone",
        fix="Repair keeps each quote in the record's history and sets aside what rested on it alone; look at what is in"
        " quarantine afterwards.",
        rows=Rows(
            "evidence v LEFT JOIN events e ON e.id = v.event LEFT JOIN records r ON r.id = v.record", ("v.id",),
            "v.record", "e.id IS NULL OR r.id IS NULL", also=("v.excerpt", "r.id IS NOT NULL"),
        ),
        cure=_set_aside,
    ),
    RowCheck(
        id="evidence_private", name="Evidence and privacy", what=QUOTES, fault="rest on a private message",
        fix="Repair lets them go, as homed does when a message turns private.",
        rows=Rows("evidence v JOIN events e ON e.id = v.event", ("v.id",), "v.record", "e.no_memory = 1"),
        cure=_let_go_private,
    ),
    RowCheck(
        id="evidence_scope", name="Evidence and scopes", what=QUOTES,
        fault="show what somebody else said, in another scope",
        fix="Repair puts these records in quarantine, where nobody is told them; forget them there.",
        rows=Rows(
            "evidence v JOIN events e ON e.id = v.event JOIN records r ON r.id = v.record", ("v.id",), "v.record",
            f"e.scope <> r.scope AND r.status IN {_TOLD}",
        ),
        cure=_quarantine,
    ),
    RowCheck(
        id="evidence_span", name="Places of quotes", what=QUOTES, fault="name a place outside of their message",
        fix=FROM_MESSAGE, rows=_quotes("span"), cure=_mend_quotes,
    ),
    RowCheck(
        id="evidence_hash", name="Hashes of quotes", what=QUOTES, fault="have a hash that is not that of their quote",
        fix=FROM_MESSAGE, rows=_quotes("hash"), cure=_mend_quotes,
    ),
    RowCheck(
        id="evidence_text", name="Quotes and what was said", what=QUOTES,
        fault="have a quote that does not stand in their message", fix=FROM_MESSAGE, rows=_quotes("text"),
        cure=_mend_quotes,
    ),
    RowCheck(
        id="without_evidence", name="Records without evidence", what="records", fault="rest on nothing",
        fix="Repair puts them in quarantine: keep each by editing it by hand, or forget it.",
        rows=Rows(
            "records r", ("r.seq",), "r.id",
            f"r.origin = 'auto' AND r.status IN {_TOLD}"
            " AND NOT EXISTS (SELECT 1 FROM evidence v WHERE v.record = r.id)",
        ),
        cure=_quarantine,
    ),
    Coverage(),
)  # fmt: skip
"""In this order."""
