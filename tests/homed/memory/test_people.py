"""People: traits, relations from both sides, networks."""

from __future__ import annotations

import pytest

from homed.errors import InvalidInput, NotFound
from homed.memory import entities, people
from homed.memory.people import By
from homed.store.rows import Tx
from tests.homed.memory.speech import NOW, Speech

HAND = By("owner", NOW, origin="manual", extractor="manual")


def test_a_trait_that_can_have_one_value_only_is_replaced(tx: Tx) -> None:
    first = people.set_trait(tx, HAND, "Anna", ("job", "nurse"))
    second = people.set_trait(tx, HAND, "anna", ("works as", "doctor"))
    people.set_trait(tx, HAND, "Anna", ("hobby", "bees"))
    people.set_trait(tx, HAND, "Anna", ("hobby", "cats"))
    assert second.superseded == (first.record,)
    person = people.query(tx, "owner", "Anna")
    assert {(fact.relation, fact.object) for fact in person.traits} == {
        ("job", "doctor"),
        ("hobby", "bees"),
        ("hobby", "cats"),
    }
    assert person.names == ("Anna",)
    assert person.entity.type == "person"


@pytest.mark.parametrize(
    ("relation", "seen"),
    [
        ("boss", "report"),
        ("spouse", "spouse"),
        ("married to", "spouse"),
        ("mother", "child"),
        ("rival", "rival of"),
        ("朋友", "friend"),
    ],
)
def test_a_relation_is_seen_from_both_sides(tx: Tx, relation: str, seen: str) -> None:
    people.relate(tx, HAND, "Anna", relation, "Bob")
    [of_anna] = people.query(tx, "owner", "Anna").relations
    [of_bob] = people.query(tx, "owner", "Bob").relations
    assert (of_anna.person.name, of_bob.person.name) == ("Bob", "Anna")
    assert of_bob.relation == seen
    assert of_anna.fact.id == of_bob.fact.id


def test_told_from_the_other_side_it_is_the_same(tx: Tx) -> None:
    first = people.relate(tx, HAND, "Anna", "boss", "Bob")
    again = people.relate(tx, HAND, "Bob", "report", "Anna")
    friends = people.relate(tx, HAND, "Anna", "friend", "Bob")
    turned = people.relate(tx, HAND, "Bob", "朋友", "Anna")
    assert (again.record, again.outcome) == (first.record, "same")
    assert (turned.record, turned.outcome) == (friends.record, "same")


def test_a_network_is_of_people_only(tx: Tx) -> None:
    for one, two in (("Anna", "Bob"), ("Bob", "Clara"), ("Clara", "Dora"), ("Eve", "Fay")):
        people.relate(tx, HAND, one, "friend", two)
    Speech(tx).fact("Anna lives in Rome", subject="Anna", relation="home", object="Rome", object_type="place")
    near = people.network(tx, "owner", "Anna")
    assert [entity.name for entity in near.entities] == ["Anna", "Bob", "Clara"]
    assert len(near.facts) == 2
    assert len(people.network(tx, "owner", "Anna", depth=9).entities) == 4
    assert len(people.network(tx, "owner", "Anna", depth=9, cap=2).entities) == 2


def test_people_by_what_their_names_have(tx: Tx) -> None:
    for name in ("Anna Stone", "Bob Stone", "Clara"):
        people.set_trait(tx, HAND, name, ("hobby", "bees"))
    entities.put(tx, "owner", "Stonehenge", type="place", at=1.0)
    people.set_trait(tx, HAND, "Clara", ("hobby", "cats"))
    assert [entity.name for entity in people.list_(tx, "owner")] == ["Clara", "Anna Stone", "Bob Stone"]
    assert [entity.name for entity in people.list_(tx, "owner", "stone")] == ["Anna Stone", "Bob Stone"]
    assert people.list_(tx, "guest:x") == []


def test_who_and_what_is_refused(tx: Tx) -> None:
    entities.put(tx, "owner", "Rome", type="place", at=1.0)
    for wrong in ("Nobody", "Rome"):
        with pytest.raises(NotFound):
            people.query(tx, "owner", wrong)
    for trait in (("", "x"), ("job", " ")):
        with pytest.raises(InvalidInput):
            people.set_trait(tx, HAND, "Anna", trait)
    for one, relation, two in (("Anna", " ", "Bob"), ("Anna", "friend", "anna"), ("A", "friend", "Bob")):
        with pytest.raises(InvalidInput):
            people.relate(tx, HAND, one, relation, two)


def test_whoever_speaks_is_a_person(tx: Tx) -> None:
    people.relate(tx, HAND, "I", "boss", "Bob")
    Speech(tx).hear("My name is Anna.")
    [boss] = people.query(tx, "owner", "我").relations
    assert (boss.person.name, boss.relation) == ("Bob", "boss")
    assert people.query(tx, "owner", "Anna").entity.id == people.query(tx, "owner", "me").entity.id


def test_without_evidence_nothing_is_said_by_itself(tx: Tx) -> None:
    assert people.set_trait(tx, By("owner", NOW), "Anna", ("job", "nurse")).why == "evidence"
