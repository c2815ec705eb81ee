"""Forgetting somebody: what they said in groups, their own conversations, and every row that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from homed.memory import children, forget, forget_agents
from homed.memory.forget import Gone
from homed.store.rows import Tx, dumps

ROWS = 200

PAGE = 5000
"""Events looked at by one read."""

_AMONG = "(SELECT value FROM json_each(?))"


def known(tx: Tx, peer: str) -> bool:
    """Whether there is anything of theirs."""
    tables = ("peers WHERE id", "inputs WHERE peer", "events WHERE peer", "uploads WHERE peer")
    return any(tx.value(f"SELECT EXISTS (SELECT 1 FROM {where} = ?)", (peer,)) for where in tables)


def everybody(tx: Tx) -> list[str]:
    """Everybody who is known, or said something."""
    rows = tx.all("SELECT id FROM peers UNION SELECT DISTINCT peer FROM inputs")
    return [str(peer) for (peer,) in rows]


def threads(tx: Tx, peer: str) -> list[str]:
    """Conversations that go as a whole: of theirs alone, where nobody else's words are, and those of agents that work
    on their behalf wherever they were made, each after those of agents made in it."""
    rows = tx.all("SELECT id FROM threads WHERE scope IN (?, ?) ORDER BY id", _scopes(peer))
    made = tx.all(
        "SELECT thread FROM children WHERE peer = ?1 OR EXISTS (SELECT 1 FROM json_each(may, '$.behalf')"
        " WHERE value ->> 1 = ?1) ORDER BY rowid",
        (peer,),
    )
    agents = [one for (thread,) in made for one in (*forget_agents.below(tx, str(thread)), str(thread))]
    return list(dict.fromkeys([*agents, *(str(thread) for (thread,) in rows)]))


def events(tx: Tx, peer: str, *, after: int, upto: int) -> tuple[list[str], int]:
    """Events of theirs, and of turns that answered them, among a page of all behind ``after``; and where it ends.

    No index knows who said what: all are gone through, some at a time, by reading.  ``(…, 0)``: there are no more.
    """
    rows = tx.all(
        "SELECT seq, id, peer, turn FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?", (after, upto, PAGE)
    )
    turns = dumps(sorted({row[3] for row in rows if row[3]}))
    of_them = f"SELECT turn FROM inputs WHERE turn <> '' AND turn IN {_AMONG} AND peer = ?"
    theirs = {turn for (turn,) in tx.all(of_them, (turns, peer))}
    found = [str(id_) for _, id_, said_by, turn in rows if said_by == peer or turn in theirs]
    return found, int(rows[-1][0]) if len(rows) == PAGE else 0


def records(tx: Tx, peer: str) -> list[str]:
    """What was derived about them, or seen through their eyes, and all of scopes of theirs alone."""
    rows = tx.all(
        "SELECT id FROM records WHERE observer = ?1 OR observed = ?1 OR scope IN (?2, ?3)", (peer, *_scopes(peer))
    )
    return [str(id_) for (id_,) in rows]


def names(tx: Tx, peer: str) -> list[str]:
    """What they are called here: their id, its own part, the names they gave and were given."""
    row = tx.one("SELECT name, called FROM peers WHERE id = ?", (peer,))
    return [one for one in dict.fromkeys((peer, *(row or ()))) if one]


def remove_inputs(tx: Tx, peer: str, *, until: float, now: float) -> Gone:
    """Some of what they sent until then: inputs that have ended, with their turns; nothing when none is left.

    Their events are gone before.  What bears a time after ``now`` was sent before the clock was set back.
    """
    gone = Gone()
    rows = tx.all(
        "SELECT id, text, turn, outcome FROM inputs WHERE peer = ? AND outcome IS NOT NULL"
        " AND (accepted_at <= ? OR accepted_at > ?)"
        " AND NOT EXISTS (SELECT 1 FROM events WHERE events.turn = inputs.turn AND inputs.turn <> '') LIMIT ?",
        (peer, until, now, ROWS),
    )
    for _, text, _, outcome in rows:
        gone.note(text, outcome)
    ids, turns = dumps([row[0] for row in rows]), dumps([row[2] for row in rows if row[2]])
    for table, column, among in (
        ("ledger", "turn", turns), ("accesses", "turn", turns), ("uploads", "input", ids), ("turns", "input", ids),
        ("inputs", "id", ids),
    ):  # fmt: skip
        tx.execute(f"DELETE FROM {table} WHERE {column} IN {_AMONG}", (among,))
        gone.counts[table] += tx.changes()
    return gone


def remove_traces(tx: Tx, peer: str, *, at: float) -> Gone:
    """Every other row that names them; the events, records and conversations are gone before."""
    gone = Gone()
    gone.note(*names(tx, peer))
    mine = "SELECT entity FROM entity_names WHERE key = ? UNION SELECT id FROM entities WHERE scope IN (?, ?)"
    for (entity,) in tx.all(mine, (f"@{peer}", *_scopes(peer))):
        gone.add(forget.remove_entity(tx, entity, at=at))
    for table, column in _ROWS:
        tx.execute(f"DELETE FROM {table} WHERE {column} = ?", (peer,))
        gone.counts[table] += tx.changes()
    tx.execute("UPDATE events SET peer = '' WHERE peer = ? AND kind <> 'user'", (peer,))
    for table in _NAMING:
        tx.execute(f"UPDATE {table} SET peer = '' WHERE peer = ?", (peer,))
    for child, stored in tx.all("SELECT id, may FROM children WHERE instr(may, ?)", (peer,)):
        may = children.May.of(stored)  # an agent of somebody else, to which their messages went
        may = replace(may, inputs=tuple(one for one in may.inputs if one != peer))
        tx.execute("UPDATE children SET may = ? WHERE id = ?", (may.json(), child))
    return gone


def remove_scopes(tx: Tx, peer: str) -> None:
    """What is kept by scope, since one of theirs alone is named by them.  Last, once the indexes are done."""
    for table in ("word_counts", "record_counts", "tombstones", "vector_drops", "merges", "merged", "gates"):
        tx.execute(f"DELETE FROM {table} WHERE scope IN (?, ?)", _scopes(peer))


def _scopes(peer: str) -> tuple[str, str]:
    return f"guest:{peer}", f"trusted:{peer}"


_NAMING = ("spend_calls", "tracker_sets", "threshold_changes")
"""What was spent, changed and moved stays; for whom or by whom is not told any more."""

_ROWS = (("uploads", "peer"), ("logins", "peer"), ("api_keys", "peer"), ("rules", "peer"), ("peers", "id"))


def counts(tx: Tx, peer: str) -> tuple[float | None, float | None, dict[str, int]]:
    """When they first and last spoke, and how much there is of theirs."""
    own: Sequence[str] = threads(tx, peer)
    among = dumps(list(own))
    first, last, asked = tx.all(
        "SELECT min(accepted_at), max(accepted_at), count(*) FROM inputs WHERE peer = ?", (peer,)
    )[0]
    said = tx.value(
        f"SELECT count(*) FROM events WHERE thread IN {_AMONG} OR turn IN (SELECT turn FROM inputs WHERE peer = ? AND"
        f" turn <> '' AND thread NOT IN {_AMONG})",
        (among, peer, among),
    )
    found = {"threads": len(own), "events": int(said), "inputs": int(asked), "records": len(records(tx, peer))}
    for table, column in _ROWS:
        found[table] = int(tx.value(f"SELECT count(*) FROM {table} WHERE {column} = ?", (peer,)))
    return first, last, found
