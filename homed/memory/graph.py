"""The graph: entities, the facts between them, and the media their evidence came with.

A fact with a subject is an edge from it to its object, where that is an entity, or to a value.  Only what holds is
walked: what was superseded, hidden, archived or is doubted leads nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from homed.memory import entities, stable
from homed.memory.entities import Entity
from homed.memory.normal import normal
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps

DEPTH = 2
CAP = 20
"""Entities of one recall."""

MOST_FACTS = 200
"""Facts that are looked at from one depth: somebody of whom everything is known must not fill a recall alone."""

MOST_BLOCKS = 20
_BEST = "importance DESC, confidence DESC, updated_at DESC, seq DESC"
_HOLDS = "record = 'fact' AND status = 'active'"


@dataclass(frozen=True, slots=True)
class BlockNode:
    """A piece of media that an event brought which is evidence of a fact; ``words``: found in its message's files."""

    id: str
    event: str
    name: str
    media_type: str
    words: str


@dataclass(frozen=True, slots=True)
class Reached:
    """What was reached: ``entities`` the nearest first, those that were asked for at their head; ``facts`` that touch
    them, those of the nearest first, then the best; ``blocks`` of their evidence."""

    entities: tuple[Entity, ...] = ()
    facts: tuple[Record, ...] = ()
    blocks: tuple[BlockNode, ...] = ()

    @property
    def vouched(self) -> tuple[Entity, ...]:
        """Those entities that something tells of which is not made of words of strangers: a name is words too."""
        known = {end for fact in self.facts if not fact.untrusted for end in (fact.subject, fact.object_entity)}
        return tuple(entity for entity in self.entities if entity.id in known)


@dataclass(frozen=True, slots=True)
class Index:
    """What is known of a scope, in short: how many entities and facts, the most mentioned names (most first), the best
    facts."""

    entities: int
    facts: int
    names: tuple[str, ...]
    best: tuple[Record, ...]


def recall(
    tx: Tx, *, scope: str, names: Sequence[str], depth: int = DEPTH, cap: int = CAP, peer: str = ""
) -> Reached:  # fmt: skip
    """Breadth first from these names, aliases or ids, up to ``depth`` edges and ``cap`` entities of the scope.

    A name that means no entity is looked for inside of names ("Petrova" finds "Anna Petrova"); "I" is whoever speaks
    (in a group ``peer``).
    """
    found: dict[str, Entity] = {}
    for name in names:
        for entity in _meant(tx, scope, name, peer):
            if len(found) < cap:
                found.setdefault(entity.id, entity)
    facts: dict[str, Record] = {}
    frontier = list(found)
    for step in range(depth + 1):
        if not frontier:
            break
        touching = facts_of(tx, scope, frontier)
        facts |= {fact.id: fact for fact in touching if fact.id not in facts}
        if step == depth:
            break
        beyond = [end for fact in touching for end in (fact.subject, fact.object_entity) if end and end not in found]
        reached = _by_ids(tx, scope, list(dict.fromkeys(beyond))[: max(0, cap - len(found))])
        found |= {entity.id: entity for entity in reached}
        frontier = [entity.id for entity in reached]
    kept = tuple(fact for fact in facts.values() if _inside(fact, found))
    return Reached(tuple(found.values()), kept, blocks_of(tx, scope, [fact.id for fact in kept]))


def facts_of(tx: Tx, scope: str, ids: Collection[str], *, limit: int = MOST_FACTS) -> list[Record]:
    """Facts that hold and have one of these entities as subject or object, the best first."""
    among = "(SELECT value FROM json_each(?))"
    listed = dumps(sorted(ids))
    return stable.select(
        tx,
        f"seq IN (SELECT seq FROM records WHERE subject IN {among} AND {_HOLDS} UNION"
        f" SELECT seq FROM records WHERE object_entity IN {among} AND {_HOLDS}) AND +scope = ?"
        f" ORDER BY {_BEST} LIMIT ?",
        (listed, listed, scope, limit),
    )


def blocks_of(tx: Tx, scope: str, records: Collection[str], *, limit: int = MOST_BLOCKS) -> tuple[BlockNode, ...]:
    """Media of the events that these records rest on, newest first."""
    if not records:
        return ()
    rows = tx.all(  # from the evidence on: by its scope every event would be looked at
        "SELECT b.id, b.event, b.name, b.media_type, e.words FROM blocks b JOIN events e ON e.id = b.event"
        " WHERE +e.scope = ? AND +e.no_memory = 0 AND b.event IN (SELECT event FROM evidence WHERE record IN"
        " (SELECT value FROM json_each(?))) ORDER BY e.seq DESC, b.place LIMIT ?",
        (scope, dumps(sorted(records)), limit),
    )
    return tuple(BlockNode(*row) for row in rows)


def index(tx: Tx, *, scope: str, without: Collection[str] = (), names: int = 10, facts: int = 5) -> Index:
    """The index of a scope.  ``without``: ids of entities that are left out, and facts that name them."""
    left_out = frozenset(without)
    top = [entity for entity in entities.top(tx, scope, limit=names + len(left_out)) if entity.id not in left_out]
    best = stable.select(
        tx, f"scope = ? AND {_HOLDS} ORDER BY {_BEST} LIMIT ?", (scope, facts + MOST_FACTS if left_out else facts)
    )
    kept = [fact for fact in best if not {fact.subject, fact.object_entity} & left_out]
    known = int(tx.value(f"SELECT count(*) FROM records WHERE scope = ? AND {_HOLDS}", (scope,)))
    return Index(entities.count(tx, scope), known, tuple(entity.name for entity in top[:names]), tuple(kept[:facts]))


def _meant(tx: Tx, scope: str, name: str, peer: str) -> list[Entity]:
    found = entities.resolve(tx, scope, name, peer=peer)
    if found is not None:
        return [found]
    key = normal(name)
    if len(key) < entities.SHORTEST:
        return []
    rows = tx.all(
        "SELECT DISTINCT entity FROM entity_names WHERE scope = ? AND instr(' ' || key || ' ', ?) > 0 LIMIT ?",
        (scope, f" {key} " if key.isascii() else key, CAP),
    )
    return sorted(_by_ids(tx, scope, [row[0] for row in rows]), key=lambda entity: (-entity.mentions, entity.seq))


def _by_ids(tx: Tx, scope: str, ids: Sequence[str]) -> list[Entity]:
    """These of the scope, in the order given."""
    rows = tx.all(
        f"SELECT {entities.COLUMNS} FROM entities WHERE scope = ? AND id IN (SELECT value FROM json_each(?))",
        (scope, dumps(list(ids))),
    )
    found = {entity.id: entity for entity in map(entities.from_row, rows)}
    return [found[id_] for id_ in ids if id_ in found]


def _inside(fact: Record, found: Collection[str]) -> bool:
    """True when both ends that are entities were reached, or one is and the other a value."""
    ends = [end for end in (fact.subject, fact.object_entity) if end]
    return bool(ends) and all(end in found for end in ends)
