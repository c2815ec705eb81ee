"""What is hidden is repeated by nothing, made again by nothing, and comes back whole."""

from __future__ import annotations

import pytest

from homed.errors import Conflict
from homed.memory import capsules, facts, hiding, mutate, stable, tombstones
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer, find
from homed.memory.facts import NewFact
from homed.memory.records import Event
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech

SAID = "By the way, I am allergic to hazelnuts. And the train leaves at nine."


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def summary(speech: Speech, text: str, event: Event) -> Record:
    made = stable.insert(
        speech.tx,
        {"scope": "owner", "record": "summary", "kind": "turn", "text": text, "key": text, "origin": "auto",
         "extractor": "model"},
        at=speech.at,
    )  # fmt: skip
    speech.tx.execute("INSERT INTO evidence (record, event, at) VALUES (?, ?, 1.0)", (made, event.id))
    return speech.record(made)


def allergic(speech: Speech, event: Event) -> Record:
    new = NewFact(
        "owner", "The user is allergic to hazelnuts.", subject="user", relation="allergic_to", object="hazelnuts"
    )
    put = facts.put(speech.tx, new, [find(event, "I am allergic to hazelnuts")], at=speech.at)
    return speech.record(put)


def profile(speech: Speech, event: Event, text: str, *members: Record) -> Record:
    new = NewCapsule("owner", "profile", "The user", text, members=tuple(one.id for one in members))
    return speech.record(capsules.put_capsule(speech.tx, new, [Pointer(event.id)], at=speech.at))


def hide(speech: Speech, record: Record) -> hiding.Hidden:
    speech.at += 1
    return hiding.hide(speech.tx, record, at=speech.at)


def test_it_and_the_summary_that_says_the_same_are_hidden_and_come_back_together(speech: Speech) -> None:
    event = speech.say(SAID)
    fact, told = allergic(speech, event), summary(speech, "Is allergic to hazelnuts\n-\nNoted.", event)
    other = summary(speech, "Asked when the train leaves\n-\nAt nine.", event)
    assert hide(speech, fact).along == (told.id,)
    assert [speech.record(one.id).status for one in (fact, told, other)] == ["hidden", "hidden", "active"]
    speech.at += 1
    back = hiding.restore(speech.tx, speech.record(fact.id), at=speech.at)
    assert (back.record.status, back.along) == ("active", (told.id,))
    assert speech.record(told.id).status == "active"


