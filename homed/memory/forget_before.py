"""What records said before, when some of it is forgotten.

All of it goes that says it, and mostly more: nobody misses it.  But a capsule that was shortened because something was
hidden gets that back from what it said before: of this only what is forgotten goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile

from homed.memory import stable
from homed.memory.stable import Revision
from homed.store.rows import Row, Tx, dumps

HID = "hid"
"""What the reason of a revision begins with that took out what a hidden record said; its id follows."""

BACK = "restored"
"""The reason of a revision that put it in again."""

_AMONG = "(SELECT value FROM json_each(?))"


def to_come_back(tx: Tx, record: str) -> list[Revision]:
    """What it said before that hidden records were taken out of since, and nothing else was done; newest first."""
    return list(takewhile(lambda one: one.why == BACK or one.why.startswith(f"{HID} "), stable.history(tx, record)))


def cut(tx: Tx, record: str, shorten: Callable[[Revision], str]) -> list[str]:
    """Take something out of what a record said before: ``shorten`` gives each text without it, '' for one of which
    nothing may stay.  What is not to come back goes as a whole.  Returns the texts that stood there."""
    kept = {one.revision for one in to_come_back(tx, record)}
    newer, changed = tx.value("SELECT text FROM records WHERE id = ?", (record,)), []
    for old in stable.history(tx, record):
        left = shorten(old)
        if left == old.text:
            newer = left
            continue
        changed.append(old.text)
        if left in ("", newer) or old.revision not in kept:
            tx.execute("DELETE FROM revisions WHERE record = ? AND revision = ?", (record, old.revision))
        else:
            newer = left
            tx.execute("UPDATE revisions SET text = ? WHERE record = ? AND revision = ?", (left, record, old.revision))
    return changed


def drop(tx: Tx, record: str) -> list[str]:
    """All of it goes but what is to come back; the texts that went."""
    kept = {one.revision for one in to_come_back(tx, record)}
    gone = [one for one in stable.history(tx, record) if one.revision not in kept]
    among = dumps([one.revision for one in gone])
    tx.execute(f"DELETE FROM revisions WHERE record = ? AND revision IN {_AMONG}", (record, among))
    return [one.text for one in gone]


def hold(tx: Tx, records: Collection[str]) -> Sequence[Row]:
    """What is to come back in these, for ``put_back``: a trigger takes all that a record said before with any of its
    evidence, since it can not know what that said."""
    kept = [(record, one.revision) for record in sorted(records) for one in to_come_back(tx, record)]
    return [row for one in kept if (row := tx.one("SELECT * FROM revisions WHERE record = ? AND revision = ?", one))]


def put_back(tx: Tx, rows: Sequence[Row]) -> None:
    """After the evidence went."""
    tx.many("INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
