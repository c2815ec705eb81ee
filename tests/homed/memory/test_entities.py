"""Entities by their names."""

from __future__ import annotations

import pytest

from homed.errors import Conflict, InvalidInput, NotFound
from homed.memory import entities
from homed.store.rows import Tx


@pytest.mark.parametrize("name", ["Anna", "北京", "Ян", "C3", "a" * 50, "O'Brien", "Dr. Strange"])
def test_names(name: str) -> None:
    assert entities.valid(name)


@pytest.mark.parametrize("name", ["A", "京", "12", "  ", "a" * 51, "--", "A\n", "", "🐱🐱"])
def test_what_is_no_name(tx: Tx, name: str) -> None:
    assert not entities.valid(name)
    with pytest.raises(InvalidInput):
        entities.put(tx, "owner", name, at=1.0)


def test_a_name_means_one_entity_in_a_scope_and_another_in_another(tx: Tx) -> None:
    anna = entities.put(tx, "owner", "Anna", at=1.0)
    assert entities.put(tx, "owner", " anna ", type="person", at=2.0).id == anna.id
    assert entities.put(tx, "guest:x", "Anna", at=1.0).id != anna.id
    assert entities.resolve(tx, "owner", "ANNA!") == entities.get(tx, anna.id)
    assert entities.resolve(tx, "owner", anna.id) == entities.get(tx, anna.id)
    assert entities.resolve(tx, "guest:x", anna.id) is None
    with pytest.raises(NotFound):
        entities.must(tx, "owner", "Bob")


def test_a_thing_becomes_a_person_once_it_is_known_and_stays_one(tx: Tx) -> None:
    entities.put(tx, "owner", "Anna", at=1.0)
    assert entities.put(tx, "owner", "Anna", type="person", at=1.0).type == "person"
    assert entities.put(tx, "owner", "Anna", type="place", at=1.0).type == "person"
    assert entities.put(tx, "owner", "Rome", type="planet", at=1.0).type == "thing"


@pytest.mark.parametrize("word", ["I", "me", "the user", "User", "我", "用户", "я", "Пользователь"])
def test_whoever_speaks_is_one_person_in_every_language(tx: Tx, word: str) -> None:
    me = entities.speaker(tx, "owner", peer="cli:owner", at=1.0)
    assert me is not None
    assert entities.put(tx, "owner", word, peer="web:owner", at=1.0).id == me.id
    assert me.type == "person"


def test_in_a_group_it_is_the_peer_and_without_one_nobody(tx: Tx) -> None:
    a, b = (entities.put(tx, "group:x:1", "I", peer=peer, at=1.0) for peer in ("x:a", "x:b"))
    assert a.id != b.id
    assert entities.resolve(tx, "group:x:1", "me") is None
    assert entities.speaker(tx, "group:x:1", at=1.0) is None
    with pytest.raises(InvalidInput):
        entities.put(tx, "group:x:1", "I", at=1.0)


def test_who_is_renamed_is_found_by_both_names_and_has_a_new_vector(tx: Tx) -> None:
    anna = entities.put(tx, "owner", "Anna", at=1.0)
    tx.execute("DELETE FROM vector_todo")
    entities.rename(tx, anna, "Bella", at=2.0)
    assert entities.names(tx, anna.id) == ["Bella", "Anna"]
    assert tx.all("SELECT kind, item FROM vector_todo") == [("entity", anna.seq)]
    other = entities.put(tx, "owner", "Clara", at=1.0)
    assert not entities.alias(tx, anna, "Clara")
    with pytest.raises(Conflict):
        entities.rename(tx, other, "Anna", at=2.0)
    with pytest.raises(InvalidInput):
        entities.alias(tx, anna, "user")


def test_e30_the_most_mentioned_come_first(tx: Tx) -> None:
    for name, times in (("Anna", 1), ("Bob", 3), ("Clara", 2)):
        entity = entities.put(tx, "owner", name, at=1.0)
        for _ in range(times):
            entities.mention(tx, [entity.id], at=2.0)
    assert [entity.name for entity in entities.top(tx, "owner", limit=2)] == ["Bob", "Clara"]
    assert entities.count(tx, "owner") == 3


def test_the_form_in_a_tombstone_outlives_a_new_name(tx: Tx) -> None:
    me = entities.put(tx, "owner", "me", at=1.0)
    before = entities.form(tx, me.id)
    entities.rename(tx, me, "Anna", at=2.0)
    assert entities.form(tx, me.id) == before
    anna = entities.put(tx, "owner", "Bob", at=1.0)
    assert entities.form(tx, anna.id) == "Bob"
    assert entities.form(tx, "nobody") == ""


def test_a_removed_entity_leaves_its_facts_their_words(tx: Tx) -> None:
    from tests.homed.memory.speech import Speech

    speech = Speech(tx)
    put = speech.fact("Anna lives in Rome", subject="Anna", relation="home", object="Rome", object_type="place")
    anna, rome = entities.must(tx, "owner", "Anna"), entities.must(tx, "owner", "Rome")
    entities.remove(tx, anna.id)
    entities.remove(tx, rome.id)
    record = speech.record(put)
    assert (record.subject, record.object_entity, record.object) == (None, None, "Rome")
    assert entities.resolve(tx, "owner", "Anna") is None


@pytest.mark.parametrize("first", [0, 1])
def test_what_a_fact_leads_to_does_not_hang_on_which_of_the_two_was_told_first(tx: Tx, first: int) -> None:
    from tests.homed.memory.speech import Speech

    speech = Speech(tx)
    told = [("Anna is a friend of Boris", "Anna", "friend", "Boris"), ("Boris lives in Rome", "Boris", "home", "Rome")]
    puts = {}
    for text, subject, relation, value in told if first == 0 else told[::-1]:
        puts[subject] = speech.fact(text, subject=subject, relation=relation, object=value)
    assert speech.record(puts["Anna"]).object_entity == entities.must(tx, "owner", "Boris").id
    assert speech.record(puts["Boris"]).object_entity is None, "of Rome itself nothing is known"


def test_another_name_joins_what_was_told_of_it_and_nothing_of_another_scope(tx: Tx) -> None:
    from tests.homed.memory.speech import Speech

    speech = Speech(tx)
    put = speech.fact("Anna is a friend of Bobby", subject="Anna", relation="friend", object="Bobby")
    entities.put(tx, "guest:x", "Bobby", at=1.0)
    assert speech.record(put).object_entity is None
    boris = entities.put(tx, "owner", "Boris", at=1.0)
    assert entities.alias(tx, boris, "Bobby")
    assert speech.record(put).object_entity == boris.id
