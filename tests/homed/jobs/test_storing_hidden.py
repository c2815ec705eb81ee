"""What a pass makes of turns of which a person has hidden something."""

from __future__ import annotations

import pytest

from homed.jobs.storing import Extracted, Keeping, Matter, Stored, Summary, store
from homed.memory import cooling, hiding, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.records import Event
from homed.store.rows import Tx
from tests.homed.memory.conftest import db, tx
from tests.homed.memory.speech import Speech

__all__ = ["db", "tx"]

SAID = "I have diabetes and I plan a trip to Norway in May with my sister."
REST = "They plan a trip to Norway in May."


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def hidden(speech: Speech) -> tuple[Event, str]:
    """Something was said, a fact made of it, and a person has hidden that."""
    event = speech.say(SAID)
    fact = speech.fact("The user has diabetes", of=event)
    hiding.hide(speech.tx, speech.record(fact), at=speech.at)
    return event, fact.record


def passed(speech: Speech, event: Event, summary: str, capsule: str) -> Stored:
    tx = speech.tx
    piece = cooling.remembered(tx, event.turn)
    assert piece is not None
    told = Summary(summary, "-", "Noted", 5, (), "model", (piece,))
    about = NewCapsule("owner", "profile", "About the user", capsule, extractor="model")
    extracted = Extracted("model", (), (told,), (Matter(about, (Pointer(event.id),)),))
    return store(tx, [piece], extracted, Keeping(at=speech.at + 5))


def texts(tx: Tx, status: str) -> list[str]:
    found = stable.select(tx, "record <> 'fact' AND status = ? ORDER BY seq", (status,))
    return [record.text for record in found]


def test_no_summary_and_no_sentence_of_a_capsule_says_what_is_hidden(speech: Speech) -> None:
    event, fact = hidden(speech)
    stored = passed(speech, event, "The user told of their diabetes.", f"The user has diabetes. {REST}")
    assert texts(speech.tx, "active") == [REST]
    assert [one.record for one in stored.kept] == ["capsule"]
    assert stored.drops["forgotten"] == 1
    hiding.restore(speech.tx, speech.record(fact), at=speech.at + 10)
    assert texts(speech.tx, "active") == [
        "The user told of their diabetes.\n-\nNoted",
        f"The user has diabetes. {REST}",
    ]


def test_a_capsule_that_says_nothing_else_is_not_shown_either(speech: Speech) -> None:
    event, _ = hidden(speech)
    stored = passed(speech, event, "A trip to Norway in May.", "The user has diabetes.")
    assert texts(speech.tx, "active") == ["A trip to Norway in May.\n-\nNoted"]
    assert (stored.made, stored.drops["forgotten"]) == (1, 1)


def test_what_says_something_else_is_stored_as_it_is(speech: Speech) -> None:
    event, _ = hidden(speech)
    stored = passed(speech, event, "A trip to Norway in May.", REST)
    assert (stored.made, stored.drops) == (2, {})
    assert [record.revision for record in stable.select(speech.tx, "record <> 'fact'")] == [1, 1]


def test_a_summary_of_two_turns_comes_back_when_all_that_it_says_may_be_seen(speech: Speech) -> None:
    tx = speech.tx
    said = [speech.say("I keep seven hives of bees."), speech.say("I have a sister in Norway.")]
    bees, sister = (
        speech.fact(text, of=event).record
        for text, event in zip(("The user keeps bees", "The user has a sister"), said, strict=True)
    )
    pieces = [piece for event in said if (piece := cooling.remembered(tx, event.turn))]
    told = Summary("The user keeps bees and has a sister.", "-", "Noted", 5, (), "model", tuple(pieces))
    store(tx, pieces, Extracted("model", (), (told,)), Keeping(at=speech.at + 5))
    hiding.hide(tx, speech.record(bees), at=speech.at + 10)
    hiding.hide(tx, speech.record(sister), at=speech.at + 20)
    assert texts(tx, "active") == []
    hiding.restore(tx, speech.record(bees), at=speech.at + 30)
    assert texts(tx, "active") == []
    hiding.restore(tx, speech.record(sister), at=speech.at + 40)
    assert texts(tx, "active") == ["The user keeps bees and has a sister.\n-\nNoted"]
