"""What of memory can be carried elsewhere, and how a row is a line of JSON.  Pure.

Vectors and indexes are not: they are made anew.  Nor are inputs, turns and the ledger, which tell how a daemon worked,
and no longer matter to what is remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from homed.store.rows import Row, SqlValue, dumps

FORMAT, VERSION = "homed memory", 1

LONGEST = 32 * 1024 * 1024
"""Bytes of one line at the most: no event of ours is as long."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A table.  ``key``: the columns that name a row and give the order; ``json``: columns that hold JSON.

    ``scoped``: how a row of it is told to be of one of the scopes asked for, as SQL with one ``?`` (a JSON list).
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    json: tuple[str, ...] = ()
    scoped: str = "scope IN (SELECT value FROM json_each(?))"

    @property
    def file(self) -> str:
        """Where its rows stand."""
        return f"{self.name}.jsonl"


_OF = "IN (SELECT id FROM {} WHERE scope IN (SELECT value FROM json_each(?)))"

TABLES: tuple[Carried, ...] = (
    Carried("threads", ("id", "scope", "channel", "title", "created_at", "updated_at"), ("id",)),
    Carried(
        "events",
        (
            "seq", "id", "scope", "thread", "turn", "channel", "peer", "kind", "text", "data", "created_at", "layer",
            "no_memory", "tokens", "source", "sunk_at", "pass", "words",
        ),
        ("seq",), ("data",),
    ),
    Carried(
        "blocks",
        (
            "id", "hash", "media_type", "bytes", "event", "holder_layer", "created_at", "name", "place", "tokens",
            "seen",
        ),
        ("id",), scoped=f"event {_OF.format('events')}",
    ),
    Carried("entities", ("seq", "id", "scope", "name", "type", "mentions", "created_at", "updated_at"), ("seq",)),
    Carried("entity_names", ("scope", "key", "name", "entity"), ("scope", "key")),
    Carried(
        "records",
        (
            "seq", "id", "scope", "record", "kind", "title", "text", "key", "reach", "project", "observer", "observed",
            "level", "subject", "relation", "object", "object_entity", "tags", "importance", "confidence", "times",
            "cited", "cited_at", "status", "superseded_by", "valid_from", "valid_until", "untrusted", "origin",
            "extractor", "recheck", "revision", "created_at", "updated_at",
        ),
        ("seq",), ("tags",),
    ),
    Carried(
        "evidence", ("id", "record", "event", "first", "last", "excerpt", "hash", "at", "upto"), ("id",),
        scoped=f"record {_OF.format('records')}",
    ),
    Carried(
        "revisions", ("record", "revision", "title", "text", "importance", "tags", "why", "at"), ("record", "revision"),
        ("tags",), scoped=f"record {_OF.format('records')}",
    ),
    Carried("members", ("capsule", "record"), ("capsule", "record"), scoped=f"capsule {_OF.format('records')}"),
    Carried("merges", ("scope", "first", "second", "score", "state", "rounds", "at"), ("scope", "first", "second")),
    Carried("tombstones", ("scope", "hash", "at"), ("scope", "hash")),
)  # fmt: skip
"""In this order rows name only rows of tables before (or their own)."""

BY_NAME: Mapping[str, Carried] = {table.name: table for table in TABLES}

LATER: Mapping[str, SqlValue] = {"upto": 0}
"""Columns that earlier releases had not, with what holds of a row without them."""

_COUNTED = frozenset({"seq", "no_memory", "bytes", "place", "tokens", "mentions", "importance", "times", "cited",
                      "untrusted", "recheck", "revision", "first", "last", "rounds", "upto"})  # fmt: skip


_IDS = frozenset({"id", "thread", "turn", "event", "record", "capsule", "entity", "subject", "object_entity",
                  "superseded_by"})  # fmt: skip
_ID = re.compile(r"[\w.:@+-]{1,80}", re.ASCII)
"""Longer is none of ours, and the ledger takes none."""

_WHEN = frozenset({"created_at", "updated_at", "at", "sunk_at", "cited_at", "valid_from", "valid_until"})
_TIMES = (-62_135_596_800, 253_402_300_799)
"""The years 1 to 9999: what is outside, nobody can show."""


def _named(value: object) -> bool:
    return isinstance(value, dict)


def _words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_JSON: Mapping[str, Callable[[object], bool]] = {"data": _named, "tags": _words}
"""What must stand in a column that holds JSON: whoever reads it relies on it."""

SAID = frozenset({"text", "title", "words", "excerpt", "object", "why"})
"""Columns with free text."""


class BadLine(Exception):
    """A line that is none of ours; ``args[0]`` says why, in words of ours only."""


def redacted(table: Carried, row: Row, redact: Callable[[str], str]) -> Row:
    """The row without secrets in what people, models and programs said.  What is stored is redacted already, but maybe
    by an earlier release, which knew fewer kinds of secrets."""
    if not SAID & {*table.columns}:
        return row
    return tuple(
        redact(value) if isinstance(value, str) and name in SAID else value
        for name, value in zip(table.columns, row, strict=True)
    )


def line(table: Carried, row: Row) -> str:
    """A row as a line, without its end."""
    named = dict(zip(table.columns, row, strict=True))
    for column in table.json:
        named[column] = json.loads(named[column])
    return dumps(named)


def values(table: Carried, text: str | bytes) -> tuple[SqlValue, ...]:
    """The values of a line, in the order of the columns; raises ``BadLine``."""
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadLine("no JSON") from None
    if not isinstance(found, dict):
        raise BadLine("no object")
    found = {**{column: value for column, value in LATER.items() if column in table.columns}, **found}
    if missing := [column for column in table.columns if column not in found]:
        raise BadLine(f"without {missing[0]}")
    return tuple(_value(table, column, found[column]) for column in table.columns)


def _value(table: Carried, column: str, value: object) -> SqlValue:
    if column in table.json:
        if not _JSON[column](value):
            raise BadLine(f"{column} has a wrong shape")
        return _said(column, dumps(value))
    if value is None:
        return None
    if isinstance(value, str):
        return _said(column, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLine(f"{column} has a wrong type")
    if column in _COUNTED and not isinstance(value, int):
        raise BadLine(f"{column} is no whole number")
    first, last = _TIMES if column in _WHEN else (-(2**63), 2**63 - 1)
    if not first <= value <= last:
        raise BadLine(f"{column} is too large")
    return value


def _said(column: str, value: str) -> str:
    if "\0" in value:
        raise BadLine(f"{column} holds a zero character")
    if column in _IDS and value and not _ID.fullmatch(value):
        raise BadLine(f"{column} is no id")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadLine(f"{column} holds half a character") from None
    return value


def _no_constant(name: str) -> object:
    raise ValueError(name)


def select(table: Carried, *, scoped: bool, after: Sequence[SqlValue] = ()) -> str:
    """The query of a page: its parameters are the scopes (if ``scoped``), the last key (if ``after``), and how many."""
    marks = ", ".join("?" * len(table.key))
    keys = ", ".join(table.key)
    where = [table.scoped] if scoped else []
    if after:
        where.append(f"({keys}) > ({marks})")
    told = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {', '.join(table.columns)} FROM {table.name}{told} ORDER BY {keys} LIMIT ?"
