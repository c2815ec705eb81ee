"""Whether everything has one holder and lies in one layer, and attachments have their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import trio

from homed.jobs import contents
from homed.jobs.contents import Files, Seen
from homed.jobs.memcheck.check import Check, Look, RowCheck, Unmended, judged
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found, Rows
from homed.memory import events as table
from homed.memory.records import Event
from homed.memory.units import whole
from homed.store.rows import Row, Tx

_HOLDER = "CASE e.layer WHEN 'archived' THEN 'stable' ELSE e.layer END"


def _hold(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """By whom its message is held, as the trigger has it."""
    del room
    tx.many(
        f"UPDATE blocks SET holder_layer = (SELECT {_HOLDER} FROM events e WHERE e.id = blocks.event) WHERE id = ?",
        [(row[0],) for row in rows],
    )
    return len(rows)


def _one_holder(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """A message has it: it waits for none."""
    del room
    tx.many("DELETE FROM uploads WHERE id = ?", [(row[0],) for row in rows])
    return len(rows)


def _to_window(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """Private messages are in no layer that is searched; what lies elsewhere came back from nowhere."""
    del room
    for seq, *_ in rows:
        tx.execute("UPDATE events SET source = '' WHERE seq = ? AND layer <> 'context'", (seq,))
        tx.execute("UPDATE events SET layer = 'archived' WHERE seq = ? AND no_memory = 1 AND layer = 'cold'", (seq,))
    return len(rows)


_CALLS = "t.id IN (SELECT turn FROM events WHERE kind = 'tool' AND turn = t.id)"


def _apart(tx: Tx, row: Row) -> bool:
    """Whether a call lies in another layer than its results: a prompt could have one without the other."""
    return any(_layers(unit_events) > 1 for unit_events in _units(tx, str(row[0])))


def _units(tx: Tx, turn: str) -> list[tuple[Event, ...]]:
    found = tx.all(f"SELECT {table.OUTLINE} FROM events WHERE turn = ? ORDER BY seq", (turn,))
    return [tuple(unit.events) for unit in whole(list(map(table.from_row, found)), lambda event: event.tokens)]


def _layers(events: Sequence[Event]) -> int:
    return len({event.layer for event in events if not event.no_memory})


def _together(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """Where most of it lies that can still be searched; of equals in the window.  Its blocks follow by the trigger."""
    del room
    for row in rows:
        for events in _units(tx, str(row[1])):
            if _layers(events) < 2:
                continue
            counts: defaultdict[str, int] = defaultdict(int)
            for event in events:
                counts[event.layer] += 1
            order = ("context", "cold", "archived")
            layer = max(order, key=lambda one: (counts[one], -order.index(one)))
            for event in events:
                tx.execute(
                    "UPDATE events SET layer = ?, source = iif(? = 'context', source, '') WHERE id = ? AND layer <> ?",
                    (layer, layer, event.id, layer),
                )
    return len(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesCheck(Unmended):
    """One way in which files and rows may not fit; ``pick``: which of what was seen it is about."""

    id: str
    name: str
    pick: str
    fault: str
    fix: str
    status: Status = Status.FAIL

    async def look(self, room: Room) -> Look:
        """See ``Check``.  Looked at between two reads: what went away meanwhile with its message is nobody's fault."""
        said = await room.store.read(contents.files_of)
        seen = await self._seen(room, said)
        names: tuple[str, ...] = getattr(seen, self.pick)
        if names:
            again = await room.store.read(contents.files_of)
            both = Files(said.named & again.named, said.loose | again.loose | (said.named ^ again.named))
            seen = await self._seen(room, both)
            names = getattr(seen, self.pick)
        read = seen.there if self.pick == "left" else len(said.named)
        return judged(
            Found(read, read, len(names), [], [name[:16] for name in names]), "files of attachments", self.fault,
            self.fix, self.status,
        )  # fmt: skip

    async def _seen(self, room: Room, said: Files) -> Seen:
        look = partial(contents.compared, said, room.paths.media, deep=self.pick == "wrong")
        return await trio.to_thread.run_sync(look, abandon_on_cancel=True)


CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="holders", name="Holders of attachments", what="attachments",
        fault="are held by another layer than their message",
        fix="Repair gives each to the layer of its message.",
        rows=Rows(
            "blocks b JOIN events e ON e.id = b.event", ("b.id",), "b.id", f"b.holder_layer <> {_HOLDER}", start=("",)
        ),
        cure=_hold,
    ),
    RowCheck(
        id="two_holders", name="One holder an attachment", what="attachments",
        fault="are held by a message and wait for one at once", fix="Repair leaves them to their message.",
        rows=Rows(
            "blocks b", ("b.id",), "b.id", "EXISTS (SELECT 1 FROM uploads u WHERE u.id = b.id)", start=("",)
        ),
        cure=_one_holder,
    ),
    RowCheck(
        id="blocks_gone", name="Attachments and their messages", what="attachments",
        fault="are of a message that is gone",
        fix="The file may be all that is left of it: look at it (`DATA/media`), put the message back from a backup, or"
        " stop homed and run `homed doctor --repair`, which removes what belongs to nothing.",
        rows=Rows(
            "blocks b", ("b.id",), "b.id", "NOT EXISTS (SELECT 1 FROM events e WHERE e.id = b.event)", start=("",)
        ),
    ),
    RowCheck(
        id="layers", name="Layers of messages", what="messages",
        fault="lie where they may not: private ones among cold ones, or come back that are not in view",
        fix="Repair puts each where it belongs; nothing of what was said changes.",
        rows=Rows(
            "events e", ("e.seq",), "e.id",
            "(e.no_memory = 1 AND e.layer = 'cold') OR (e.source <> '' AND e.layer <> 'context')",
        ),
        cure=_to_window,
    ),
    RowCheck(
        id="units", name="Calls and their results", what="turns with tool calls",
        fault="have a call in one layer and its results in another", fix="Repair puts them together.",
        rows=Rows("turns t", ("t.rowid",), "t.id", also=("t.id",), where=_CALLS, judge=_apart, weight="1"),
        cure=_together,
    ),
    FilesCheck(
        id="files_missing", name="Files of attachments", pick="missing", fault="are missing",
        fix="Put them back from a backup; what was said about them is still there.",
    ),
    FilesCheck(
        id="files_changed", name="Contents of attachments", pick="wrong", fault="are not what they were", deep=True,
        fix="Put them back from a backup.",
    ),
    FilesCheck(
        id="files_left", name="Files of nothing", pick="left", fault="are named by nothing", status=Status.WARN,
        fix="They may be what is left of something lost: look at them in `DATA/media`, then remove them.",
    ),
)  # fmt: skip
"""In this order."""
