"""One record opened: what it says, word for word where that comes from, what it said before, what took its place, what
it is part of, and where it was cited and told.

Nothing is guessed: what can not be read any more is said to be unavailable, and whether an excerpt still is what was
said is found out anew each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from homed.errors import Conflict, NotFound
from homed.memory import browse, evidence, stable
from homed.memory import events as table
from homed.memory.evidence import Item
from homed.memory.hiding import HID
from homed.memory.injections import Injection, of_record
from homed.memory.records import Event
from homed.memory.stable import Record, Revision
from homed.store.rows import Tx, dumps

UNAVAILABLE = "source unavailable"
"""What stands where the original can not be read."""

AROUND = 400
"""Characters of an event that are shown before an excerpt and behind it."""

WHOLE = 1600
"""Characters of an event that is only pointed at."""

LONGEST_CHAIN = 20
"""Values of a chain of supersessions that are followed each way."""

MOST = 100
"""Citations, tellings, members and capsules that are listed, the newest."""

SCENE = "scene:"
"""What the tag of a record begins with that is pinned to a scene."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of evidence with the place it stands in.

    ``text``: verbatim, of the excerpt or, of a pointer, of the event's beginning; ``UNAVAILABLE`` where neither can be
    read.  ``before``, ``after``: what stands around it in the event; ``of``: characters of the whole event.
    ``hash_ok``: True and False as checked just now, None of a pointer.  ``upto``: it is of what the record said up to
    that revision; 0: of what it says now.
    """

    item: Item
    event: Event | None
    title: str
    text: str
    before: str = ""
    after: str = ""
    of: int = 0
    upto: int = 0

    @property
    def hash_ok(self) -> bool | None:
        """See above."""
        return {evidence.OK: True, evidence.MISMATCH: False}.get(self.item.state)


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer that named the record: its turn and conversation, UTC seconds."""

    turn: str
    thread: str
    title: str
    at: float


@dataclass(frozen=True, slots=True)
class Opened:
    """``mark``: manual, source, pointer or ''.  ``older``: what it took the place of, the nearest first; ``newer``:
    what took its place, the nearest first.  ``members``: of a capsule; ``capsules``: those that hold it.  ``scenes``:
    the keys of those it is pinned to.  ``told``: injections that had it, the newest first; ``titles`` of their
    threads."""

    record: Record
    mark: str
    said: tuple[Said, ...]
    revisions: tuple[Revision, ...]
    older: tuple[Record, ...]
    newer: tuple[Record, ...]
    members: tuple[Record, ...]
    capsules: tuple[Record, ...]
    cited: tuple[Cited, ...]
    told: tuple[Injection, ...]
    titles: dict[str, str]

    @property
    def source(self) -> str:
        """``UNAVAILABLE`` where nothing can be opened that it comes from, and no person wrote it; else ''."""
        readable = any(one.event is not None for one in self.said)
        return "" if readable or self.record.origin == "manual" else UNAVAILABLE

    @property
    def scenes(self) -> list[str]:
        """See above."""
        return [tag.removeprefix(SCENE) for tag in self.record.tags if tag.startswith(SCENE)]


def find(tx: Tx, scopes: frozenset[str], id_: str, *, hidden: bool = False) -> Record:
    """The record of these scopes that a whole id or its last eight digits name.  ``hidden``: also one that is.

    Raises NotFound; Conflict with ``candidates`` when several end so.
    """
    found = browse.named(tx, browse.Filters(scopes), id_)
    found = [record for record in found if hidden or record.status != "hidden"]
    if not found:
        raise NotFound(f"There is no record {id_[:40]}.", hint="Ids are the eight digits behind id: in a note.")
    if len(found) > 1:
        ids = [record.id for record in found]
        raise Conflict(f"Several records end in {id_[:40]}.", hint="Give the whole id.", detail={"candidates": ids})
    return found[0]


def open_(tx: Tx, record: Record) -> Opened:
    """Everything about it; whoever asks has made sure that it may be seen.  Of its own scope alone."""
    cited, told = _cited(tx, record), tuple(of_record(tx, record.id, limit=MOST))
    threads = {one.thread for one in told}
    return Opened(
        record=record, mark=browse.mark(tx, record), said=tuple(_said(tx, record)),
        revisions=tuple(stable.history(tx, record.id)), older=tuple(_older(tx, record)),
        newer=tuple(_newer(tx, record)),
        members=_of(tx, record, "id IN (SELECT record FROM members WHERE capsule = ?)"),
        capsules=_of(tx, record, "id IN (SELECT capsule FROM members WHERE record = ?)"),
        cited=cited, told=told, titles=titles(tx, threads),
    )  # fmt: skip


