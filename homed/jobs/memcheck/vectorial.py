"""Whether everything that should has its vector, made of what it says now, and none is of what is gone.

Vectors are made of what is stored: whatever is wrong with one, it is deleted and made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from homed.jobs.memcheck.check import PORTION, Check, Look, RowCheck, judged, written
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found, Rows, walk
from homed.retrieval.vectors.counts import GIVE_UP
from homed.retrieval.vectors.rows import HALF_ABOVE
from homed.retrieval.vectors.texts import EVENTS
from homed.store.rows import Row, SqlValue, Tx

VECTORS = "vectors"

UNIT = 0.02
"""How far the length of a vector may be from 1."""

WAITED = 86_400.0
"""Seconds that something may wait for its vector."""

ANEW = "Repair has it made anew; until then it is found by its words."

_ITEM = {
    "event": "(SELECT o.scope FROM events o WHERE o.seq = v.item)",
    "block": "(SELECT o.scope FROM events o WHERE o.seq = v.item)",
    "record": "(SELECT o.scope FROM records o WHERE o.seq = v.item)",
    "entity": "(SELECT o.scope FROM entities o WHERE o.seq = v.item)",
}
_SCOPE = f"CASE v.kind {' '.join(f'WHEN {chr(39)}{kind}{chr(39)} THEN {sql}' for kind, sql in _ITEM.items())} END"
_SPACE = "(SELECT s.id FROM vector_spaces s WHERE s.at > 0 ORDER BY s.at DESC, s.id DESC LIMIT 1)"
"""The space that was filled last; the one in use, where something fills it."""


def _requeue(tx: Tx, kind: str, item: SqlValue) -> None:
    """Have it made anew, if it is there; the list is struck of what there is nothing to make of."""
    tx.execute("INSERT OR REPLACE INTO vector_todo (kind, item) VALUES (?, ?)", (kind, item))


def _delete(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """And have those made anew of which there is something to be made."""
    del room
    for id_, *_, kind, item, scope in rows:
        tx.execute("DELETE FROM vectors WHERE id = ?", (id_,))
        if scope is not None:
            tx.execute("DELETE FROM vectors WHERE kind = ? AND item = ?", (kind, item))  # all parts are made at once
            _requeue(tx, kind, item)
    return len(rows)


def _malformed(tx: Tx, row: Row) -> bool:
    """No vector of its space: another length, or none that a unit vector has."""
    del tx
    data, dims = row[0], row[1]
    kind = np.dtype("<f2" if dims > HALF_ABOVE else "<f4")
    if len(data) != dims * kind.itemsize:
        return True
    length = float(np.linalg.norm(np.frombuffer(data, kind).astype(np.float64)))
    return not abs(length - 1) <= UNIT  # also what is no number


def _foreign(room: Room) -> str:
    """SQL of the space whose vectors count."""
    embedder = room.vectors.embedder if room.vectors is not None else None
    if embedder is None:
        return _SPACE
    safe = embedder.space.fingerprint.replace("'", "''")
    return f"(SELECT s.id FROM vector_spaces s WHERE s.fingerprint = '{safe}' AND s.at > 0)"  # 0: it is being filled


_LEFT = f"(SELECT count(*) FROM vector_todo t WHERE t.failures < {GIVE_UP})"


def _of_other_spaces(room: Room) -> Rows:
    """Where everything has its vector in the space in use, those of others should be gone: homed deletes them then."""
    return Rows(
        "vectors v", ("v.id",), "v.kind || ' ' || v.item",
        f"v.space <> coalesce({_foreign(room)}, v.space) AND {_LEFT} = 0",
        also=("v.kind", "v.item", _SCOPE),
    )  # fmt: skip


def _delete_foreign(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """They are never compared with anything; what has no other is put on the list."""
    space = _foreign(room)
    for id_, *_, kind, item, scope in rows:
        tx.execute("DELETE FROM vectors WHERE id = ?", (id_,))
        other = f"SELECT 1 FROM vectors WHERE kind = ? AND item = ? AND space = {space}"
        if scope is not None and tx.value(other, (kind, item)) is None:
            _requeue(tx, kind, item)
    used = "SELECT 1 FROM vectors v WHERE v.space = vector_spaces.id"
    tx.execute(f"DELETE FROM vector_spaces WHERE id <> {space} AND NOT EXISTS ({used})")
    return len(rows)


def _has_words(tx: Tx, row: Row) -> bool:
    """Missing, and there is something to make a vector of: of signs alone an embedder may make none."""
    del tx
    return bool(row[0]) and any(one.isalnum() for one in row[1])


def _without(kind: str, source: str, key: str, where: str) -> RowCheck:
    what = {"event": "messages", "record": "records", "entity": "people and things"}[kind]

    def rows(room: Room) -> Rows:
        space = _foreign(room)
        have = f"SELECT 1 FROM vectors v WHERE v.kind = '{kind}' AND v.item = {key} AND v.space = {space}"
        listed = f"SELECT 1 FROM vector_todo t WHERE t.kind = '{kind}' AND t.item = {key}"
        said = "name" if kind == "entity" else "substr(text, 1, 400)"
        return Rows(
            source, (key,), f"'{kind} ' || {key}", judge=_has_words,
            also=(f"NOT EXISTS ({have}) AND NOT EXISTS ({listed})", said),
            where=f"({where}) AND {space} IS NOT NULL",
        )  # fmt: skip

    def enlist(tx: Tx, found: Sequence[Row], room: Room) -> int:
        del room
        for row in found:
            _requeue(tx, kind, row[0])
        return len(found)

    return RowCheck(
        id=f"{kind}_vectors", name=f"Vectors of {what}", what=what,
        fault="have no vector and are not on the list of what is to get one",
        fix="Repair puts them on the list; homed makes their vectors while it runs.", rows=rows, cure=enlist,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether what waits for a vector gets it."""

    id: str = "vectors_waiting"
    name: str = "What waits for its vector"
    deep: bool = False
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        idle = room.vectors is not None and room.vectors.embedder is None
        found = await room.store.read(lambda tx: _waiting(tx, room.now, idle=idle or not room.running))
        return judged(
            found, "things that have or want a vector",
            "failed again and again to get one, or wait for more than a day",
            "Repair has them tried again. Look at the embedder in the memory settings: without one nothing is found by"
            " its meaning.",
            Status.WARN,
        )  # fmt: skip

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        del look
        count = await written(room, _try_again)
        if room.vectors is not None:
            room.vectors.wake()
        return count


