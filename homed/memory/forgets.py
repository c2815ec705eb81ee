"""What somebody wants forgotten, as rows: looked up, told beforehand, and known until it is done."""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from homed.clock import new_id
from homed.errors import Conflict, NotFound
from homed.memory import forget, forget_agents, forget_peer, forget_todo, needles, repeats
from homed.memory.tombstones import keys
from homed.store.rows import Row, Tx, dumps, loads

KINDS = ("event", "fact", "entity", "peer", "thread")

LISTED = 100
"""Records that a preview names."""

SHORTEST = 8
"""Characters of an id's end that are enough to name it."""

_AMONG = "(SELECT value FROM json_each(?))"
_COLUMNS = "seq, id, kind, target, wide, upto, at, done_at, counts"
_HASHED = "hash:"
_IN = {"event": "events", "fact": "records", "entity": "entities", "thread": "threads"}


@dataclass(frozen=True, slots=True)
class Request:
    """One wish.  ``wide``: of an event its whole turn, of a fact or an entity the messages it comes from too.

    ``upto``: the newest event when it was asked for; what comes later is not meant.  ``target`` of a peer that is done
    is a keyed hash: who was forgotten can not be read here.
    """

    seq: int
    id: str
    kind: str
    target: str
    wide: bool
    upto: int
    at: float
    done_at: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go.  ``rechecked``: records that say other things or rest on other messages too, and are held against
    those.

    ``stays``: how many messages say it and would stay (of a fact or an entity, unless ``wide``).  ``records``: ids of
    those that go, as many as a list shows.  Rows of the ledger stay, with ids of what is gone.
    """

    kind: str
    target: str
    wide: bool
    scope: str
    counts: Mapping[str, int]
    rechecked: int = 0
    stays: int = 0
    busy: bool = False
    first: float | None = None
    last: float | None = None
    records: tuple[str, ...] = ()


def resolve(tx: Tx, kind: str, given: str, scopes: Collection[str] | None = None) -> str:
    """The whole id that an id, or the end of one, names; ``scopes``: only there (None: anywhere).

    Raises NotFound, and Conflict with ``candidates`` when several end so.
    """
    given = given.strip().removeprefix("id:")
    if kind == "peer":
        if not forget_peer.known(tx, given):
            raise NotFound(f"Nobody called {given[:80]} has spoken here.", hint="`homed peers list` names everybody.")
        return given
    table = _IN[kind]
    seen = "" if scopes is None else f" AND scope IN {_AMONG}"
    params = () if scopes is None else (dumps(sorted(scopes)),)
    rows = tx.all(f"SELECT id FROM {table} WHERE id = ? AND scope <> ''{seen}", (given, *params))
    if not rows and kind == "entity":
        rows = tx.all(f"SELECT id FROM entities WHERE name = ?{seen}", (given, *params))
    if not rows and len(given) >= SHORTEST:
        end = f"substr(id, -{len(given)}) = ? AND scope <> ''{seen} LIMIT 9"
        rows = tx.all(f"SELECT id FROM {table} WHERE {end}", (given.lower(), *params))
    if not rows:
        raise NotFound(f"There is no {kind} {given[:80]}.", hint="It may have been forgotten already.")
    if len(rows) > 1:
        raise Conflict(
            f"Several are meant by {given[:80]}.", hint="Give the whole id.",
            detail={"candidates": [row[0] for row in rows]},
        )  # fmt: skip
    return str(rows[0][0])


def ask(tx: Tx, kind: str, target: str, *, wide: bool, at: float, begun: str = "") -> Request:
    """Store the wish.  One that waits already is that one, and means from now on what came until now; ``begun``: the id
    of one that is being done, which is too far for that.  Raises Conflict while what it is about is being answered."""
    if busy(tx, kind, target, wide=wide):
        raise Conflict("A turn that it belongs to is being answered.", hint="Stop it, or wait for its end.")
    newest = "(SELECT coalesce(max(seq), 0) FROM events)"
    row = tx.one(
        f"UPDATE forgets SET upto = max(upto, {newest}), at = max(at, ?1) WHERE seq = (SELECT min(seq) FROM forgets"
        " WHERE kind = ?2 AND target = ?3 AND wide >= ?4 AND done_at IS NULL AND id <> ?5)"
        f" RETURNING {_COLUMNS}",
        (at, kind, target, int(wide), begun),
    ) or tx.one(
        f"INSERT INTO forgets (id, kind, target, wide, upto, at) VALUES (?, ?, ?, ?, {newest}, ?) RETURNING {_COLUMNS}",
        (new_id("forget"), kind, target, int(wide), at),
    )
    assert row is not None
    return _from_row(row)


def get(tx: Tx, id_: str) -> Request | None:
    """One of them as it is now."""
    row = tx.one(f"SELECT {_COLUMNS} FROM forgets WHERE id = ?", (id_,))
    return _from_row(row) if row else None


def waiting(tx: Tx) -> list[Request]:
    """Those not done, oldest first."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM forgets WHERE done_at IS NULL ORDER BY seq")
    return [_from_row(row) for row in rows]


