"""Where a text stands, and what was said in a time: the ids of what somebody who wants it forgotten means."""

from __future__ import annotations

from dataclasses import dataclass

from homed.store.rows import SqlValue, Tx, dumps

MOST = 500
"""Ids of each kind that one look gives."""


@dataclass(frozen=True, slots=True)
class Held:
    """Ids, the oldest first; ``more``: there are others, of whom the next look tells once these are gone.  ``first``,
    ``last``: when the events were said, UTC seconds.  ``elsewhere``: (table, column, rows) of all else that holds the
    text: mostly what goes with these, and what no forgetting of these takes."""

    events: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    more: bool = False
    first: float | None = None
    last: float | None = None
    elsewhere: tuple[tuple[str, str, int], ...] = ()

    def wire(self) -> dict[str, object]:
        """As ``admin.memory_find`` answers."""
        return {
            "events": list(self.events), "records": list(self.records), "entities": list(self.entities),
            "more": self.more, "first": self.first, "last": self.last,
            "elsewhere": [dict(zip(("table", "column", "count"), one, strict=True)) for one in self.elsewhere],
        }  # fmt: skip


def find(tx: Tx, text: str, since: float | None = None, until: float | None = None) -> Held:
    """Events and records that hold ``text`` ('' is in all), of a time if one is given, in every scope.

    Reads every text, some 100 ms for 100 000: for who means to forget.  Records that rest on such an event are not
    among them: they go with it.  Of a time alone only what a person wrote by hand then, besides.
    """
    when, times = _when(since, until)
    said = f"SELECT id FROM events WHERE scope <> '' AND {_holds(('text', 'words'))}{when} ORDER BY seq"
    events, over = _ids(tx, said, [_variants(text), *times])
    by_hand = "" if text else " AND origin = 'manual'"
    records, more = _ids(
        tx, f"SELECT id FROM records WHERE ({_RECORDS if text else '1'}){when}{by_hand} ORDER BY seq",
        [*([_variants(text)] * 3 if text else []), *times],
    )  # fmt: skip
    entities, others = ((), False) if not text or times else _ids(
        tx, f"SELECT id FROM entities WHERE {_holds(('name',))} OR id IN (SELECT entity FROM entity_names WHERE"
        f" substr(key, 1, 1) <> '@' AND {_holds(('entity_names.name',))}) ORDER BY seq", [_variants(text)] * 2
    )  # fmt: skip
    first, last = tx.all(
        "SELECT min(created_at), max(created_at) FROM events WHERE id IN (SELECT value FROM json_each(?))",
        (dumps(list(events)),),
    )[0]
    return Held(events, records, entities, over or more or others, first, last, elsewhere(tx, text) if text else ())


def elsewhere(tx: Tx, text: str) -> tuple[tuple[str, str, int], ...]:
    """(table, column, rows) wherever else in our own tables a text stands: what is found by its id is left out."""
    columns = tx.all(
        "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c WHERE t.schema = 'main'"
        " AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT' ORDER BY 1, 2"
    )
    found = []
    for table, column in columns:
        if (table, column) not in _BY_ID:
            holds = _holds((f'"{table}"."{column}"',))
            if count := tx.value(f'SELECT count(*) FROM "{table}" WHERE {holds}', (_variants(text),)):
                found.append((str(table), str(column), int(count)))
    return tuple(found)


_BY_ID = frozenset({
    ("events", "text"), ("events", "words"), ("records", "text"), ("records", "title"), ("records", "object"),
    ("records", "tags"), ("revisions", "text"), ("revisions", "title"), ("revisions", "tags"), ("evidence", "excerpt"),
    ("entities", "name"), ("entity_names", "name"), ("entity_names", "key"),
})  # fmt: skip
"""Columns that ``find`` names the rows of."""


def _ids(tx: Tx, sql: str, params: list[SqlValue]) -> tuple[tuple[str, ...], bool]:
    rows = tx.all(f"{sql} LIMIT {MOST + 1}", params)
    return tuple(str(id_) for (id_,) in rows[:MOST]), len(rows) > MOST


def _holds(columns: tuple[str, ...]) -> str:
    """SQLite's own ``lower`` knows ASCII alone, so a text is looked for as it may be written."""
    found = " OR ".join(f"instr({column}, value) OR instr(lower({column}), lower(value))" for column in columns)
    return f"EXISTS (SELECT 1 FROM json_each(?) WHERE {found})"


_RECORDS = (
    f"{_holds(('text', 'title', 'object', 'tags'))}"
    f" OR id IN (SELECT record FROM revisions WHERE {_holds(('text', 'title', 'tags'))})"
    f" OR id IN (SELECT record FROM evidence WHERE {_holds(('excerpt',))})"
)
"""What a record says, what it said before, and the words that are kept of where it comes from."""


def _variants(text: str) -> str:
    return dumps(list(dict.fromkeys([text, text.lower(), text.upper(), text.capitalize(), text.title()])))


def _when(since: float | None, until: float | None) -> tuple[str, list[SqlValue]]:
    sql, params = "", []
    for bound, sign in ((since, ">="), (until, "<")):
        if bound is not None:
            sql += f" AND created_at {sign} ?"
            params.append(bound)
    return sql, list[SqlValue](params)