def _waiting(tx: Tx, now: float, *, idle: bool) -> Found:
    """``idle``: nobody makes vectors now, so that waiting is no fault."""
    have = int(tx.value("SELECT count(*) FROM vectors WHERE part IN (0, 1000)"))
    waits = int(tx.value("SELECT count(*) FROM vector_todo"))
    given_up = tx.all("SELECT kind, item FROM vector_todo WHERE failures >= ? ORDER BY kind, item", (GIVE_UP,))
    late: list[Row] = []
    if not idle:
        late = tx.all(
            "SELECT t.kind, t.item FROM vector_todo t WHERE t.failures < ? AND coalesce("
            " CASE t.kind WHEN 'record' THEN (SELECT updated_at FROM records WHERE seq = t.item)"
            " WHEN 'entity' THEN (SELECT updated_at FROM entities WHERE seq = t.item)"
            " ELSE (SELECT created_at FROM events WHERE seq = t.item) END, 0) < ?"
            " AND (SELECT max(at) FROM vector_spaces) < ? ORDER BY t.kind, t.item",
            (GIVE_UP, now - WAITED, now - WAITED),
        )
    wrong = [f"{kind} {item}" for kind, item in [*given_up, *late]]
    return Found(have + waits, have + waits, len(wrong), [], wrong)


