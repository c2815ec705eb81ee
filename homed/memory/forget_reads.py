"""Which events a wish means, read bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from homed.memory import forget
from homed.memory.normal import folded
from homed.store.rows import Tx, loads

SCANNED = 500
"""Events looked through for an entity's names with one read."""

ENDED = 5
"""Letters of a name from which on any ending of it is it: shorter ones are the beginnings of too many words."""


def of_thread(tx: Tx, thread: str) -> list[str]:
    """Some of its events, oldest first; none when none is left."""
    rows = tx.all("SELECT id FROM events WHERE thread = ? ORDER BY seq LIMIT 500", (thread,))
    return [str(id_) for (id_,) in rows]


def sources(tx: Tx, records: Sequence[str]) -> list[str]:
    """The events that records rest on, with what belongs to each."""
    found = {one for event in forget.sources(tx, records) for one in forget.belonging(tx, event)}
    return sorted(found)


def named(tx: Tx, entity: str) -> tuple[list[str], str]:
    """What an entity is called, and its scope; without the ids of people."""
    rows = tx.all(
        "SELECT n.name, e.scope FROM entity_names n JOIN entities e ON e.id = n.entity WHERE e.id = ?"
        " AND substr(n.key, 1, 1) <> '@'",
        (entity,),
    )
    return [name for name, _ in rows], rows[0][1] if rows else ""


def holding(tx: Tx, *, scope: str, names: Sequence[str], after: int, upto: int) -> tuple[list[str], int | None]:
    """Events of a page behind ``after``, none behind ``upto``, in which one of these names stands, with what belongs to
    each; and where the page ends, None for the last.

    However it is written (José of one sign or two, in wide letters), as a word (see ``_stands``), and looked for in
    the text, in what was found in its files, in what the model thought, and in what a tool was asked.
    """
    rows = tx.all(
        "SELECT seq, id, text, words, data FROM events WHERE scope = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (scope, after, upto, SCANNED),
    )
    wanted = [folded(name) for name in names]
    found = [id_ for _, id_, *said in rows if _says(wanted, *said)]
    belonging = [one for id_ in found for one in forget.belonging(tx, id_)]
    return belonging, rows[-1][0] if len(rows) == SCANNED else None


def _says(names: Sequence[str], text: str, words: str, data: str) -> bool:
    """``names`` folded."""
    parts = (text, words, *(_told(loads(data)) if data != "{}" else ()))
    return any(_stands(name, plain) for plain in map(folded, parts) for name in names)


def _stands(name: str, plain: str) -> bool:
    """Whether a name stands there, and not merely its letters within another word (Eva in evaluate, Rom in from).

    Both folded.  A longer one may have any ending.  Scripts without capitals put no blank before or behind a name, or
    write what belongs to it in one with it: there its letters are enough.
    """
    at = plain.find(name)
    while at >= 0:
        behind = plain[at + len(name) : at + len(name) + 2]
        begins = not (_cased(name[:1]) and _cased(plain[at - 1 : at]))
        ends = len(name) >= ENDED or not _cased(name[-1:]) or not _cased(behind.removeprefix("s")[:1])
        if begins and ends:
            return True
        at = plain.find(name, at + 1)
    return False


def _cased(sign: str) -> bool:
    return sign.upper() != sign


def _told(data: object) -> Iterator[str]:
    """Of an event's data what is somebody's words: no names of tools, ids and states."""
    if isinstance(data, dict):
        calls = data.get("calls")
        for one in (data, *(calls if isinstance(calls, list) else ())):
            if isinstance(one, dict):
                for asked in (one.get("args"), one.get("arguments")):  # what its arguments are called nobody said
                    yield from _strings([*asked.values()] if isinstance(asked, dict) else asked)
                yield from _strings([one.get("raw"), one.get("reasoning")])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def titles(tx: Tx) -> list[str]:
    """What conversations are called."""
    return [str(title) for (title,) in tx.all("SELECT DISTINCT title FROM threads WHERE title <> ''")]
