"""What in the cold layer has cooled, so that something lasting is made of it, and its way into the archive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from homed.memory import events as table
from homed.memory import speakers
from homed.memory.cold import REMEMBERED
from homed.memory.origins import OUTSIDE
from homed.memory.records import Event, EventKind, is_inner, shows_files
from homed.memory.units import whole
from homed.store.rows import Tx, dumps

MODEL, RULES, NONE = "model", "rules", "none"
"""Passes: what made records of an event.  none: rules found nothing in it, and a model may still look."""

NOT_TEMPORARY = "substr(h.scope, 1, 5) <> 'temp:'"
"""What agents say that agents made is theirs alone, and nothing lasting is made of it (`homed.memory.temporary`)."""

_LASTING = f"SELECT 1 FROM threads h WHERE h.id = ? AND h.scope <> '' AND {NOT_TEMPORARY}"

AHEAD = 86_400.0
"""Seconds by which a time lies ahead that no clock that goes right has given."""

OPEN = ("", NONE)
"""What is no hindrance to another pass."""

_COOL = (
    "e.layer = 'cold' AND e.no_memory = 0 AND e.sunk_at <= :cool AND (e.created_at <= :cool OR e.created_at > :wrong)"
    " AND NOT EXISTS (SELECT 1 FROM accesses a WHERE a.event = e.id AND a.at > :cool AND a.at <= :wrong)"
    " AND (SELECT count(*) FROM accesses a WHERE a.event = e.id AND a.at > :old AND a.at <= :wrong) <= :most"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """An event has cooled at ``now`` (UTC seconds) when it was left alone for ``idle`` seconds, since it was said, sank
    or was looked at last, and was looked at ``accesses`` times at the most in the last 30 days.

    A time that lies more than a day ahead is of a clock that went wrong, and says nothing.
    """

    now: float
    idle: float
    accesses: int

    @property
    def params(self) -> dict[str, float]:
        """For ``_COOL``."""
        now = self.now
        return {"cool": now - self.idle, "old": now - REMEMBERED, "most": self.accesses, "wrong": now + AHEAD}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the order of cooling: by when it sank, then as it was said."""

    sunk_at: float = -1.0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn of which something is to be made.

    ``events``: what is remembered of it, in order, wherever it is now; ``cooled``: ids of those that are to leave the
    cold layer; ``fresh``: ids that no pass has made anything of yet.  ``foreign``: its input is no person's,
    a plugin said it; ``tainted``: words of strangers were in view when it was answered; ``names``: of a group's
    members; ``project``: that it was said in; ``mark``: the part of the kernel that began it, as ``Input.mark``.
    """

    turn: str
    thread: str
    scope: str
    peer: str
    at: float
    events: tuple[Event, ...]
    cooled: frozenset[str]
    fresh: frozenset[str]
    foreign: bool
    tainted: bool
    names: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    mark: str = ""

    @property
    def unread(self) -> bool:
        """Whether no pass has read yet what was asked in it."""
        return any(event.kind is EventKind.USER and event.id in self.fresh for event in self.events)

    @property
    def said(self) -> str:
        """What was asked in it, by a person or a plugin."""
        return "\n".join(event.text for event in self.events if event.kind is EventKind.USER)

    def own(self, event: Event) -> bool:
        """Whether it is what a person said: what a plugin put into the turn, or began it with, is not."""
        return event.kind is EventKind.USER and not self.foreign and not event.data.get("untrusted")


def set_right(tx: Tx, now: float) -> int:
    """What sank while the clock went far ahead begins to cool now; how many events."""
    tx.execute("UPDATE events SET sunk_at = ?1 WHERE layer = 'cold' AND sunk_at > ?1 + ?2", (now, AHEAD))
    return tx.changes()


def cooled(tx: Tx, rule: Rule, after: Place, limit: int) -> tuple[list[str], Place | None]:
    """The turns of the next ``limit`` events that have cooled, in the order of cooling, and where they end.

    None in the place of it: nothing is left.  A turn may come again with its other events.  What runs, and what belongs
    to a thread that is being removed, is not among them.
    """
    rows = tx.all(
        f"SELECT e.turn, e.sunk_at, e.seq FROM events e INDEXED BY events_cooling WHERE {_COOL}"
        " AND (e.sunk_at, e.seq) > (:sunk, :seq)"
        " AND EXISTS (SELECT 1 FROM turns t WHERE t.id = e.turn AND t.ended_at IS NOT NULL)"
        f" AND EXISTS (SELECT 1 FROM threads h WHERE h.id = e.thread AND h.scope <> '' AND {NOT_TEMPORARY})"
        " ORDER BY e.sunk_at, e.seq LIMIT :limit",
        {**rule.params, "sunk": after.sunk_at, "seq": after.seq, "limit": limit},
    )
    if not rows:
        return [], None
    return list(dict.fromkeys(row[0] for row in rows)), Place(rows[-1][1], rows[-1][2])


def piece(tx: Tx, turn: str, rule: Rule) -> Piece | None:
    """A turn as it is now; None when nothing of it has cooled any more."""
    ids = _whole(tx, turn, rule)
    found = remembered(tx, turn) if ids else None
    return None if found is None else replace(found, cooled=frozenset(ids))


def remembered(tx: Tx, turn: str) -> Piece | None:
    """A turn as it is now, wherever its events are, with nothing that is to leave the cold layer; None when nothing of
    it is remembered, or all that it was is an agent's that was made, or on its way out."""
    kept = [
        event
        for event in table.of_turn(tx, turn)
        if not event.no_memory and event.kind is not EventKind.NOTE and not is_inner(event)
    ]
    input_ = tx.one(  # of that which began it: others may have been put into it
        "SELECT untrusted OR mark <> '', peer, project, mark FROM inputs"
        " WHERE id = (SELECT input FROM turns WHERE id = ?)",
        (turn,),
    )
    if not kept or input_ is None or not tx.value(_LASTING, (kept[0].thread,)):
        return None
    fresh = tx.all("SELECT id FROM events WHERE turn = ? AND pass IN ('', 'none')", (turn,))
    # an answer says itself what from outside its model had before it, though it came with an earlier turn
    tainted = any(event.data.get("untrusted") or event.data.get(OUTSIDE) or shows_files(event) for event in kept)
    first = kept[0]
    return Piece(
        turn, first.thread, first.scope, str(input_[1]), first.created_at, tuple(kept), frozenset(),
        frozenset(row[0] for row in fresh).intersection(event.id for event in kept), bool(input_[0]), tainted,
        speakers.names(tx, first.scope, [event.peer for event in kept]), str(input_[2]), str(input_[3]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that no pass has read; ``foreign``: no person said it, a plugin did."""

    event: Event
    foreign: bool


def unread(tx: Tx, after: int, limit: int) -> list[Unread]:
    """The next messages, by seq from behind ``after``, of turns that are over, wherever they are now."""
    columns = ", ".join(f"e.{name}" for name in table.COLUMNS.split(", "))
    rows = tx.all(
        f"SELECT i.untrusted OR i.mark <> '', {columns} FROM events e INDEXED BY events_uncovered"
        " JOIN turns t ON t.id = e.turn JOIN inputs i ON i.id = t.input"
        " WHERE e.pass = '' AND e.no_memory = 0 AND e.kind = 'user' AND e.seq > ? AND t.ended_at IS NOT NULL"
        f" AND EXISTS (SELECT 1 FROM threads h WHERE h.id = e.thread AND h.scope <> '' AND {NOT_TEMPORARY})"
        " ORDER BY e.seq LIMIT ?",
        (after, limit),
    )
    return [Unread(table.from_row(row[1:]), bool(row[0])) for row in rows]


def cover(tx: Tx, ids: Collection[str], by: str) -> None:
    """These were in the transcript of a pass.  What an earlier one covered stays its."""
    tx.execute(
        "UPDATE events SET pass = ? WHERE pass IN ('', 'none') AND id IN (SELECT value FROM json_each(?))",
        (by, dumps(sorted(ids))),
    )


def archive(tx: Tx, turn: str, rule: Rule) -> int:
    """What of the turn is still as cool leaves the cold layer, with its blocks; how many events.

    What somebody looked at meanwhile, or took back into the window, stays where it is.
    """
    ids = _whole(tx, turn, rule)
    tx.execute(
        "UPDATE events SET layer = 'archived', source = '' WHERE id IN (SELECT value FROM json_each(?))",
        (dumps(sorted(ids)),),
    )
    return len(ids)


def _whole(tx: Tx, turn: str, rule: Rule) -> frozenset[str]:
    """What of the turn has cooled, in whole units: a call stays as long as its results do."""
    rows = tx.all(f"SELECT e.id FROM events e WHERE e.turn = :turn AND {_COOL}", {**rule.params, "turn": turn})
    cool = {row[0] for row in rows}
    if not cool:
        return frozenset()
    outlines = tx.all(f"SELECT {table.OUTLINE} FROM events WHERE turn = ? ORDER BY seq", (turn,))
    units = whole([table.from_row(row) for row in outlines], lambda event: event.tokens)
    return frozenset(
        event.id
        for unit in units
        if all(event.id in cool for event in unit.events if event.layer == "cold")
        for event in unit.events
        if event.id in cool
    )
