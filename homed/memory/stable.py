"""The stable layer's records (facts, summaries, capsules) in their table: found, revised, counted, thrown out.

Who wants a fact stored goes through ``facts.put``, a summary or capsule through ``capsules``: they keep the law of what
is the same.  Here is only what every record has.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields

from homed.clock import new_id
from homed.errors import Conflict, NotFound
from homed.memory import bounds
from homed.store.rows import Row, SqlValue, Tx, dumps, loads

log = logging.getLogger(__name__)

KINDS: Mapping[str, tuple[str, ...]] = {
    "summary": ("turn",),
    "fact": ("fact", "preference", "decision", "convention", "entity", "todo", "correction"),
    "capsule": ("profile", "project", "thread", "open_loops"),
}
"""Sub-kinds of each kind of record."""

CAPS: Mapping[str, int] = {"summary": 2000, "fact": 3000, "capsule": 300}
"""Records of one scope where nothing else is set (``bounds``); above, those of the least worth go."""

REVISIONS = 20
"""What a record said before is kept so often; the oldest goes."""

SHOWN_ID = 8
"""Hex digits of an id that people and models are shown."""

LONGEST = {"summary": 700, "fact": 600, "capsule": 800}
"""Characters of a text."""

TAGS = 8
RECENT = 7 * 86_400.0
"""Seconds in which a citation keeps a record from being thrown out."""


@dataclass(frozen=True, slots=True)
class Record:
    """One derived record, as it stands now.

    ``status``: active, superseded (a newer value took its place, see ``superseded_by``), archived (found worthless),
    hidden (forgotten by the model, not yet by a person), quarantined (conflicts with what is trusted more).
    ``valid_from``/``valid_until``: UTC seconds; None is open.  ``subject`` and ``object_entity`` are ids of entities.
    """

    seq: int
    id: str
    scope: str
    record: str
    kind: str
    title: str
    text: str
    key: str
    reach: str
    project: str
    observer: str
    observed: str
    level: str
    subject: str | None
    relation: str
    object: str
    object_entity: str | None
    tags: tuple[str, ...]
    importance: int
    confidence: float
    times: int
    cited: int
    cited_at: float | None
    status: str
    superseded_by: str | None
    valid_from: float | None
    valid_until: float | None
    untrusted: bool
    origin: str
    extractor: str
    recheck: bool
    revision: int
    created_at: float
    updated_at: float

    @property
    def shown_id(self) -> str:
        """The last eight digits: what is shown, and what ``find`` takes."""
        return self.id[-SHOWN_ID:]

    @property
    def confidence_word(self) -> str:
        """low (< 0.4), medium, high (≥ 0.75)."""
        return "low" if self.confidence < 0.4 else "high" if self.confidence >= 0.75 else "medium"


@dataclass(frozen=True, slots=True)
class Revision:
    """What a record said before; ``why`` it was changed then."""

    revision: int
    title: str
    text: str
    importance: int
    tags: tuple[str, ...]
    why: str
    at: float


NAMES = tuple(field.name for field in fields(Record))
COLUMNS = ", ".join(NAMES)
"""What ``from_row`` reads, in its order."""


def from_row(row: Row) -> Record:
    """A Record from a row of ``COLUMNS``."""
    found = dict(zip(NAMES, row, strict=True))
    found["tags"] = tuple(loads(found["tags"]) or ())
    found["untrusted"], found["recheck"] = bool(found["untrusted"]), bool(found["recheck"])
    return Record(**found)


def select(tx: Tx, rest: str, params: Sequence[SqlValue] = ()) -> list[Record]:
    """Records by the end of a query: ``select(tx, "scope = ? AND status = 'active' ORDER BY seq", (scope,))``."""
    return [from_row(row) for row in tx.all(f"SELECT {COLUMNS} FROM records WHERE {rest}", params)]


def get(tx: Tx, record: str) -> Record | None:
    """The record of this whole id, or None."""
    found = select(tx, "id = ?", (record,))
    return found[0] if found else None


def find(tx: Tx, scope: str, id_: str) -> Record:
    """The record of this scope that a whole id or its last eight digits name.

    Raises NotFound, and Conflict with ``candidates`` when several end so.
    """
    given = id_.strip().removeprefix("id:").lower()
    found = select(tx, "scope = ? AND id = ?", (scope, given))
    if not found and len(given) >= SHOWN_ID:
        tail = given[-SHOWN_ID:] if "_" not in given else ""
        found = select(tx, "scope = ? AND substr(id, -8) = ? ORDER BY seq", (scope, tail)) if tail else []
    if not found:
        raise NotFound(f"There is no record {id_[:40]}.", hint="Ids are the eight digits behind id: in a note.")
    if len(found) > 1:
        raise Conflict(f"Several records end in {given}.", detail={"candidates": [record.id for record in found]})
    return found[0]


def insert(tx: Tx, values: Mapping[str, SqlValue], *, at: float) -> str:
    """Store a new record of these columns (``tags`` as JSON) and return its id; the rest are the table's defaults."""
    row: dict[str, SqlValue] = {
        "id": new_id(str(values["record"])),
        "created_at": at,
        "updated_at": at,
        **_plain(values),
    }
    marks = ", ".join("?" * len(row))
    tx.execute(f"INSERT INTO records ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    return str(row["id"])


def update(tx: Tx, record: str, values: Mapping[str, SqlValue], *, at: float) -> None:
    """Set these columns, and when it was changed."""
    row = {**_plain(values), "updated_at": at}
    tx.execute(f"UPDATE records SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", (*row.values(), record))


def _plain(values: Mapping[str, SqlValue]) -> dict[str, SqlValue]:
    """Without a null, after which a text ends for SQLite's own functions; in ``tags`` it is escaped."""
    found = {name: value.replace("\0", " ") if isinstance(value, str) else value for name, value in values.items()}
    if isinstance(tags := found.get("tags"), str) and "\\u0000" in tags:
        found["tags"] = dumps([str(tag).replace("\0", " ") for tag in loads(tags) or ()])
    return found


def revise(tx: Tx, record: Record, values: Mapping[str, SqlValue], *, why: str, at: float) -> None:
    """Change what a record says (text, title, importance, tags) and keep what it said before."""
    tx.execute(
        "INSERT OR REPLACE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id, record.revision, record.title, record.text, record.importance, dumps(list(record.tags)), why,
            record.updated_at,
        ),
    )  # fmt: skip
    tx.execute("DELETE FROM revisions WHERE record = ? AND revision <= ?", (record.id, record.revision - REVISIONS))
    update(tx, record.id, {**values, "revision": record.revision + 1}, at=at)


