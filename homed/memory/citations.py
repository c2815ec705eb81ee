"""Which records an answer names by their ids.  A model can write any eight digits: only what its conversation was told,
or looked up there, counts, and once a turn."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from homed.memory import injections, stable
from homed.memory.temporary import reads
from homed.store.rows import Tx, dumps

TOOLS = ("memory_recall", "memory_open")
"""Whose results tell a model ids of records."""

LOOKED_AT = 200
"""Newest results of those tools in a conversation that are looked at; only when an answer names what it was not told
unasked."""

MOST = 64
"""Different ids of one answer that are looked at: what names more is a list, no answer."""

_ID = re.compile(r"(?<![0-9a-z])id\s{0,2}[:：]\s{0,2}([0-9a-f]{8})(?![0-9a-z])", re.IGNORECASE)
_WHOLE = re.compile(r"(?<![0-9a-z_])(?:fact|summary|capsule)_[0-9a-f]{1,24}([0-9a-f]{8})(?![0-9a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Citation:
    """``record`` (whole id) was named by the answer of ``turn``; ``at``: UTC seconds."""

    record: str
    turn: str
    at: float


def named(text: str) -> list[str]:
    """The eight digits of every id that a text names, each once: ``id:9f3c1a7b`` and whole ids.  Pure."""
    found = [*_ID.findall(text), *_WHOLE.findall(text)]
    return list(dict.fromkeys(one.lower() for one in found))[:MOST]


def count(tx: Tx, *, scope: str, thread: str, turn: str, answer: str, at: float) -> list[str]:
    """Count what the answer of a turn cites; the whole ids that count, of records that are there.

    Named, and told to its conversation (by the ledger) or found there with a tool; the second time in a turn, and what
    nobody told it, is nothing.
    """
    digits = named(answer)
    if not digits:
        return []
    scopes = reads(tx, scope)
    there = _named_so(tx, scopes, digits)
    told = injections.told_in(tx, thread, there)
    rest = _digits(there) - _digits(told)
    seen = _seen(tx, thread, rest) if rest else set()
    ids = told | {id_ for id_ in there if id_[-stable.SHOWN_ID :] in seen}
    made = []
    for id_ in sorted(ids):
        tx.execute(
            "INSERT OR IGNORE INTO citations (record, turn, at) SELECT id, ?, ? FROM records"
            " WHERE id = ? AND scope IN (SELECT value FROM json_each(?))",
            (turn, at, id_, dumps(list(scopes))),
        )
        if tx.changes():
            made.append(id_)
    if made:
        stable.cite(tx, made, at=at)
    return made


def of_record(tx: Tx, record: str, *, limit: int = 100) -> list[Citation]:
    """Which turns' answers named it, newest first."""
    rows = tx.all("SELECT record, turn, at FROM citations WHERE record = ? ORDER BY at DESC LIMIT ?", (record, limit))
    return [Citation(*row) for row in rows]


def of_turn(tx: Tx, turn: str) -> list[Citation]:
    """The records that a turn's answer named."""
    return [Citation(*row) for row in tx.all("SELECT record, turn, at FROM citations WHERE turn = ?", (turn,))]


def _seen(tx: Tx, thread: str, digits: Collection[str]) -> set[str]:
    """Those of these that results of ``TOOLS`` in the thread gave as ids of records: what stands in a text of one does
    not count, for anybody may have written it."""
    rows = tx.all(
        "SELECT text FROM events WHERE thread = ? AND kind = 'tool' AND data ->> 'status' = 'ok'"
        " AND data ->> 'name' IN (SELECT value FROM json_each(?)) ORDER BY seq DESC LIMIT ?",
        (thread, dumps(list(TOOLS)), LOOKED_AT),
    )
    found: set[str] = set()
    for (text,) in rows:
        if any(one in text for one in digits):
            found |= {id_[-stable.SHOWN_ID :] for id_ in _given(text)}
    return found & set(digits)


def _given(text: str) -> Iterator[str]:
    """The ids in a tool's result: of what it found, or of what it opened."""
    try:
        answer = json.loads(text)
    except ValueError:
        return
    found = answer.get("found") if isinstance(answer, Mapping) else None
    listed = found if isinstance(found, list) else [answer]
    for one in listed:
        if isinstance(one, Mapping) and isinstance(one.get("id"), str):
            yield one["id"]


def _digits(ids: Collection[str]) -> set[str]:
    return {id_[-stable.SHOWN_ID :] for id_ in ids}


def _named_so(tx: Tx, scopes: Sequence[str], digits: Collection[str]) -> set[str]:
    """The records of these scopes whose ids end so."""
    if not digits:
        return set()
    rows = tx.all(
        "SELECT id FROM records WHERE scope IN (SELECT value FROM json_each(?))"
        " AND substr(id, -8) IN (SELECT value FROM json_each(?))",
        (dumps(list(scopes)), dumps(sorted(digits))),
    )
    return {str(id_) for (id_,) in rows}
