"""The five tools over people: what is known of one, who there is, a trait, a relation, and who is near whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homed.agent import notes
from homed.agent.ports import BuiltinTool, CallContext, FromOutside
from homed.builtin.entries import entry, number, string
from homed.builtin.grounds import Ground, Grounds
from homed.builtin.memory_recall import shown
from homed.builtin.memory_write import told
from homed.builtin.ports import MemoryPorts
from homed.identity.permissions import WRITE
from homed.memory import evidence, graph, people, speakers
from homed.memory.facts import Put
from homed.memory.people import By, Person
from homed.memory.stable import Record
from homed.retrieval import index
from homed.store.rows import Tx

LISTED, MOST_LISTED = 20, 50
DEPTH, DEEPEST = 2, 4


def people_tools(ports: MemoryPorts) -> tuple[BuiltinTool, ...]:
    """All of them."""
    return _query(ports), _list(ports), _set_trait(ports), _relate(ports), _network(ports)


def _query(ports: MemoryPorts) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        def read(tx: Tx) -> tuple[Person, dict[str, object], bool]:
            person = people.query(tx, context.scope, str(args["name"]), peer=context.peer)
            facts = [*person.traits, *(relation.fact for relation in person.relations)]
            return person, _person(tx, person, context.peer), any(fact.untrusted for fact in facts)

        person, answer, outside = await ports.store.read(read)
        ports.explicit.saw(context.scope, context.turn, [person.entity.id])
        return FromOutside(answer) if outside else answer

    return BuiltinTool(entry("person_query", {"name": string()}, ("name",), guest=False), run)


def _list(ports: MemoryPorts) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        limit = args.get("limit")
        most = limit if isinstance(limit, int) else LISTED

        def read(tx: Tx) -> tuple[list[dict[str, object]], bool]:
            found = people.list_(tx, context.scope, str(args.get("query", "")), limit=most)
            listed: list[dict[str, object]] = [
                {"name": notes.neutral(one.name), "mentions": one.mentions} for one in found
            ]
            return listed, bool(people.of_strangers(tx, [one.id for one in found]))

        listed, outside = await ports.store.read(read)
        return FromOutside({"people": listed}) if outside else {"people": listed}

    properties = {"query": string(), "limit": number(1, MOST_LISTED, f"{LISTED}.")}
    return BuiltinTool(entry("person_list", properties, (), guest=False), run)


def _set_trait(ports: MemoryPorts) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        name, trait, value = str(args["name"]), str(args["trait"]), str(args["value"])

        def write(tx: Tx) -> dict[str, object]:
            ground = Grounds(tx, context).of(name, value)
            by = _by(context, ground, ports.wall())
            return _done(tx, people.set_trait(tx, by, name, (trait, value), ground.evidence), ground)

        return await _written(ports, write)

    properties = {"name": string(), "trait": string(), "value": string()}
    declared = entry("person_set_trait", properties, ("name", "trait", "value"), guest=False, tool_class=WRITE)
    return BuiltinTool(declared, run)


def _relate(ports: MemoryPorts) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        person, relation, other = str(args["person"]), str(args["relation"]), str(args["other"])

        def write(tx: Tx) -> dict[str, object]:
            ground = Grounds(tx, context).of(person, other)
            by = _by(context, ground, ports.wall())
            return _done(tx, people.relate(tx, by, person, relation, other, ground.evidence), ground)

        return await _written(ports, write)

    properties = {"person": string(), "relation": string(), "other": string()}
    declared = entry("person_relate", properties, ("person", "relation", "other"), guest=False, tool_class=WRITE)
    return BuiltinTool(declared, run)


def _network(ports: MemoryPorts) -> BuiltinTool:
    async def run(context: CallContext, args: Mapping[str, object]) -> object:
        given = args.get("depth")
        depth = given if isinstance(given, int) else DEPTH
        reached = await ports.store.read(
            lambda tx: people.network(tx, context.scope, str(args["name"]), depth=depth, peer=context.peer)
        )
        ports.explicit.saw(context.scope, context.turn, [entity.id for entity in reached.entities])
        answer = _net(reached)
        return FromOutside(answer) if any(fact.untrusted for fact in reached.facts) else answer

    properties = {"name": string(), "depth": number(1, DEEPEST, f"{DEPTH}.")}
    return BuiltinTool(entry("person_network", properties, ("name",), guest=False), run)


def _by(context: CallContext, ground: Ground, at: float) -> By:
    return By(context.scope, at, peer=context.peer, untrusted=ground.untrusted, confidence=ground.confidence)


async def _written(ports: MemoryPorts, write: Callable[[Tx], dict[str, object]]) -> dict[str, object]:
    made = await ports.store.write(write)
    ports.stored()
    return made


def _done(tx: Tx, made: Put, ground: Ground) -> dict[str, object]:
    index.catch_up(tx)
    return told(tx, made, untrusted=ground.untrusted)


def _person(tx: Tx, person: Person, peer: str) -> dict[str, object]:
    traits = [
        {"trait": fact.relation, "value": notes.neutral(fact.object), **_mark(tx, fact)}
        if fact.relation
        else shown(fact, 0.0, evidence.mark(tx, fact), peer, speakers.names(tx, fact.scope, [fact.observed]))
        for fact in person.traits
    ]
    relations = [
        {"relation": one.relation, "who": notes.neutral(one.person.name), **_mark(tx, one.fact)}
        for one in person.relations
    ]
    also = list(map(notes.neutral, person.names[1:]))
    return {"name": notes.neutral(person.entity.name), "also": also, "traits": traits, "relations": relations}


def _mark(tx: Tx, fact: Record) -> dict[str, object]:
    doubt = {"untrusted": True} if fact.untrusted else {}
    return {"id": fact.shown_id, "evidence": evidence.mark(tx, fact) or "none", **doubt}


def _net(reached: graph.Reached) -> dict[str, object]:
    names = {entity.id: notes.neutral(entity.name) for entity in reached.entities}
    edges = [
        {"who": names[fact.object_entity], "relation": fact.relation, "of": names[fact.subject]}
        for fact in reached.facts
        if fact.subject in names and fact.object_entity in names
    ]
    return {"people": list(names.values()), "relations": edges}