def list_(tx: Tx, limit: int = 100) -> list[Request]:
    """The newest, newest first."""
    return [_from_row(row) for row in tx.all(f"SELECT {_COLUMNS} FROM forgets ORDER BY seq DESC LIMIT ?", (limit,))]


def count(tx: Tx, request: Request, counts: Mapping[str, int]) -> None:
    """So much more was removed for it."""
    before: dict[str, int] = loads(tx.value("SELECT counts FROM forgets WHERE id = ?", (request.id,))) or {}
    total = {name: before.get(name, 0) + counts.get(name, 0) for name in {*before, *counts}}
    tx.execute("UPDATE forgets SET counts = ? WHERE id = ?", (dumps(total), request.id))


FORGOTTEN = "(forgotten)"
"""What stands where a note had the words."""

_NOTES = (("crash_reports", "stderr"), ("threshold_changes", "reason"))


def blank_notes(tx: Tx, texts: Sequence[str]) -> None:
    """What a plugin wrote before it crashed may be what it was told, and why a threshold was moved, too."""
    for table, column in _NOTES:
        noted = tx.all(f"SELECT rowid, {column} FROM {table} WHERE {column} NOT IN ('', '(forgotten)')")
        if not noted:
            continue
        said = [one[: needles.LONGEST] for one in needles.of_texts(texts).sentences]
        gone = [rowid for rowid, note in noted if any(one in note for one in said)]
        tx.execute(f"UPDATE {table} SET {column} = '(forgotten)' WHERE rowid IN {_AMONG}", (dumps(gone),))


_BESIDE = (("threads", "title", "scope <> ''"), ("inputs", "text", "turn = '' AND outcome IS NOT NULL"))
"""What a person may want it taken out of besides: titles, and what was accepted and never began and no message has."""


def blank_text(tx: Tx, text: str) -> tuple[dict[str, int], set[str]]:
    """Take a text out of the same notes, of titles and of what never became a message, in whatever capitals, and leave
    the other words: rows changed by table, and how it was written in them."""
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    counts: dict[str, int] = {}
    spellings: set[str] = set()
    for table, column, where in (*((*one, "true") for one in _NOTES), *_BESIDE):
        for rowid, note in tx.all(f"SELECT rowid, {column} FROM {table} WHERE {column} <> '' AND {where}"):
            spellings |= (found := set(pattern.findall(note)))
            if found:
                left = pattern.sub(FORGOTTEN, note)
                tx.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (left, rowid))
                counts[table] = counts.get(table, 0) + 1
    return counts, spellings


def disguise(tx: Tx, request: Request) -> None:
    """Of a peer who is gone nothing but a hash stays here."""
    tx.execute("UPDATE forgets SET target = ? WHERE id = ?", (hashed(tx, request.target), request.id))


def done(tx: Tx, request: Request, *, at: float) -> None:
    """All of it is gone; the row stays, so that a backup of before is made to forget it too, and alone."""
    forget_todo.clear(tx, request.id)
    tx.execute("UPDATE forgets SET done_at = ? WHERE id = ?", (at, request.id))


def peer_of(tx: Tx, request: Request) -> str:
    """Whom a request is about that came with a backup and names its peer by a hash; '' when nobody here is that.

    In a writing transaction: the key of the hashes may have to be made.
    """
    if not request.target.startswith(_HASHED):
        return request.target
    return next((peer for peer in forget_peer.everybody(tx) if request.target in hashes(tx, peer)), "")


def hashed(tx: Tx, peer: str) -> str:
    """What stands for a forgotten peer."""
    return peer if peer.startswith(_HASHED) else hashes(tx, peer)[0]


def hashes(tx: Tx, peer: str) -> list[str]:
    """What may stand for somebody who was forgotten, here or in a house that a backup came from."""
    return [_HASHED + hmac.new(key, peer.encode(), sha256).hexdigest() for key in keys(tx)]


