"""Files that nobody has looked into yet: which they are, and what is changed by it.  Functions over a ``Tx``."""

from __future__ import annotations

from dataclasses import dataclass

from homed.memory.filetypes import IMAGES
from homed.store.rows import Tx

WORDS = 16_000
"""Characters of one file that its message is found by: as much as a prompt shows of a text file."""

_REMEMBERED = "e.no_memory = 0 AND e.kind <> 'note' AND json_extract(e.data, '$.withheld') IS NULL"
_IMAGES = ", ".join(f"'{kind}'" for kind in sorted(IMAGES))


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A file of an event.  ``remembered`` False: nothing it says may be searched, it is only shown."""

    id: str
    hash: str
    media_type: str
    bytes: int
    seq: int
    remembered: bool

    @property
    def is_image(self) -> bool:
        """Whether there can be a small picture of it."""
        return self.media_type in IMAGES


_FROM = "FROM blocks b JOIN events e ON e.id = b.event"
_SELECT = f"SELECT b.id, b.hash, b.media_type, b.bytes, e.seq, {_REMEMBERED} {_FROM}"


def unseen(tx: Tx, limit: int) -> list[Occurrence]:
    """Files that wait to be looked into, newest messages first."""
    rows = tx.all(f"{_SELECT} WHERE b.seen = 'waiting' ORDER BY e.seq DESC, b.place LIMIT ?", (limit,))
    return [_occurrence(row) for row in rows]


def waiting(tx: Tx, id_: str) -> Occurrence | None:
    """This file, if it still waits to be looked into."""
    row = tx.one(f"{_SELECT} WHERE b.id = ? AND b.seen = 'waiting'", (id_,))
    return None if row is None else _occurrence(row)


def seen(tx: Tx, file: Occurrence, *, picture: bool) -> None:
    """It was looked into and is not again.  ``picture``: there is a small one now, which wants a vector; where there
    should be one and is none, the file is broken and counts as failed for good.
    """
    state = "done" if picture or not file.is_image else "failed"
    tx.execute("UPDATE blocks SET seen = ? WHERE id = ?", (state, file.id))
    if picture:
        tx.execute(
            "INSERT OR IGNORE INTO vector_todo (kind, item) SELECT 'block', seq FROM events e"
            f" WHERE e.seq = ? AND e.layer <> 'archived' AND {_REMEMBERED}",
            (file.seq,),
        )


def words_of(tx: Tx, seq: int) -> str:
    """What the event's files have said so far."""
    return str(tx.value("SELECT words FROM events WHERE seq = ?", (seq,)) or "")


def with_pictures(tx: Tx, above: int, limit: int) -> list[int]:
    """Events (their seq, above this one, oldest first) that have pictures which want vectors: for a new space."""
    rows = tx.all(
        f"SELECT DISTINCT e.seq {_FROM} WHERE b.seen = 'done' AND e.seq > ?"
        f" AND b.media_type IN ({_IMAGES}) AND e.layer <> 'archived' AND {_REMEMBERED} ORDER BY e.seq LIMIT ?",
        (above, limit),
    )
    return [int(seq) for (seq,) in rows]


def pictures(tx: Tx, seq: int) -> list[tuple[int, str]]:
    """Place and hash of each picture of an event that was seen and may be found; none of one that is private."""
    rows = tx.all(
        f"SELECT b.place, b.hash {_FROM} WHERE e.seq = ? AND b.seen = 'done'"
        f" AND b.media_type IN ({_IMAGES}) AND e.layer <> 'archived' AND {_REMEMBERED} ORDER BY b.place",
        (seq,),
    )
    return [(int(place), str(hash_)) for place, hash_ in rows]


def _occurrence(row: tuple[object, ...]) -> Occurrence:
    id_, hash_, media_type, size, seq, remembered = row
    assert isinstance(size, int)
    assert isinstance(seq, int)
    return Occurrence(str(id_), str(hash_), str(media_type), size, seq, bool(remembered))