def history(tx: Tx, record: str) -> list[Revision]:
    """What it said before, newest first."""
    rows = tx.all(
        "SELECT revision, title, text, importance, tags, why, at FROM revisions WHERE record = ?"
        " ORDER BY revision DESC",
        (record,),
    )
    return [
        Revision(revision, title, text, importance, tuple(loads(tags) or ()), why, at)
        for revision, title, text, importance, tags, why, at in rows
    ]


def cite(tx: Tx, records: Collection[str], *, at: float) -> None:
    """An answer named these: each once more."""
    tx.execute(
        "UPDATE records SET cited = cited + 1, cited_at = ? WHERE id IN (SELECT value FROM json_each(?))",
        (at, dumps(sorted(set(records)))),
    )


def list_(
    tx: Tx, scope: str, *, record: str = "", status: str = "active", limit: int = 20, before: int | None = None
) -> list[Record]:
    """Records of a scope, newest first, of one kind (``record``) or all; ``before``: the seq of the last one seen."""
    return select(
        tx,
        "scope = ? AND (? = '' OR record = ?) AND status = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (scope, record, record, status, (1 << 62) if before is None else before, limit),
    )


def evict(tx: Tx, scope: str, record: str, *, at: float, cap: int | None = None) -> list[str]:
    """Delete the least worth of one kind of record above the cap of its scope; returns the ids that went.

    What was cited within a week, and what people wrote and gave an importance of 9 or 10, goes only when there is
    nothing else.  What does not hold any more goes before what does.
    """
    most = bounds.get(tx, record, CAPS[record]) if cap is None else cap
    count = int(tx.value("SELECT count(*) FROM records WHERE scope = ? AND record = ?", (scope, record)))
    if count <= most:
        return []
    rows = tx.all(
        "SELECT coalesce(cited_at > ?, 0) OR (origin = 'manual' AND importance >= 9), status = 'active', importance,"
        " cited, updated_at, extractor = 'fallback', seq, id FROM records WHERE scope = ? AND record = ?",
        (at - RECENT, scope, record),
    )
    order = [
        (kept, active, keep_score(importance, cited, at - updated, bool(fallback)), seq, id_)
        for kept, active, importance, cited, updated, fallback, seq, id_ in rows
    ]
    gone = [row[-1] for row in heapq.nsmallest(count - most, order)]
    remove(tx, gone)
    log.info("%d %s of least worth went: there were more than %d", len(gone), record, most)
    return gone


def keep_score(importance: int, cited: int, age: float, fallback: bool) -> float:
    """What a record is worth when there are too many; ``age``: seconds since it was changed."""
    days = max(0.0, age) / 86_400
    return importance * 10 + 5 * math.log2(1 + cited) + 20 * 2 ** (-days / 30) - 5 * fallback


def remove(tx: Tx, records: Collection[str]) -> None:
    """Delete these rows with their evidence, revisions and memberships; leaves no tombstone."""
    ids = dumps(sorted(records))
    tx.execute("DELETE FROM evidence WHERE record IN (SELECT value FROM json_each(?))", (ids,))
    tx.execute("DELETE FROM records WHERE id IN (SELECT value FROM json_each(?))", (ids,))
