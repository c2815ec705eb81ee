"""Whether the nodes of the graph, capsules and their members, and scopes belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.jobs.memcheck.check import Check, Look, RowCheck, Unmended, judged
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found, Rows
from homed.memory.normal import normal
from homed.memory.stable import CAPS
from homed.store.rows import Row, Tx

_HOST = "substr(n.key, 1, 1) = '@'"


def _name(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """By its shown name, where that is nobody else's: what means two things is for a person to merge."""
    del room
    count = 0
    for _, id_, _, scope, name in rows:
        if not normal(name):
            continue
        tx.execute(
            "INSERT OR IGNORE INTO entity_names (scope, key, name, entity) VALUES (?, ?, ?, ?)",
            (scope, normal(name), name, id_),
        )
        count += tx.changes()
    return count


def _unname(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many("DELETE FROM entity_names WHERE scope = ? AND key = ?", [(row[0], row[1]) for row in rows])
    return len(rows)


def _unlink(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """The words of a fact stay; what they are linked to is not there."""
    del room
    for seq, *_ in rows:
        for column in ("subject", "object_entity"):
            tx.execute(
                f"UPDATE records SET {column} = NULL WHERE seq = ? AND NOT EXISTS (SELECT 1 FROM entities e"
                f" WHERE e.id = records.{column} AND e.scope = records.scope)",
                (seq,),
            )
    return len(rows)


def _leave(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many("DELETE FROM members WHERE capsule = ? AND record = ?", [(row[0], row[1]) for row in rows])
    return len(rows)


@dataclass(frozen=True, slots=True)
class Caps(Unmended):
    """Records of each kind in each scope."""

    id: str = "caps"
    name: str = "How many records there are"

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        found = await room.store.read(_over)
        return judged(
            found, "records", "are more than their scope may have of their kind",
            "Nothing is lost: the next one of the kind lets those of the least worth go. Hide or forget what you do not"
            " need, before it does.",
            Status.WARN,
        )  # fmt: skip


def _over(tx: Tx) -> Found:
    rows = tx.all("SELECT scope, record, count(*) FROM records GROUP BY scope, record")
    over = [(scope, count - CAPS[record]) for scope, record, count in rows if count > CAPS.get(record, count)]
    read = sum(count for _, _, count in rows)
    return Found(read, read, sum(count for _, count in over), [], [scope for scope, _ in over])


_SCOPES = """(
    SELECT scope, 'records' AS place, count(*) AS number FROM records GROUP BY scope
    UNION ALL SELECT scope, 'entities', count(*) FROM entities GROUP BY scope
    UNION ALL SELECT scope, 'threads', count(*) FROM threads WHERE scope <> '' GROUP BY scope
)"""
"""A thread without a scope is one that is being removed."""


def _nobodys(tx: Tx, row: Row) -> bool:
    """Whether a scope belongs to nobody who was ever met: no person, no group, no agent."""
    (scope,) = row
    kind, _, rest = str(scope).partition(":")
    if scope == "owner" or tx.value("SELECT 1 FROM children WHERE scope = ?", (scope,)):
        return False
    if kind in ("trusted", "guest"):
        return tx.value("SELECT 1 FROM peers WHERE id = ?", (rest,)) is None
    return kind != "group" or ":" not in rest


CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="entity_names", name="Names of things", what="people and things", fault="have no name to be found by",
        fix="Repair gives each its shown name back; where another has that name, merge the two.",
        rows=Rows(
            "entities e", ("e.seq",), "e.id", "NOT EXISTS (SELECT 1 FROM entity_names n WHERE n.entity = e.id)",
            also=("e.scope", "e.name"),
        ),
        cure=_name,
    ),
    RowCheck(
        id="names_of_nothing", name="Names without a thing", what="names", fault="mean something that is gone",
        fix="Repair removes them.",
        rows=Rows(
            "entity_names n LEFT JOIN entities e ON e.id = n.entity", ("n.scope", "n.key"), "n.entity",
            "e.id IS NULL OR e.scope <> n.scope", start=("", ""),
        ),
        cure=_unname,
    ),
    RowCheck(
        id="fact_links", name="What facts are about", what="facts about people and things",
        fault="are linked to something that is gone, or another scope's",
        fix="Repair takes the link away; the words stay.",
        rows=Rows(
            "records r LEFT JOIN entities s ON s.id = r.subject LEFT JOIN entities o ON o.id = r.object_entity",
            ("r.seq",), "r.id",
            "(r.subject IS NOT NULL AND (s.id IS NULL OR s.scope <> r.scope))"
            " OR (r.object_entity IS NOT NULL AND (o.id IS NULL OR o.scope <> r.scope))",
            where="r.subject IS NOT NULL OR r.object_entity IS NOT NULL",
        ),
        cure=_unlink,
    ),
    RowCheck(
        id="members", name="Members of capsules", what="members of capsules",
        fault="are gone, of another scope, or in something that is no capsule", fix="Repair takes them out.",
        rows=Rows(
            "members m LEFT JOIN records c ON c.id = m.capsule LEFT JOIN records r ON r.id = m.record",
            ("m.capsule", "m.record"), "m.capsule",
            "c.id IS NULL OR r.id IS NULL OR c.record <> 'capsule' OR c.scope <> r.scope", start=("", ""),
        ),
        cure=_leave,
    ),
    Caps(),
    RowCheck(
        id="scopes", name="Whose memory it is", what="places where somebody's memory is",
        fault="belong to nobody who was ever here", status=Status.WARN,
        fix="Nobody is told what is in them. Export it (`homed memory export`), then forget it, or give the person"
        " their place back.",
        rows=Rows(_SCOPES, ("scope", "place"), "scope", also=("scope",), judge=_nobodys, start=("", "")),
    ),
)  # fmt: skip
"""In this order."""
