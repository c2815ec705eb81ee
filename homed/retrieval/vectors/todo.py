"""The list of what waits for its vectors, and what becomes of it.  Functions over a ``Tx``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from homed.memory import media
from homed.memory.ports import Space
from homed.retrieval.vectors import rows
from homed.retrieval.vectors.counts import GIVE_UP
from homed.retrieval.vectors.texts import EVENTS, PICTURE, Source, sources
from homed.store.rows import Tx, dumps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLICE = 2_000
"""Items put on the list, or vectors of another space deleted, in one transaction: 10 to 20 ms of the writer."""

_KINDS = ("event", "record", "entity", "block")
_WHAT = {"event": f"events WHERE {EVENTS}", "record": "records WHERE 1", "entity": "entities WHERE 1"}


@dataclass(frozen=True, slots=True)
class Made:
    """The vectors of an item by their part; none where there was nothing to make one of."""

    source: Source
    vectors: Sequence[tuple[int, NDArray[np.float32]]]


@dataclass(frozen=True, slots=True)
class Next:
    """What to do next.  ``items``: so many were looked at; of some of them there is nothing (any more) to be made."""

    sources: tuple[Source, ...]
    items: tuple[tuple[str, int], ...]


def enter(tx: Tx, space: Space) -> tuple[int, bool]:
    """Make this the space that is filled; its number, and whether everything must be put on the list.

    It must where vectors were made in another space since, or never all in this one.
    """
    number = rows.enter(tx, space)
    at = tx.value("SELECT at FROM vector_spaces WHERE id = ?", (number,))
    latest = tx.value("SELECT max(at) FROM vector_spaces")
    if at and at >= latest:
        return number, False
    tx.execute("UPDATE vector_spaces SET at = 0 WHERE id = ?", (number,))
    return number, True


def entered(tx: Tx, number: int, *, at: float) -> None:
    """Everything is on the list: ``enter`` says so from now on, until another space is filled."""
    tx.execute(
        "UPDATE vector_spaces SET at = max(?, 1 + (SELECT max(at) FROM vector_spaces)) WHERE id = ?", (at, number)
    )


def enlist(tx: Tx, kind: str, number: int, below: int) -> int:
    """Put items on the list that have no vector in the space yet, newest first, from below this one: the last looked
    at; 0: there are no more.  Failures in another space do not count."""
    if kind == "block":
        return _enlist_pictures(tx, -below)
    found = tx.all(f"SELECT seq FROM {_WHAT[kind]} AND seq < ? ORDER BY seq DESC LIMIT ?", (below, SLICE))
    tx.execute(
        "INSERT INTO vector_todo (kind, item) SELECT ?1, value FROM json_each(?2) WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors v WHERE v.kind = ?1 AND v.item = value AND v.space = ?3)"
        " ON CONFLICT (kind, item) DO UPDATE SET failures = 0",
        (kind, dumps([seq for (seq,) in found]), number),
    )
    return int(found[-1][0]) if len(found) == SLICE else 0


def _enlist_pictures(tx: Tx, above: int) -> int:
    found = media.with_pictures(tx, max(0, above), SLICE)
    tx.many("INSERT OR REPLACE INTO vector_todo (kind, item) VALUES ('block', ?)", [(seq,) for seq in found])
    return -found[-1] if len(found) == SLICE else 0


def next_(tx: Tx, space: Space, number: int, limit: int, *, again: bool) -> Next:
    """What is to be made next: of each kind the newest, in turns.  ``again``: of those that failed before."""
    lists = [[(kind, item) for item in _newest(tx, kind, limit, again=again)] for kind in _KINDS]
    items = tuple(one for one in chain(*zip_longest(*lists)) if one is not None)[:limit]
    found: list[Source] = []
    for kind in _KINDS:
        mine = [item for of, item in items if of == kind]
        known = sources(tx, kind, mine, pictures=space.media)
        found += [s for item in mine if (s := known.get(item)) and not _has(tx, number, s)]
    return Next(tuple(found), items)


def _newest(tx: Tx, kind: str, limit: int, *, again: bool) -> list[int]:
    failures = f"BETWEEN 1 AND {GIVE_UP - 1}" if again else "= 0"
    found = tx.all(
        f"SELECT item FROM vector_todo WHERE kind = ? AND failures {failures} ORDER BY item DESC LIMIT ?", (kind, limit)
    )
    return [int(item) for (item,) in found]


def _has(tx: Tx, number: int, source: Source) -> bool:
    """Whether its vectors are there.  Those of what has changed are not: triggers delete them."""
    parts = tx.all(
        "SELECT part FROM vectors WHERE kind = ? AND item = ? AND space = ?", (source.kind, source.item, number)
    )
    if source.kind != "block":
        return bool(parts)
    return {part for (part,) in parts} == {PICTURE + place for place, _ in source.pictures}


def keep(tx: Tx, space: Space, number: int, made: Sequence[Made]) -> int:
    """Store vectors of what is still there, unchanged and in its scope; how many items that were.

    What has changed meanwhile stays on the list.
    """
    count = 0
    for one in made:
        source = one.source
        if sources(tx, source.kind, [source.item], pictures=space.media).get(source.item) != source:
            continue
        key = (source.kind, source.item, number)
        tx.execute("DELETE FROM vectors WHERE kind = ? AND item = ? AND space = ?", key)
        tx.many(
            "INSERT INTO vectors (space, scope, kind, item, part, data) VALUES (?, ?, ?, ?, ?, ?)",
            [(number, source.scope, *key[:2], part, rows.encoded(vector)) for part, vector in one.vectors],
        )
        _strike(tx, source.kind, source.item)
        count += 1
    return count


def strike_idle(tx: Tx, space: Space, number: int, items: Sequence[tuple[str, int]]) -> None:
    """Take off the list of which there is nothing to be made, or nothing more."""
    for kind, item in items:
        source = sources(tx, kind, [item], pictures=space.media).get(item)
        if source is None or _has(tx, number, source):
            _strike(tx, kind, item)


def _strike(tx: Tx, kind: str, item: int) -> None:
    tx.execute("DELETE FROM vector_todo WHERE kind = ? AND item = ?", (kind, item))


def failed(tx: Tx, failing: Sequence[Source]) -> None:
    """No vector could be made of these, though of others."""
    tx.many(
        "UPDATE vector_todo SET failures = failures + 1 WHERE kind = ? AND item = ?",
        [(source.kind, source.item) for source in failing],
    )


def retry(tx: Tx) -> int:
    """Try those again that were given up; how many."""
    tx.execute("UPDATE vector_todo SET failures = 0 WHERE failures > 0")
    return tx.changes()


def left(tx: Tx) -> int:
    """How many items wait that were not given up."""
    return int(tx.value("SELECT count(*) FROM vector_todo WHERE failures < ?", (GIVE_UP,)))


def delete_foreign(tx: Tx, number: int) -> bool:
    """Once everything has its vector in this space: delete some of another one's; False: there are none."""
    if left(tx):
        return False
    other = tx.value("SELECT id FROM vector_spaces WHERE id <> ? ORDER BY id LIMIT 1", (number,))
    if other is None:
        return False
    tx.execute(
        "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE space = ? ORDER BY scope, kind, id LIMIT ?)",
        (other, SLICE),
    )
    if not tx.changes():
        tx.execute("DELETE FROM vector_spaces WHERE id = ?", (other,))
    return True