def busy(tx: Tx, kind: str, target: str, *, wide: bool = False) -> bool:
    """Whether a turn is under way whose events would go; ``wide``: also one of an agent that a turn made."""
    if kind == "event" and wide and forget_agents.left(tx, target).busy:
        return True
    if kind == "event":
        about = "i.turn <> '' AND i.turn = (SELECT turn FROM events WHERE id = ?)"
    elif kind == "peer":
        about = "i.peer = ? AND i.scope LIKE 'group:%'"  # elsewhere the whole conversation goes, and is stopped first
    else:
        return False
    return bool(tx.value(f"SELECT EXISTS (SELECT 1 FROM inputs i WHERE i.outcome IS NULL AND {about})", (target,)))


def dropped_scopes(tx: Tx) -> list[str]:
    """Scopes in which vectors were deleted that the file of an index may hold still."""
    return [str(scope) for (scope,) in tx.all("SELECT DISTINCT scope FROM vector_drops ORDER BY scope")]


def preview(tx: Tx, kind: str, target: str, *, wide: bool) -> Preview:
    """What would go; nothing is changed.  ``target``: as ``resolve`` gave it."""
    if kind == "peer":
        first, last, counts = forget_peer.counts(tx, target)
        return Preview(kind, target, wide, "", counts, busy=busy(tx, kind, target), first=first, last=last)
    scope = str(tx.value(f"SELECT scope FROM {_IN[kind]} WHERE id = ?", (target,)))
    todo = forget_todo.find(tx, kind, target, wide=wide)
    records = todo.record
    events = [*todo.event, *_of_threads(tx, todo.thread)]
    turns = forget_agents.left(tx, target).turns if kind == "event" and wide else 0
    among = dumps(events)
    files = tx.value(f"SELECT count(DISTINCT hash) FROM blocks WHERE event IN {_AMONG}", (among,))
    only, shared = _resting(tx, events)
    first, last = tx.all(f"SELECT min(created_at), max(created_at) FROM events WHERE id IN {_AMONG}", (among,))[0]
    stays = 0 if wide or kind in ("event", "thread") else len(forget.sources(tx, records))
    said = [repeats.of_id(tx, record) for record in records]
    gone = list(dict.fromkeys([*records, *(id_ for one in said for id_ in one.ids), *sorted(only)]))
    held = (shared | {capsule.id for one in said for capsule, _ in one.parts}) - set(gone)
    counts = {
        "events": len(events), "files": int(files), "records": len(gone), "entities": int(kind == "entity"),
        "agent_turns": turns, **_with_them(tx, gone),
    }  # fmt: skip
    return Preview(
        kind,
        target,
        wide,
        scope,
        counts,
        len(held),
        stays,
        busy(tx, kind, target, wide=wide),
        first,
        last,
        tuple(gone[:LISTED]),
    )


def _with_them(tx: Tx, records: Sequence[str]) -> dict[str, int]:
    """What goes with these records: what they said before, and their vectors."""
    listed = dumps(list(records))
    revisions = tx.value(f"SELECT count(*) FROM revisions WHERE record IN {_AMONG}", (listed,))
    items = f"SELECT seq FROM records WHERE id IN {_AMONG}"
    vectors = tx.value(f"SELECT count(*) FROM vectors WHERE kind = 'record' AND item IN ({items})", (listed,))
    return {"revisions": int(revisions), "vectors": int(vectors)}


def _of_threads(tx: Tx, threads: Sequence[str]) -> list[str]:
    rows = tx.all(f"SELECT id FROM events WHERE thread IN {_AMONG}", (dumps(list(threads)),))
    return [str(id_) for (id_,) in rows]


def _resting(tx: Tx, events: Sequence[str]) -> tuple[set[str], set[str]]:
    """Records that rest on these events alone, and those that rest on others too."""
    among = dumps(list(events))
    rows = tx.all(
        "SELECT v.record, r.origin, EXISTS (SELECT 1 FROM evidence o WHERE o.record = v.record AND o.event NOT IN"
        f" {_AMONG}) FROM evidence v JOIN records r ON r.id = v.record WHERE v.event IN {_AMONG} GROUP BY v.record",
        (among, among),
    )
    only = {str(record) for record, origin, others in rows if origin != "manual" and not others}
    return only, {str(record) for record, _, _ in rows} - only


def _from_row(row: Row) -> Request:
    seq, id_, kind, target, wide, upto, at, done_at, counts = row
    return Request(seq, id_, kind, target, bool(wide), upto, at, done_at, loads(counts) or {})
