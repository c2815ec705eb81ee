"""People in the graph: their traits, how they stand to each other, and who is connected with whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from homed.errors import InvalidInput, NotFound
from homed.memory import entities, facts, graph, stable
from homed.memory.entities import Entity
from homed.memory.evidence import Evidence
from homed.memory.facts import Put
from homed.memory.newfact import NewFact
from homed.memory.normal import normal
from homed.memory.relations import INVERSE, SYMMETRIC, canonical
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps

MOST = 100
"""People, traits or relations of one answer."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a person stands to another: ``person`` is the ``relation`` of whom it is asked about, by ``fact``."""

    person: Entity
    relation: str
    fact: Record


@dataclass(frozen=True, slots=True)
class Person:
    """A person: ``names`` they are found by, ``traits`` (facts whose object is a value), and how others stand to
    them."""

    entity: Entity
    names: tuple[str, ...]
    traits: tuple[Record, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class By:
    """Who says it, when (``at``: now, UTC seconds) and in which scope: ``peer`` is whoever speaks; ``origin`` and
    ``extractor`` as of ``NewFact``; ``untrusted``: words of strangers."""

    scope: str
    at: float
    origin: str = "auto"
    extractor: str = "model"
    peer: str = ""
    untrusted: bool = False
    confidence: float = 0.6


def query(tx: Tx, scope: str, name: str, *, peer: str = "") -> Person:
    """What is known of a person of this scope, by id, name or alias ("I" is whoever speaks).  Raises NotFound."""
    entity = _person(tx, scope, name, peer)
    traits: list[Record] = []
    relations: list[Relation] = []
    for fact in graph.facts_of(tx, scope, [entity.id]):
        other = _other(tx, fact, entity)
        if other is not None:
            relations.append(Relation(other, _of_other(fact, entity), fact))
        elif fact.subject == entity.id and len(traits) < MOST:
            traits.append(fact)
    return Person(entity, tuple(entities.names(tx, entity.id)), tuple(traits), tuple(relations[:MOST]))


def list_(tx: Tx, scope: str, text: str = "", *, limit: int = MOST) -> list[Entity]:
    """People of a scope, the most mentioned first; with ``text``, those one of whose names has it."""
    rows = tx.all(
        f"SELECT {entities.COLUMNS} FROM entities e WHERE scope = ? AND type = 'person' AND (? = '' OR EXISTS"
        " (SELECT 1 FROM entity_names n WHERE n.entity = e.id AND instr(n.key, ?) > 0))"
        " ORDER BY mentions DESC, seq LIMIT ?",
        (scope, normal(text), normal(text), min(limit, MOST)),
    )
    return [entities.from_row(row) for row in rows]


def of_strangers(tx: Tx, ids: Collection[str]) -> frozenset[str]:
    """Those of these whom only words of strangers tell of, so that their names are such words too."""
    rows = tx.all(
        "SELECT e.value FROM json_each(?) e WHERE EXISTS (SELECT 1 FROM records WHERE subject = e.value"
        " OR object_entity = e.value) AND NOT EXISTS (SELECT 1 FROM records WHERE (subject = e.value"
        " OR object_entity = e.value) AND untrusted = 0)",
        (dumps(sorted(ids)),),
    )
    return frozenset(str(entity) for (entity,) in rows)


def set_trait(tx: Tx, by: By, name: str, trait: tuple[str, str], evidence: Sequence[Evidence] = ()) -> Put:
    """Say something of a person: ``trait`` is a relation and its value ("job", "nurse").

    Through the one writer of facts: a functional one (home, age …) takes the place of its older value.  Raises
    InvalidInput for an empty trait or what is no name.
    """
    relation, value = canonical(trait[0]), trait[1].strip()
    if not relation or not value:
        raise InvalidInput("A trait has a name and a value.")
    entity = entities.put(tx, by.scope, name, type="person", peer=by.peer, at=by.at)
    shown = relation.replace("_", " ")
    return _put(tx, by, entity, (f"{entity.name}: {shown} — {value}", relation, value, ""), evidence)


def relate(
    tx: Tx, by: By, first: str, relation: str, second: str, evidence: Sequence[Evidence] = ()
) -> Put:  # fmt: skip
    """Say that ``second`` is the ``relation`` of ``first`` ("boss"); seen from both sides, stored once.

    Raises InvalidInput for an empty relation, what is no name, or a person with themselves.
    """
    plain = canonical(relation)
    if not plain:
        raise InvalidInput("A relation needs a name.")
    one = entities.put(tx, by.scope, first, type="person", peer=by.peer, at=by.at)
    two = entities.put(tx, by.scope, second, type="person", peer=by.peer, at=by.at)
    if one.id == two.id:
        raise InvalidInput("A person stands in no relation to themselves.")
    known = _known(tx, by.scope, one, plain, two)
    if known is not None:  # said from the other side before
        one, plain, two = known
    text = f"{one.name}: {plain.replace('_', ' ')} — {two.name}"
    return _put(tx, by, one, (text, plain, two.name, "person"), evidence)


def network(tx: Tx, scope: str, name: str, *, depth: int = 2, cap: int = graph.CAP, peer: str = "") -> graph.Reached:
    """The people around a person, up to ``depth`` relations away, and the facts that connect them.  Raises NotFound."""
    start = _person(tx, scope, name, peer)
    found = {start.id: start}
    edges: dict[str, Record] = {}
    frontier = [start.id]
    for _ in range(depth):
        touching = [fact for fact in graph.facts_of(tx, scope, frontier) if fact.subject and fact.object_entity]
        reached: list[str] = []
        for fact in touching:
            for end in (fact.subject, fact.object_entity):
                entity = entities.get(tx, end) if end and end not in found and len(found) < cap else None
                if entity is not None and entity.type == "person":
                    found[entity.id] = entity
                    reached.append(entity.id)
        edges |= {fact.id: fact for fact in touching if fact.subject in found and fact.object_entity in found}
        frontier = reached
    return graph.Reached(tuple(found.values()), tuple(edges.values()))


def _person(tx: Tx, scope: str, name: str, peer: str) -> Entity:
    entity = entities.must(tx, scope, name, peer=peer)
    if entity.type != "person":
        raise NotFound(f"{entity.name} is not known as a person.")
    return entity


def _other(tx: Tx, fact: Record, entity: Entity) -> Entity | None:
    """The other end of a fact, if that is a person."""
    end = fact.object_entity if fact.subject == entity.id else fact.subject
    other = entities.get(tx, end) if end and end != entity.id else None
    return other if other is not None and other.type == "person" else None


def _of_other(fact: Record, entity: Entity) -> str:
    """What the other one is to ``entity``: the relation, or its inverse when the fact is told from the other side."""
    if fact.subject == entity.id or fact.relation in SYMMETRIC:
        return fact.relation
    return INVERSE.get(fact.relation, f"{fact.relation} of")


def _known(tx: Tx, scope: str, one: Entity, relation: str, two: Entity) -> tuple[Entity, str, Entity] | None:
    """The same relation as it was told from the other side, if it was."""
    turned = {relation} if relation in SYMMETRIC else {INVERSE[relation]} if relation in INVERSE else set()
    turned |= {name for name, other in INVERSE.items() if other == relation}
    found = stable.select(
        tx,
        "scope = ? AND record = 'fact' AND status = 'active' AND subject = ? AND object_entity = ?",
        (scope, two.id, one.id),
    )
    match = next((fact for fact in found if fact.relation in turned), None)
    return None if match is None else (two, match.relation, one)


def _put(tx: Tx, by: By, entity: Entity, said: tuple[str, str, str, str], evidence: Sequence[Evidence]) -> Put:
    text, relation, value, type_ = said
    observed = entities.observed(tx, by.scope, entity.id, by.peer)
    new = NewFact(
        scope=by.scope, text=text, subject=entity.id, relation=relation, object=value, object_type=type_,
        confidence=by.confidence, origin=by.origin, extractor=by.extractor, peer=by.peer, untrusted=by.untrusted,
        observed=observed,
    )  # fmt: skip
    return facts.put(tx, new, evidence, at=by.at)
