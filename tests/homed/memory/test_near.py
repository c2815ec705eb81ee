"""How many of the known facts a new one is held against: those that can matter, not all that are there."""

from __future__ import annotations

import pytest

from homed.memory import entities
from homed.memory.near import near, spoken_of
from homed.memory.newfact import NewFact
from homed.memory.relations import FUNCTIONAL
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech

MANY = 40


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def held_against(speech: Speech, text: str, relation: str, value: str, **more: object) -> list[Record]:
    new = NewFact(speech.scope, text, subject="user", relation=relation, object=value, **more)  # type: ignore[arg-type]
    user = entities.must(speech.tx, speech.scope, "user")
    return near(speech.tx, new, user.id, [speech.say(text).id], FUNCTIONAL)


def test_a_name_that_changed_many_times_is_held_against_the_one_that_holds(speech: Speech) -> None:
    for turn in range(MANY):
        speech.hear(f"My name is {('Anna', 'Bella')[turn % 2]}.")
    found = held_against(speech, "The user's name is Anna.", "name", "Anna")
    assert [(record.status, record.object) for record in found] == [("active", "Bella")]


def test_of_many_things_that_are_liked_only_those_that_may_be_the_same_are_looked_at(speech: Speech) -> None:
    for at in range(MANY):
        speech.hear(f"I like pla{chr(97 + at % 26)}{chr(97 + at // 26)} stories.")
    assert held_against(speech, "The user likes plume stories.", "likes", "plume stories") == []
    found = held_against(speech, "The user dislikes plaba stories.", "dislikes", "plaba stories")
    assert [record.object for record in found] == ["plaba stories"]


def test_what_strangers_say_is_held_against_what_they_said_before(speech: Speech) -> None:
    speech.hear("My name is Anna.")
    speech.fact("The user's name is Eve.", subject="user", relation="name", object="Eve", untrusted=True)
    found = held_against(speech, "The user's name is Eve.", "name", "Eve", untrusted=True)
    assert {record.status for record in found} == {"active", "quarantined"}
    assert [record.status for record in held_against(speech, "My name is Ida", "name", "Ida")] == ["active"]


@pytest.mark.parametrize(
    ("known", "told"),
    [("Москве", "Москву"), ("北京", "北 京"), ("Tea", "tea!"), ("1,000 puzzles", "1000 puzzles"), ("C++", "c++")],
)
def test_every_way_to_write_a_value_is_met(speech: Speech, known: str, told: str) -> None:
    speech.fact(f"They are fond of {known}", subject="user", relation="likes", object=known)
    found = held_against(speech, f"What pleases the user most of all: {told}", "likes", told)
    assert [record.object for record in found] == [known]


def test_what_a_text_may_speak_of_is_found_by_its_rare_words_first(tx: Tx, speech: Speech) -> None:
    for place in ("Bern", "Rome", "Oslo"):
        speech.fact(f"The sister of the user has a house in {place}.")
    name = speech.fact("用户叫李国宇。")
    project = speech.fact("The tests of the shop in Oslo run with make.", reach="project", project="abc-shop")
    gone = speech.fact("The user has a boat in Oslo.")
    tx.execute("UPDATE records SET status = 'hidden' WHERE id = ?", (gone.record,))
    found = [record.text for record in spoken_of(tx, "owner", "My sister sold her house in Oslo.", limit=2)]
    assert found[0].endswith("Oslo.")
    assert len(found) == 2
    assert [record.id for record in spoken_of(tx, "owner", "我叫李国松")] == [name.record]
    texts = {record.id for record in spoken_of(tx, "owner", "Oslo, again", project="abc-shop")}
    assert project.record in texts
    assert project.record not in {record.id for record in spoken_of(tx, "owner", "Oslo, again")}
    assert spoken_of(tx, "group:1", "My sister sold her house in Oslo.") == [], "of another scope nothing"
    assert spoken_of(tx, "owner", "") == []