def for_turn(found: Opened) -> Opened:
    """What a turn may have of it: nothing hidden beside it, and nothing of before something was taken out of it."""
    kept = []
    for one in found.revisions:
        if one.why.startswith(HID):
            break
        kept.append(one)
    older, newer = (tuple(one for one in chain if one.status != "hidden") for chain in (found.older, found.newer))
    return replace(found, revisions=tuple(kept), older=older, newer=newer)


def titles(tx: Tx, threads: set[str]) -> dict[str, str]:
    """The titles of these conversations."""
    rows = tx.all(f"SELECT id, title FROM threads WHERE id IN {_AMONG}", (dumps(sorted(threads)),))
    return {str(id_): str(title) for id_, title in rows}


def _said(tx: Tx, record: Record) -> list[Said]:
    found = evidence.items(tx, record.id)
    ids = dumps(sorted({item.event for item in found}))
    rows = tx.all(f"SELECT {table.COLUMNS} FROM events WHERE id IN {_AMONG} AND +scope = ?", (ids, record.scope))
    events = {event.id: event for event in map(table.from_row, rows) if not event.no_memory}
    names = titles(tx, {event.thread for event in events.values()})
    upto: dict[int, int] = dict(tx.all("SELECT id, upto FROM evidence WHERE record = ?", (record.id,)))
    return [_piece(item, events.get(item.event), names, upto.get(item.id, 0)) for item in found]


def _piece(item: Item, event: Event | None, names: dict[str, str], upto: int) -> Said:
    if event is None:
        return Said(item, None, "", item.excerpt or UNAVAILABLE, upto=upto)
    title, whole = names.get(event.thread, ""), event.text
    if item.first is None or item.last is None:
        return Said(item, event, title, whole[:WHOLE], after=whole[WHOLE : WHOLE + AROUND], of=len(whole), upto=upto)
    before, after = whole[max(0, item.first - AROUND) : item.first], whole[item.last : item.last + AROUND]
    return Said(item, event, title, item.excerpt, before, after, len(whole), upto)


def _older(tx: Tx, record: Record) -> list[Record]:
    """What it took the place of, and what those had; each once, however they point at each other."""
    found: dict[str, Record] = {}
    frontier = [record.id]
    while frontier and len(found) < LONGEST_CHAIN:
        near = stable.select(
            tx, f"superseded_by IN {_AMONG} AND +scope = ? ORDER BY seq DESC LIMIT ?",
            (dumps(frontier), record.scope, LONGEST_CHAIN - len(found)),
        )  # fmt: skip
        fresh = [one for one in near if one.id not in found and one.id != record.id]
        found |= {one.id: one for one in fresh}
        frontier = [one.id for one in fresh]
    return list(found.values())


def _newer(tx: Tx, record: Record) -> list[Record]:
    found: dict[str, Record] = {}
    at: Record | None = record
    while at is not None and at.superseded_by and len(found) < LONGEST_CHAIN:
        at = stable.get(tx, at.superseded_by)
        if at is None or at.id in found or at.id == record.id or at.scope != record.scope:
            break
        found[at.id] = at
    return list(found.values())


def _of(tx: Tx, record: Record, where: str) -> tuple[Record, ...]:
    """Those beside it that are not hidden: what a person hid is shown by nothing that points at it."""
    rest = f"{where} AND +scope = ? AND status <> 'hidden' ORDER BY seq DESC LIMIT ?"
    return tuple(stable.select(tx, rest, (record.id, record.scope, MOST)))


def _cited(tx: Tx, record: Record) -> tuple[Cited, ...]:
    rows: Sequence[tuple[str, str, str, float]] = tx.all(
        "SELECT c.turn, t.thread, h.title, c.at FROM citations c JOIN turns t ON t.id = c.turn"
        " JOIN threads h ON h.id = t.thread WHERE c.record = ? AND h.scope = ? ORDER BY c.at DESC LIMIT ?",
        (record.id, record.scope, MOST),
    )
    return tuple(Cited(*row) for row in rows)
