"""Records looked through: by what they are, whose they are and where they come from, a page at a time.

The scopes are a hard filter and come first.  Pages are by place (a record's own order), so that what is stored
meanwhile neither repeats nor hides a row.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from homed.errors import InvalidInput
from homed.memory import evidence, stable
from homed.memory.stable import Record
from homed.store.rows import SqlValue, Tx, dumps

Mark = Literal["source", "pointer", "manual", "none"]
Sort = Literal["newest", "importance", "cited"]

_AMONG = "(SELECT value FROM json_each(?))"
_SPAN = "EXISTS (SELECT 1 FROM evidence v WHERE v.record = records.id AND v.hash <> '')"
_ANY = "EXISTS (SELECT 1 FROM evidence v WHERE v.record = records.id)"
MARKED: dict[Mark, str] = {
    "manual": "origin = 'manual'",
    "source": f"origin <> 'manual' AND record <> 'summary' AND {_SPAN}",
    "pointer": f"origin <> 'manual' AND {_ANY} AND (record = 'summary' OR NOT {_SPAN})",
    "none": f"origin <> 'manual' AND NOT {_ANY}",
}
"""Where a record comes from, as SQL, without reading a text: each record is exactly one of them.  One whose excerpt
does not match any more stands among ``source`` here; ``mark`` reads it and says ``pointer``."""

_ORDER: dict[Sort, str] = {"newest": "seq", "importance": "importance", "cited": "cited"}


@dataclass(frozen=True, slots=True)
class Filters:
    """What is looked for; what is empty filters nothing, but ``scopes``: without one nothing is found.

    ``records``: summary, fact, capsule; ``statuses``: those of a record; ``person``: of whom it is, or who said what it
    rests on; ``since``, ``until``: when it was made, UTC seconds; ``entity``: the id of one that it names.
    """

    scopes: frozenset[str]
    records: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset({"active"})
    reach: str = ""
    project: str = ""
    person: str = ""
    entity: str = ""
    tag: str = ""
    evidence: Mark | Literal[""] = ""
    untrusted: bool | None = None
    since: float | None = None
    until: float | None = None

    def where(self) -> tuple[str, list[SqlValue]]:
        """The end of a query of ``records``, and its parameters."""
        made: list[str] = [f"scope IN {_AMONG}"]
        params: list[SqlValue] = [dumps(sorted(self.scopes))]

        def also(sql: str, *values: SqlValue) -> None:
            made.append(sql)
            params.extend(values)

        for column, wanted in (("record", self.records), ("kind", self.kinds), ("status", self.statuses)):
            if wanted:
                also(f"{column} IN {_AMONG}", dumps(sorted(wanted)))
        for column, value in (("reach", self.reach), ("project", self.project)):
            if value:
                also(f"{column} = ?", value)
        if self.person:
            said = "SELECT v.record FROM evidence v CROSS JOIN events e ON e.id = v.event WHERE e.peer = ?"
            also(f"(observed = ? OR id IN ({said}))", self.person, self.person)
        if self.entity:
            also("(subject = ? OR object_entity = ?)", self.entity, self.entity)
        if self.tag:
            also("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", self.tag)
        if self.evidence:
            also(f"({MARKED[self.evidence]})")
        if self.untrusted is not None:
            also("untrusted = ?", int(self.untrusted))
        if self.since is not None:
            also("created_at >= ?", self.since)
        if self.until is not None:
            also("created_at < ?", self.until)
        return " AND ".join(made), params


@dataclass(frozen=True, slots=True)
class Page:
    """``next``: what to give as ``before`` for the records behind these; '' when there are none.  ``of``: all that were
    found, on whatever page."""

    records: tuple[Record, ...]
    next: str
    of: int


def page(tx: Tx, filters: Filters, *, sort: Sort = "newest", before: str = "", limit: int = 50) -> Page:
    """One page: the newest made first, or the most important or the most cited, of equal ones the newest.

    Raises InvalidInput for a ``before`` that came from no page of this order.
    """
    where, params = filters.where()
    of = int(tx.value(f"SELECT count(*) FROM records WHERE {where}", params))
    column = _ORDER[sort]
    beyond = ""
    if before:
        value, seq = _place(before, sort)
        beyond = f" AND ({column}, seq) < (?, ?)"
        params = [*params, value, seq]
    found = stable.select(tx, f"{where}{beyond} ORDER BY {column} DESC, seq DESC LIMIT ?", (*params, limit + 1))
    shown = found[:limit]
    more = f"{getattr(shown[-1], column)}:{shown[-1].seq}" if len(found) > limit else ""
    return Page(tuple(shown), more, of)


def _place(before: str, sort: Sort) -> tuple[int, int]:
    value, _, seq = before.partition(":")
    try:
        place = int(value), int(seq)
    except ValueError:
        place = (-1, -1)
    if not all(0 <= one < 1 << 62 for one in place) or (sort == "newest" and place[0] != place[1]):
        raise InvalidInput("before is no place of this list.", hint="Give the next of the page before, or nothing.")
    return place


def among(tx: Tx, filters: Filters, ids: Collection[str]) -> dict[str, Record]:
    """Those of these records that pass."""
    where, params = filters.where()
    found = stable.select(tx, f"id IN {_AMONG} AND {where}", (dumps(sorted(ids)), *params))
    return {record.id: record for record in found}


def named(tx: Tx, filters: Filters, query: str) -> list[Record]:
    """The records whose id a query is, whole or its last eight digits; most often none.  Any status: who has an id
    looks for that one."""
    given = query.strip().removeprefix("id:").lower()
    if len(given) < stable.SHOWN_ID or not given.replace("_", "").isalnum():
        return []
    tail = "id = ?" if "_" in given else "substr(id, -8) = ?"
    return stable.select(tx, f"scope IN {_AMONG} AND {tail} ORDER BY seq", (dumps(sorted(filters.scopes)), given))


def mark(tx: Tx, record: Record) -> str:
    """Where it comes from, for people: manual, source (verbatim, checked just now), pointer, or ''.

    What a turn was is nobody's words, however sure it is which turn it was: a summary is never more than a pointer.
    """
    found = evidence.mark(tx, record)
    return "pointer" if record.record == "summary" and found == "source" else found
