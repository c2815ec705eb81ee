"""Rows of an export into memory: what is known stays as it is, what was forgotten here stays forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from homed.memory import forget, forgets, stable, threads, tombstones
from homed.memory.portable import BY_NAME, Carried
from homed.retrieval import index
from homed.store.rows import SqlValue, Tx, dumps

Named = Mapping[str, SqlValue]
Grounds = Mapping[str, Sequence[str]]
"""Record → the events that it rests on where it comes from."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from.  ``key``: names the keys of the tombstones there, with commas between; those of another
    place say nothing here.

    ``empty``: nothing was here before, so places in time and layers stay; else what comes is older than what is here,
    and so it is cold.  ``at``: now.
    """

    key: str
    empty: bool
    at: float


def take(
    tx: Tx, source: Source, *, table: Carried, rows: Sequence[Sequence[SqlValue]], grounds: Grounds
) -> Counter[str]:
    """Take these rows of a table in; how many were ``taken``, ``known``, ``forgotten``, ``revised``.

    ``grounds``: of the records that these rows are, or are of.
    """
    done: Counter[str] = Counter()
    if table.name == "tombstones" and set(source.key.split(",")).isdisjoint(tombstones.key_ids(tx)):
        return done
    peers = forgotten_peers(tx)
    for row in rows:
        named = dict(zip(table.columns, row, strict=True))
        if of_somebody_gone(tx, named, peers) or _forgotten(tx, table.name, named, grounds):
            done["forgotten"] += 1
            if table.name == "events":  # the conversation may be called by it
                threads.unname(tx, str(named["thread"]), [str(named["text"])], said=[str(named["text"])])
        else:
            done[_take(tx, table, named, empty=source.empty, at=source.at)] += 1
    if table.name == "events":
        index.catch_up(tx)
    return done


def forgotten_peers(tx: Tx) -> frozenset[str]:
    """Hashes of those who were forgotten here."""
    rows = tx.all("SELECT target FROM forgets WHERE kind = 'peer'")
    return frozenset(str(target) for (target,) in rows)


def of_somebody_gone(tx: Tx, row: Named, peers: frozenset[str]) -> bool:
    """Whether it names a peer who was forgotten here: as who said it, whose it is, or who is meant."""
    if not peers:
        return False
    said = [str(row.get(column, "")) for column in ("peer", "observer", "observed")]
    said += [str(row.get("scope", "")).partition(":")[2], str(row.get("key", "")).removeprefix("@")]
    return any(not peers.isdisjoint(forgets.hashes(tx, peer)) for peer in said if ":" in peer)


def _forgotten(tx: Tx, table: str, row: Named, grounds: Grounds) -> bool:
    """Whether the row itself was forgotten here, or what it is from."""
    scope, id_ = str(row.get("scope")), [str(row.get("id"))]
    if table == "records" and tombstones.buried(tx, scope, str(row["text"])):
        return True
    what = {"events": "event", "records": "record", "entities": "entity"}.get(table)
    if what is not None and tombstones.known_ids(tx, scope, what, id_):
        return True
    return _rested(tx, table, row, grounds)


def _rested(tx: Tx, table: str, row: Named, grounds: Grounds) -> bool:
    """Whether something that a record rested on was forgotten here: what it says, or said, may be from there.  What
    else it rests on is gone through again.  By hand, it rests on who wrote it, but what it said before is not known."""
    if table not in ("records", "revisions"):
        return False
    record = str(row["id" if table == "records" else "record"])
    scope = row.get("scope") or tx.value("SELECT scope FROM records WHERE id = ?", (record,))
    said = grounds.get(record, ())
    gone = tombstones.events(tx, str(scope), said)
    if not gone or row.get("origin") == "manual":
        return False
    if table == "records" and stable.get(tx, record) is None:
        forget.reopen(tx, {*said} - gone)
    return True


def _take(tx: Tx, table: Carried, row: Named, *, empty: bool, at: float) -> str:
    values = dict(row)
    if table.name in ("events", "entities", "records", "evidence") and (not empty or table.name != "events"):
        values.pop("id" if table.name == "evidence" else "seq")
    if table.name == "events" and not empty and values["layer"] == "context":
        values |= {"layer": "cold", "sunk_at": at}
    if table.name == "blocks" and not empty and values["holder_layer"] == "context":
        values["holder_layer"] = "cold"
    if table.name == "records":
        values["superseded_by"] = None  # set by ``settle``: it may come later
        for column in ("subject", "object_entity"):
            there = "SELECT 1 FROM entities WHERE id = ? AND scope = ?"
            if values[column] and not tx.value(there, (values[column], row["scope"])):
                values[column] = None
        if (known := stable.get(tx, str(row["id"]))) is not None:
            return _newer(tx, known, row, at)
    if not _can(tx, table.name, row):
        return "forgotten"  # what it belongs to was, or is another's here
    columns = ", ".join(f'"{name}"' for name in values)
    tx.execute(
        f"INSERT OR IGNORE INTO {table.name} ({columns}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    )
    taken = bool(tx.changes())
    return "taken" if taken else "known"


_NEEDS: Mapping[str, str] = {
    "events": "SELECT 1 FROM threads WHERE id = :thread AND scope = :scope",
    "blocks": "SELECT 1 FROM events WHERE id = :event",
    "entity_names": "SELECT 1 FROM entities WHERE id = :entity AND scope = :scope",
    "evidence": "SELECT 1 FROM records r JOIN events e ON e.scope = r.scope WHERE r.id = :record AND e.id = :event",
    "revisions": "SELECT 1 FROM records WHERE id = :record",
    "members": "SELECT 1 FROM records a, records b WHERE a.id = :capsule AND b.id = :record AND a.scope = b.scope",
    "merges": "SELECT 1 FROM entities a, entities b WHERE a.id = :first AND b.id = :second AND a.scope = b.scope",
}
"""What must be here for a row to be taken in, and of the same scope."""


def _can(tx: Tx, table: str, row: Named) -> bool:
    query = _NEEDS.get(table)
    return query is None or tx.value(query, row) is not None


def _newer(tx: Tx, known: stable.Record, row: Named, at: float) -> str:
    """A record that is here: what it says there, if that is newer, is a revision."""
    newer = int(str(row["revision"])) > known.revision and float(str(row["updated_at"])) > known.updated_at
    if known.scope != row["scope"] or not newer or row["text"] == known.text:
        return "known"
    names = ("title", "text", "key", "importance", "tags")
    stable.revise(tx, known, {name: row[name] for name in names}, why="import", at=at)
    return "revised"


def settle(tx: Tx, *, rows: Sequence[Sequence[SqlValue]]) -> int:
    """Once all is in: which record was superseded by which, and no record is without what it rests on.

    Returns how many records of these went again, for want of evidence.
    """
    table = BY_NAME["records"]
    named = [dict(zip(table.columns, row, strict=True)) for row in rows]
    link = "UPDATE records SET superseded_by = :superseded_by WHERE id = :id AND superseded_by IS NULL AND EXISTS"
    for row in named:
        tx.execute(f"{link} (SELECT 1 FROM records WHERE id = :superseded_by)", row)
    among = dumps([row["id"] for row in named])
    bare = "origin = 'auto' AND NOT EXISTS (SELECT 1 FROM evidence WHERE record = records.id)"
    tx.execute(f"DELETE FROM records WHERE id IN (SELECT value FROM json_each(?)) AND {bare}", (among,))
    return tx.changes()


def drop_empty(tx: Tx, *, threads: Sequence[str]) -> int:
    """Of these conversations, in which something was said where they come from, those of which nothing came in."""
    bare = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} WHERE thread = threads.id)" for table in ("events", "inputs", "turns")
    )
    tx.execute(f"DELETE FROM threads WHERE id IN (SELECT value FROM json_each(?)) AND {bare}", (dumps(list(threads)),))
    return tx.changes()


def drop_bare(tx: Tx, *, entities: Sequence[str]) -> int:
    """Of these, which records named where they come from, those that none names here: what did was forgotten."""
    bare = "NOT EXISTS (SELECT 1 FROM records WHERE subject = entities.id OR object_entity = entities.id)"
    tx.execute(
        f"DELETE FROM entities WHERE id IN (SELECT value FROM json_each(?)) AND {bare}", (dumps(list(entities)),)
    )
    return tx.changes()
