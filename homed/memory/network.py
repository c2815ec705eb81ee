"""The graph as a picture has it: nodes, and edges with the records that say so, around one node or of the best known.

Bounded twice: by how many nodes are walked, and by how many edges are shown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from homed.errors import NotFound
from homed.memory import entities, graph
from homed.memory.entities import Entity
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps

EDGES = 4
"""Edges a node that are shown at the most, on the average: more is no picture."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Network:
    """``center``: the id of the node in the middle, '' where it is of the best known; ``distance``: edges from there,
    by node; ``edges``: facts that hold, from their subject to their object, which is a node or a value; ``more``:
    whether there is more around than is shown; ``doubtful``: nodes that only words of strangers tell of."""

    nodes: tuple[Entity, ...]
    edges: tuple[Record, ...]
    distance: dict[str, int]
    center: str = ""
    more: bool = False
    doubtful: frozenset[str] = frozenset()


def around(tx: Tx, scope: str, center: str, *, depth: int, limit: int) -> Network:
    """What is at most ``depth`` edges from the entity of this id, name or alias.

    Raises NotFound, also where nothing that holds tells of it: a name alone is something that was said too.
    """
    middle = entities.must(tx, scope, center)
    if not _told_of(tx, scope, [middle.id]):
        raise NotFound("Nothing that holds tells of that.")
    found: dict[str, Entity] = {middle.id: middle}
    distance, edges = {middle.id: 0}, dict[str, Record]()
    frontier, more = [middle.id], False
    for step in range(1, depth + 1):
        if not frontier:
            break
        touching = graph.facts_of(tx, scope, frontier, limit=limit * EDGES)
        edges |= {fact.id: fact for fact in touching if fact.id not in edges}
        beyond = [end for fact in touching for end in (fact.subject, fact.object_entity) if end and end not in found]
        fresh = list(dict.fromkeys(beyond))
        more = more or len(fresh) > limit - len(found) or len(touching) == limit * EDGES
        reached = graph._by_ids(tx, scope, fresh[: max(0, limit - len(found))])
        found |= {entity.id: entity for entity in reached}
        distance |= {entity.id: step for entity in reached}
        frontier = [entity.id for entity in reached]
    shown, cut = _shown(edges, found, limit)
    return Network(tuple(found.values()), shown, distance, middle.id, more or cut, doubtful=_doubtful(tx, scope, found))


def best(tx: Tx, scope: str, *, limit: int) -> Network:
    """The most mentioned entities that something tells of which holds, and what is between them."""
    top = entities.top(tx, scope, limit=2 * limit)
    told = _told_of(tx, scope, [entity.id for entity in top])
    found = {entity.id: entity for entity in [one for one in top if one.id in told][:limit]}
    edges = {fact.id: fact for fact in graph.facts_of(tx, scope, list(found), limit=limit * EDGES)}
    shown, cut = _shown(edges, found, limit)
    more = cut or len(told) > len(found) or entities.count(tx, scope) > len(top)
    return Network(
        tuple(found.values()), shown, dict.fromkeys(found, 0), more=more, doubtful=_doubtful(tx, scope, found)
    )


def _shown(edges: dict[str, Record], found: Collection[str], limit: int) -> tuple[tuple[Record, ...], bool]:
    """The edges between what was found, as many as a picture holds, and whether there are more."""
    inside = [one for one in edges.values() if graph._inside(one, found)]
    return tuple(inside[: limit * EDGES]), len(inside) > limit * EDGES


def _doubtful(tx: Tx, scope: str, ids: Collection[str]) -> frozenset[str]:
    """Nodes of which nothing tells that is not made of words of strangers: their names are such words too."""
    return frozenset(ids) - _told_of(tx, scope, ids, " AND untrusted = 0")


def _told_of(tx: Tx, scope: str, ids: Collection[str], more: str = "") -> frozenset[str]:
    """Those of these entities that a fact names which holds."""
    listed = dumps(sorted(ids))
    holds = f"record = 'fact' AND status = 'active' AND scope = ?{more}"
    rows = tx.all(
        f"SELECT subject FROM records WHERE subject IN {_AMONG} AND {holds} UNION"
        f" SELECT object_entity FROM records WHERE object_entity IN {_AMONG} AND {holds}",
        (listed, scope, listed, scope),
    )
    return frozenset(str(id_) for (id_,) in rows)


def must_scope(scopes: Collection[str]) -> str:
    """The one scope that somebody sees.  A graph is of one: names of two scopes are never joined."""
    if len(scopes) != 1:
        raise NotFound("There is no graph to be seen.")
    return next(iter(scopes))