def _try_again(tx: Tx) -> int:
    tx.execute("UPDATE vector_todo SET failures = 0 WHERE failures > 0")
    return tx.changes()


SAMPLE = 64
"""Vectors that a deep look makes anew to compare them."""

ALIKE = 0.98
"""Cosine of two vectors of one text: a model on another machine rounds otherwise."""


@dataclass(frozen=True, slots=True)
class OldTexts:
    """Whether vectors are of what is said now: some are made anew and compared."""

    id: str = "vector_texts"
    name: str = "Vectors and their texts"
    deep: bool = True
    repairable: bool = True

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        from homed.jobs.memcheck.revector import compared

        found = await compared(room, SAMPLE, ALIKE)
        return judged(found, "vectors", "are of another text than what stands there now", f"{ANEW}")

    async def mend(self, room: Room, look: Look) -> int:
        """One that is old tells that something changed texts past the triggers: all of its kind are made anew."""
        kinds = sorted({id_.partition(" ")[0] for id_ in look.ids})
        rows = Rows("vectors v", ("v.id",), "v.item", "1", where=f"v.kind IN ({', '.join(map(repr, kinds))})")
        count = 0
        while (found := await walk(room, rows)).wrong:
            for start in range(0, len(found.keys), PORTION):
                some = [key[0] for key in found.keys[start : start + PORTION]]
                count += await written(room, lambda tx, some=some: _anew(tx, some))  # type: ignore[misc]
        if room.vectors is not None:
            room.vectors.wake()
        return count


def _anew(tx: Tx, ids: Sequence[int | str]) -> int:
    for id_ in ids:
        row = tx.one("SELECT kind, item FROM vectors WHERE id = ?", (id_,))
        if row is not None:
            tx.execute("DELETE FROM vectors WHERE id = ?", (id_,))
            _requeue(tx, *row)
    return len(ids)


CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="vector_orphans", name="Vectors of nothing", what=VECTORS, fault="are of something that is gone",
        fix="Repair removes them: what is gone is found no more.",
        rows=Rows(
            "vectors v", ("v.id",), "v.kind || ' ' || v.item", f"{_SCOPE} IS NULL",
            also=("v.kind", "v.item", _SCOPE),
        ),
        cure=_delete,
    ),
    RowCheck(
        id="vector_scopes", name="Whose vectors they are", what=VECTORS,
        fault="are kept for another scope than what they are of",
        fix="Repair has it made anew in its own scope; until then it is found by its words.",
        rows=Rows(
            "vectors v", ("v.id",), "v.kind || ' ' || v.item", f"{_SCOPE} <> v.scope",
            also=("v.kind", "v.item", _SCOPE),
        ),
        cure=_delete,
    ),
    RowCheck(
        id="vector_shapes", name="Sizes of vectors", what=VECTORS,
        fault="have not the size of their space, or are no vectors at all", fix=ANEW,
        rows=Rows(
            "vectors v LEFT JOIN vector_spaces s ON s.id = v.space", ("v.id",), "v.kind || ' ' || v.item",
            "s.id IS NULL", also=("v.data", "coalesce(s.dims, 0)", "v.kind", "v.item", _SCOPE), judge=_malformed,
            weight="octet_length(v.data)",
        ),
        cure=_delete,
    ),
    RowCheck(
        id="vector_spaces", name="Vectors of other embedders", what=VECTORS,
        fault="were made by another embedder than the one in use, and are compared with nothing",
        fix="Repair removes them and has missing ones made anew.", status=Status.WARN, rows=_of_other_spaces,
        cure=_delete_foreign,
    ),
    _without("event", "events", "seq", EVENTS),
    _without("record", "records", "seq", "1"),
    _without("entity", "entities", "seq", "1"),
    Waiting(),
    OldTexts(),
)  # fmt: skip
"""In this order."""
