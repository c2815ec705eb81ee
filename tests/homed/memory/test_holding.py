"""What holds a text, and what was said in a time: ids for who wants it forgotten."""

from __future__ import annotations

import pytest

from homed.memory import entities, facts, holding, stable
from homed.memory.newfact import NewFact
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def note(speech: Speech, text: str, at: float) -> str:
    return facts.put(speech.tx, NewFact("owner", text, origin="manual"), at=at).record


def test_a_text_is_found_in_any_capitals_wherever_it_stands(speech: Speech) -> None:
    said = [
        speech.say(text).id
        for text in ("Anna lives at FLOWER street 7.", "Nothing of it.", "Живу в ГРАЦЕ.", "我住在成都。")
    ]
    record = note(speech, "The flower street is long.", speech.at)
    assert holding.find(speech.tx, "flower Street").events == (said[0],)
    assert holding.find(speech.tx, "flower street").records == (record,)
    assert holding.find(speech.tx, "граце").events == (said[2],)
    assert holding.find(speech.tx, "成都").events == (said[3],)
    assert holding.find(speech.tx, "100%") == holding.Held()


def test_a_time_is_of_what_was_said_and_written_by_hand_then(speech: Speech) -> None:
    first = speech.say("Before.")
    early, late = (
        note(speech, "A note of before.", first.created_at),
        note(speech, "A later note.", first.created_at + 99),
    )
    found = holding.find(speech.tx, "", until=first.created_at + 1)
    assert (found.events, found.records, found.first) == ((first.id,), (early,), first.created_at)
    assert holding.find(speech.tx, "", since=first.created_at + 50).records == (late,)
    assert holding.find(speech.tx, "note", since=first.created_at + 50).records == (late,)


def test_more_than_one_look_gives_is_said(speech: Speech, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "MOST", 2)
    for n in range(3):
        note(speech, f"Bee number {n} is here.", speech.at)
    found = holding.find(speech.tx, "bee")
    assert (len(found.records), found.more) == (2, True)


def test_what_a_record_said_before_its_tags_its_excerpts_and_other_names_hold_it_too(speech: Speech) -> None:
    made = [note(speech, text, speech.at) for text in ("It rains.", "It snows.", "It hails.")]
    record = speech.record(made[0])
    stable.revise(speech.tx, record, {"text": "It is dry."}, why="edited", at=speech.at)
    stable.update(speech.tx, made[1], {"tags": '["Rains a lot"]'}, at=speech.at)
    said = speech.say("Whatever.")
    speech.tx.execute(
        "INSERT INTO evidence (record, event, first, last, excerpt, hash, at) VALUES (?, ?, 0, 5, 'rains', 'h', 1.0)",
        (made[2], said.id),
    )
    assert holding.find(speech.tx, "RAINS").records == tuple(made)
    speech.fact("Anna paints.", subject="Anna", relation="does", object="painting")
    anna = entities.must(speech.tx, "owner", "Anna")
    assert entities.alias(speech.tx, anna, "Annuschka")
    assert holding.find(speech.tx, "annuschka").entities == (anna.id,)


def test_where_else_it_stands_is_told_by_table(tx: Tx) -> None:
    tx.execute("INSERT INTO threshold_changes (key, was, now, reason, at) VALUES ('k', '1', '2', 'Zoltan came up', 1)")
    assert holding.elsewhere(tx, "zoltan") == (("threshold_changes", "reason", 1),)
    assert holding.elsewhere(tx, "ilona") == ()
