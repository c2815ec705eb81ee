"""Conversations of weeks, made from a bank of phrases: facts told, changed and hinted at among talk about the same
people and things.

A fact is told in one of several ways, sometimes only as an answer whose subject stands in the question before it; it is
asked for in words of its own or in others.  Brothers of it (the same said of somebody else, or something else said of
the same one) are as many as facts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.sets.chance import Chance
from benchmarks.sets.rows import History

SLOT = re.compile(r"\{(\w)\}")
Values = dict[str, str]


@dataclass(slots=True)
class Fact:
    """``gold``: where it was told; for one that has changed, the last time."""

    relation: str
    values: Values
    kind: str = ""
    gold: str = ""
    replaces: Fact | None = None
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """How much of what a history holds."""

    each: int
    """Facts of a relation."""
    changes: int
    """Of a hundred facts that may change, so many do."""
    turns: int
    """Events of the whole history, about."""
    questions: int


@dataclass(slots=True)
class _Cast:
    """Who and what a history is about."""

    pools: Mapping[str, Sequence[str]]
    roles: dict[str, str] = field(default_factory=dict)


class Dialogue:
    """Makes histories from one bank."""

    def __init__(self, bank: Path, seed: str) -> None:
        self._bank: dict[str, Any] = tomllib.loads(bank.read_text("utf-8"))
        self._relations: dict[str, dict[str, Any]] = {r["name"]: r for r in self._bank["relation"]}
        self._chance = Chance(seed)
        self._user, self._other = self._bank["speakers"]
        self.between: str = self._bank["between"]
        """What stands between two sentences."""

    def history(self, name: str, shape: Shape) -> History:
        """One whole history, with its questions."""
        cast = self._cast()
        facts = self._facts(cast, shape)
        made = History(name)
        self._tell(made, cast, facts, shape)
        self._ask(made, cast, facts, shape.questions)
        return made

    def _cast(self) -> _Cast:
        chance, pools = self._chance, self._bank["pools"]
        people = chance.some(pools["person"], 16)
        kept = {
            "person": people,
            "project": chance.some(pools["project"], 9),
            "machine": chance.some(pools["machine"], 9),
        }
        named = chance.some(people, 6)
        return _Cast({**pools, **kept}, dict(zip(named, chance.some(pools["role"], 6), strict=True)))

    # -- what is so ------------------------------------------------------------------------------------------------

    def _facts(self, cast: _Cast, shape: Shape) -> list[Fact]:
        found: list[Fact] = []
        for name, relation in self._relations.items():
            first = next(iter(relation["slots"]))
            pool = cast.pools[relation["slots"][first]]
            for subject in self._chance.some(pool, shape.each):
                fact = Fact(name, self._values(relation, cast, {first: subject}))
                found.append(fact)
                if "new" in relation and self._chance.share(shape.changes):
                    found.append(self._change(relation, cast, fact, first))
        return found

    def _change(self, relation: Mapping[str, Any], cast: _Cast, old: Fact, subject: str) -> Fact:
        values = dict(old.values)
        while values == old.values:
            values = self._values(relation, cast, {subject: old.values[subject]})
        old.replaced = True
        return Fact(old.relation, values, "new", replaces=old)

    def _values(self, relation: Mapping[str, Any], cast: _Cast, given: Values) -> Values:
        return {slot: given.get(slot) or self._chance.one(cast.pools[pool]) for slot, pool in relation["slots"].items()}

    # -- how it is told --------------------------------------------------------------------------------------------

    def _tell(self, made: History, cast: _Cast, facts: Sequence[Fact], shape: Shape) -> None:
        order = self._chance.mixed([fact for fact in facts if fact.replaces is None])
        changes = self._chance.mixed([fact for fact in facts if fact.replaces is not None])
        early = [Fact("alias", {"p": person, "r": role}) for person, role in cast.roles.items()]
        line = self._chance.mixed([*early, *order[: len(order) // 2]]) + self._chance.mixed(
            [*order[len(order) // 2 :], *(c for c in changes if c.replaces in order[: len(order) // 2])]
        )
        line += self._chance.mixed([c for c in changes if c not in line])
        facts_left, made_turns = list(line), 0
        while facts_left:
            made.session()
            for fact in facts_left[:4]:
                self._small(made, cast)
                self._one(made, cast, fact)
                made_turns = len(made.events)
            facts_left = facts_left[4:]
            while (
                len(made.events) < shape.turns * (1 - len(facts_left) / len(line))
                and len(made.events) < made_turns + 40
            ):
                self._small(made, cast)
        self._aliases = {fact.values["p"]: fact.gold for fact in early}

    def _one(self, made: History, cast: _Cast, fact: Fact) -> None:
        chance = self._chance
        if fact.relation == "alias":
            fact.gold = made.say(self._user, filled(chance.one(self._bank["alias"]["say"]), fact.values))
        else:
            relation = self._relations[fact.relation]
            if fact.replaces is None and chance.share(30) and "talk" in relation:
                fact.kind = "reply"
                asked, answer = chance.one(relation["talk"])
                made.say(self._other, filled(asked, self._called(fact.values)))
                fact.gold = made.say(self._user, self._with_tail(filled(answer, fact.values), 15))
            else:
                said = filled(chance.one(relation["new" if fact.replaces else "say"]), self._called(fact.values))
                fact.gold = made.say(self._user, chance.one(self._bank["chat"]["lead_in"]) + self._with_tail(said, 30))
        if chance.share(60):
            made.say(self._other, self._said("reply", cast))

    def _called(self, values: Values) -> Values:
        """People of three characters go by their given name half of the time."""
        person = values.get("p", "")
        if len(person) == 3 and self._chance.share(40):
            return {**values, "p": person[1:]}
        return values

    def _with_tail(self, said: str, of_hundred: int) -> str:
        return _ended(said) + self._chance.one(self._bank["chat"]["more"]) if self._chance.share(of_hundred) else said

    def _small(self, made: History, cast: _Cast) -> None:
        for _ in range(1 + self._chance.below(2)):
            parts = [self._said("small", cast) for _ in range(2 if self._chance.share(35) else 1)]
            made.say(self._user, self.between.join(map(_ended, parts)) if len(parts) > 1 else parts[0])
            if self._chance.share(70):
                made.say(self._other, self._said("reply", cast))

    def _said(self, what: str, cast: _Cast) -> str:
        pools = {"p": "person", "q": "person", "j": "project", "s": "machine", "c": "city", "h": "shop", "t": "thing"}
        people = self._chance.some(cast.pools["person"], 2)
        values = {s: people.pop() if p == "person" else self._chance.one(cast.pools[p]) for s, p in pools.items()}
        return filled(self._chance.one(self._bank["chat"][what]), values)

    # -- how it is asked for ---------------------------------------------------------------------------------------

    def _ask(self, made: History, cast: _Cast, facts: Sequence[Fact], count: int) -> None:
        hops = self._chance.mixed(self._hops(facts, cast))[: count // 4]
        for text, gold in hops:
            made.ask(text, "multi-hop", gold)
        for several in self._bank["list"]:
            gold = [f.gold for f in facts if f.relation == several["relation"]]
            made.ask(self._chance.one(several["ask"]), "list", gold)
        current = [fact for fact in facts if not fact.replaced]
        for fact in self._chance.mixed(current)[: count - len(made.queries)]:
            kind, text = self._question(fact)
            made.ask(text, kind, [fact.gold])

    def _question(self, fact: Fact) -> tuple[str, str]:
        relation = self._relations[fact.relation]
        if fact.replaces is not None:
            return "changed", filled(self._chance.one(relation["now"]), fact.values)
        how = "ask" if self._chance.share(55) else "other"
        kind = fact.kind or {"ask": "same words", "other": "other words"}[how]
        return kind, filled(self._chance.one(relation[how]), fact.values)

    def _hops(self, facts: Sequence[Fact], cast: _Cast) -> list[tuple[str, list[str]]]:
        current = [fact for fact in facts if not fact.replaced]
        found = []
        for chain in self._bank["chain"]:
            for first in (f for f in current if f.relation == chain["first"]):
                for second in (f for f in current if f.relation == chain["second"]):
                    if first.values[chain["on"]] == second.values[chain["on"]]:
                        text = filled(self._chance.one(chain["ask"]), first.values)
                        found.append((text, [first.gold, second.gold]))
        for fact in current:
            person, asked = fact.values.get("p", ""), self._bank["alias"]["ask"].get(fact.relation)
            if person in cast.roles and asked:
                text = filled(self._chance.one(asked), {"r": cast.roles[person]})
                found.append((text, [self._aliases[person], fact.gold]))
        return found


def _ended(said: str) -> str:
    return said if said[-1] in "。！？!?.…" else f"{said}。"


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its slots filled."""
    return SLOT.sub(lambda found: values[found[1]], template)
