"""What a vector is made of: the text of an event, record or entity, the pictures of a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from homed.memory import media
from homed.memory.events import NOT_REMOVED
from homed.store.rows import Tx, dumps

PICTURE = 1000
"""The part of a message's first picture; those of its text come before."""

EVENTS = f"no_memory = 0 AND kind <> 'note' AND layer <> 'archived' AND (text <> '' OR words <> '') AND {NOT_REMOVED}"
"""The events that have vectors."""


@dataclass(frozen=True, slots=True)
class Source:
    """What an item's vectors are made of.  Two that are equal have the same vectors.

    ``text`` goes through the cleaner of ``channel`` where that is not '', ``more`` is added as it is; ``pictures``:
    place and hash of each.
    """

    kind: str
    item: int
    scope: str
    text: str = ""
    more: str = ""
    channel: str = ""
    pictures: tuple[tuple[int, str], ...] = ()


def sources(tx: Tx, kind: str, items: Iterable[int], *, pictures: bool) -> dict[int, Source]:
    """Of those of these items that have vectors: what is deleted, private or archived has none.

    ``pictures``: the space has vectors of pictures, too.
    """
    wanted = list(items)
    if kind == "event":
        return _events(tx, wanted)
    if kind == "block":
        return _blocks(tx, wanted) if pictures else {}
    return _records(tx, wanted) if kind == "record" else _entities(tx, wanted)


def _events(tx: Tx, items: list[int]) -> dict[int, Source]:
    rows = tx.all(
        "SELECT seq, scope, text, words, channel, kind FROM events"
        f" WHERE seq IN (SELECT value FROM json_each(?)) AND {EVENTS}",
        (dumps(items),),
    )
    return {
        # the template of a channel is in what came in and goes out by it, not in what a tool gave
        seq: Source("event", seq, scope, text, words, "" if kind == "tool" else channel)
        for seq, scope, text, words, channel, kind in rows
    }


def _records(tx: Tx, items: list[int]) -> dict[int, Source]:
    rows = tx.all(
        "SELECT seq, scope, title, text FROM records WHERE seq IN (SELECT value FROM json_each(?))", (dumps(items),)
    )
    return {
        seq: Source("record", seq, scope, text if title in text else f"{title}\n{text}")
        for seq, scope, title, text in rows
    }


def _entities(tx: Tx, items: list[int]) -> dict[int, Source]:
    rows = tx.all(
        "SELECT seq, scope, name FROM entities WHERE seq IN (SELECT value FROM json_each(?))", (dumps(items),)
    )
    return {seq: Source("entity", seq, scope, name) for seq, scope, name in rows}


def _blocks(tx: Tx, items: list[int]) -> dict[int, Source]:
    rows = tx.all(
        f"SELECT seq, scope FROM events WHERE seq IN (SELECT value FROM json_each(?)) AND {NOT_REMOVED}",
        (dumps(items),),
    )
    found = {seq: Source("block", seq, scope, pictures=tuple(media.pictures(tx, seq))) for seq, scope in rows}
    return {seq: source for seq, source in found.items() if source.pictures}