def test_what_says_another_hidden_fact_too_stays_hidden(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    train = facts.put(speech.tx, NewFact("owner", "The train leaves at nine."), [Pointer(event.id)], at=speech.at)
    told = summary(speech, "Is allergic to hazelnuts; the train leaves at nine\n-\nNoted.", event)
    assert hide(speech, fact).along == (told.id,)
    hide(speech, speech.record(train))
    assert hiding.restore(speech.tx, speech.record(fact.id), at=speech.at + 1).along == ()
    assert speech.record(told.id).status == "hidden"


def test_in_another_language_the_words_that_were_said_tell(speech: Speech) -> None:
    event = speech.say("对了，我对榛子过敏。")
    put = facts.put(
        speech.tx, NewFact("owner", "The user is allergic to hazelnuts."), [find(event, "我对榛子过敏")], at=1.0
    )
    told = summary(speech, "用户说自己对榛子过敏\n-\n好的。", event)
    assert hide(speech, speech.record(put)).along == (told.id,)


def test_a_capsule_loses_the_sentence_and_gets_it_back(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    whole = "The user is allergic to hazelnuts. Takes the train at nine."
    capsule = profile(speech, event, whole, fact)
    assert hide(speech, fact).shortened == (capsule.id,)
    assert speech.record(capsule.id).text == "Takes the train at nine."
    back = hiding.restore(speech.tx, speech.record(fact.id), at=speech.at + 1)
    assert back.shortened == (capsule.id,)
    assert speech.record(capsule.id).text == whole


@pytest.mark.parametrize("first", [0, 1])
def test_two_sentences_of_a_capsule_come_back_in_whatever_order(speech: Speech, first: int) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    train = facts.put(speech.tx, NewFact("owner", "The train leaves at nine."), [Pointer(event.id)], at=speech.at)
    hidden = [fact, speech.record(train)]
    parts = ["The user is allergic to hazelnuts.", "The train leaves at nine.", "Plants need water."]
    capsule = profile(speech, event, " ".join(parts), *hidden)
    for one in hidden:
        hide(speech, one)
    assert speech.record(capsule.id).text == parts[2]
    back = [hidden[first], hidden[1 - first]]
    assert hiding.restore(speech.tx, speech.record(back[0].id), at=speech.at + 1).shortened == (capsule.id,)
    assert speech.record(capsule.id).text == f"{parts[first]} {parts[2]}", "the other is hidden still"
    hiding.restore(speech.tx, speech.record(back[1].id), at=speech.at + 2)
    assert speech.record(capsule.id).text == " ".join(parts)


def test_one_that_was_changed_since_stays_as_it_is(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    capsule = profile(speech, event, "The user is allergic to hazelnuts. Takes the train at nine.", fact)
    hide(speech, fact)
    stable.revise(speech.tx, speech.record(capsule.id), {"text": "Takes the bus."}, why="edited", at=speech.at)
    hiding.restore(speech.tx, speech.record(fact.id), at=speech.at + 1)
    assert speech.record(capsule.id).text == "Takes the bus."


def test_a_capsule_that_says_nothing_else_is_hidden_whole(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    capsule = profile(speech, event, "Is allergic to hazelnuts.", fact)
    assert hide(speech, fact).along == (capsule.id,)


def test_nothing_makes_it_again_by_itself_and_a_persons_word_does(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    hide(speech, fact)
    for text, relation in (("the user is allergic to HAZELNUTS", ""), ("Hazelnuts: an allergy.", "allergic_to")):
        new = NewFact("owner", text, subject="user", relation=relation, object="hazelnuts")
        again = facts.put(speech.tx, new, [Pointer(speech.say("hazelnuts again").id)], at=speech.at)
        assert (again.outcome, again.why) == ("refused", "forgotten")
    hiding.restore(speech.tx, speech.record(fact.id), at=speech.at)
    assert not tombstones.buried(speech.tx, "owner", fact.text)


def test_nor_in_the_words_that_it_had_before(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    stable.revise(speech.tx, fact, {"text": "Hazelnuts are bad for the user."}, why="edited", at=speech.at)
    hide(speech, speech.record(fact.id))
    assert tombstones.buried(speech.tx, "owner", "The user is allergic to hazelnuts.")


def test_what_was_history_is_history_again(speech: Speech) -> None:
    old = speech.fact("The user lives in Berlin.", subject="user", relation="home", object="Berlin")
    speech.fact("The user lives in Rome.", subject="user", relation="home", object="Rome")
    hide(speech, speech.record(old))
    assert hiding.restore(speech.tx, speech.record(old), at=speech.at).record.status == "superseded"


def test_of_two_values_the_one_that_is_brought_back_holds(speech: Speech) -> None:
    old = speech.fact("The user lives in Berlin.", subject="user", relation="home", object="Berlin")
    hide(speech, speech.record(old))
    new = speech.fact("The user lives in Rome.", subject="user", relation="home", object="Rome")
    assert hiding.restore(speech.tx, speech.record(old), at=speech.at).superseded == (new.record,)


@pytest.mark.parametrize("status", ["archived", "quarantined"])
def test_what_is_archived_or_doubted_comes_back_the_same_way(speech: Speech, status: str) -> None:
    put = speech.fact("The cat is black.")
    stable.update(speech.tx, put.record, {"status": status}, at=1.0)
    assert hiding.restore(speech.tx, speech.record(put), at=2.0).record.status == "active"


def test_twice_is_once_and_what_holds_can_not_come_back(speech: Speech) -> None:
    put = speech.fact("The cat is black.")
    hide(speech, speech.record(put))
    assert hide(speech, speech.record(put)).along == ()
    hiding.restore(speech.tx, speech.record(put), at=speech.at)
    with pytest.raises(Conflict, match="not hidden"):
        hiding.restore(speech.tx, speech.record(put), at=speech.at)


def test_nothing_of_another_scope_is_touched(speech: Speech) -> None:
    fact = allergic(speech, speech.say(SAID))
    guest = Speech(speech.tx, "guest:qq:1")
    other = guest.fact("The user is allergic to hazelnuts.")
    hide(speech, fact)
    assert guest.record(other).status == "active"
    assert not tombstones.buried(speech.tx, "guest:qq:1", fact.text)


@pytest.mark.parametrize("status", ["archived", "quarantined", "hidden"])
def test_a_capsule_that_was_out_of_sight_comes_back_without_what_was_hidden_meanwhile(
    speech: Speech, status: str
) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    whole = "The user is allergic to hazelnuts. Takes the train at nine."
    capsule = profile(speech, event, whole, fact)
    stable.update(speech.tx, capsule.id, {"status": status}, at=speech.at)
    assert hide(speech, fact).shortened == ()
    back = hiding.restore(speech.tx, speech.record(capsule.id), at=speech.at + 1)
    assert (back.record.status, back.record.text) == ("active", "Takes the train at nine.")
    assert not speech.tx.value("SELECT 1 FROM records WHERE status = 'active' AND text LIKE '%hazelnut%'")
    hiding.restore(speech.tx, speech.record(fact.id), at=speech.at + 2)
    assert speech.record(capsule.id).text == whole


def test_what_says_nothing_but_what_is_hidden_does_not_come_back_before_it(speech: Speech) -> None:
    event = speech.say(SAID)
    fact, told = allergic(speech, event), summary(speech, "Is allergic to hazelnuts\n-\nNoted.", event)
    hide(speech, fact)
    with pytest.raises(Conflict, match="which is hidden") as refused:
        hiding.restore(speech.tx, speech.record(told.id), at=speech.at + 1)
    assert refused.value.detail == {"record": fact.id}
    hiding.restore(speech.tx, speech.record(fact.id), at=speech.at + 1)
    assert speech.record(told.id).status == "active"


def test_what_was_history_says_nothing_hidden_when_it_holds_again(speech: Speech) -> None:
    event = speech.say(SAID)
    fact = allergic(speech, event)
    capsule = profile(speech, event, "The user is allergic to hazelnuts. Takes the train at nine.", fact)
    stable.update(speech.tx, capsule.id, {"status": "superseded"}, at=speech.at)
    hide(speech, fact)
    assert mutate.reinstate(speech.tx, speech.record(capsule.id), at=speech.at).record.text == (
        "Takes the train at nine."
    )
