"""Which messages a wish means."""

from __future__ import annotations

import pytest

from homed.memory import forget_peer, forget_reads
from homed.memory.records import EventKind
from homed.store.rows import Tx
from tests.homed.memory.speech import DAY, Speech

CALL = {"id": "c1", "name": "web_search", "arguments": {"near": "Mainz", "who": ["Zorblax Quent"]}}


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def holding(speech: Speech, *names: str) -> list[str]:
    found, _ = forget_reads.holding(speech.tx, scope="owner", names=names, after=0, upto=1_000)
    return found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("yesterday zorblax quent was here", "Zorblax Quent"),
        ("I met Jose\u0301 Blanco there", "Jos\u00e9 Blanco"),
        ("I met Jos\u00e9 Blanco there", "Jose\u0301 Blanco"),
        ("\uff21\uff4e\uff4e\uff41 \uff33\uff4d\uff49\uff54\uff48 came", "Anna Smith"),
        ("\u041c\u0410\u0420\u0418\u042f \u043f\u0440\u0438\u0448\u043b\u0430", "\u041c\u0430\u0440\u0438\u044f"),
    ],
)
def test_a_message_names_somebody_however_it_is_written(speech: Speech, text: str, name: str) -> None:
    named, _ = speech.say(text), speech.say("The river is cold in winter.")
    assert holding(speech, name) == [named.id]


def test_what_stands_in_a_picture_names_somebody_too(speech: Speech) -> None:
    shown, _ = speech.say("Look at this badge."), speech.say("The river is cold in winter.")
    speech.tx.execute("UPDATE events SET words = 'badge.png: ZORBLAX QUENT, guest' WHERE id = ?", (shown.id,))
    assert holding(speech, "Zorblax Quent") == [shown.id]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (EventKind.ASSISTANT, {"calls": [CALL]}),
        (EventKind.ASSISTANT, {"calls": [], "reasoning": "They ask for Zorblax Quent."}),
        (EventKind.TOOL, {"name": "web_search", "call_id": "c1", "args": CALL["arguments"]}),
    ],
)
def test_what_a_tool_was_asked_and_a_model_thought_names_somebody_too(
    speech: Speech, kind: EventKind, data: dict[str, object]
) -> None:
    event = speech.say("nothing found", kind=kind, data=data)
    assert holding(speech, "Zorblax Quent") == [event.id]


def test_the_name_of_a_tool_is_nobodys(speech: Speech) -> None:
    speech.say("nothing", kind=EventKind.TOOL, data={"name": "web_search", "call_id": "c1", "args": {}})
    speech.say("a", kind=EventKind.ASSISTANT, data={"calls": [{**CALL, "arguments": {}}], "final": False})
    assert holding(speech, "search", "calls", "final") == []


def test_what_somebody_sent_before_the_clock_was_set_back_is_theirs_too(speech: Speech) -> None:
    tx, now = speech.tx, speech.at
    for text in ("now", "in what was the future"):
        speech.say(text, peer="telegram:1")
        speech.at += 30 * DAY
    tx.execute("DELETE FROM passes; DELETE FROM events")
    left = "SELECT count(*) FROM inputs WHERE peer = 'telegram:1'"
    forget_peer.remove_inputs(tx, "telegram:1", until=now + 2 * DAY, now=now + 3 * DAY)
    assert tx.value(left) == 0


def test_what_they_sent_after_the_wish_is_not_meant(speech: Speech) -> None:
    tx, now = speech.tx, speech.at
    speech.say("later", peer="telegram:1")
    tx.execute("DELETE FROM events")
    forget_peer.remove_inputs(tx, "telegram:1", until=now + DAY / 2, now=now + 2 * DAY)
    assert tx.value("SELECT count(*) FROM inputs WHERE peer = 'telegram:1'") == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Shall we evaluate that?", "Eva"),
        ("Greetings from the sea.", "Rom"),
        ("The planning annoys.", "Ann"),
        ("A loan was johannas.", "Anna"),
        ("Она видела Романа", "Ром"),
    ],
)
def test_the_letters_of_a_short_name_within_another_word_are_nobody(speech: Speech, text: str, name: str) -> None:
    speech.say(text)
    assert holding(speech, name) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("evaluate it with Eva", "Eva"),
        ("that is Evas", "Eva"),
        ("Eva's cat, @eva_smith", "Eva"),
        ("我和Eva去了", "Eva"),
        ("昨天王明来了", "王明"),
        ("민수는 왔다", "민수"),
        ("Eva는 왔다", "Eva"),
        ("ראיתי ולאנה", "לאנה"),
        ("Tapasin Johannan", "Johanna"),
        ("Gutenbergs Presse", "Gutenberg"),
    ],
)
def test_a_name_with_an_ending_or_in_a_script_without_blanks_is_one(speech: Speech, text: str, name: str) -> None:
    said = speech.say(text)
    assert holding(speech, name) == [said.id]


def test_what_an_argument_of_a_tool_is_called_names_nobody_but_what_is_within_does(speech: Speech) -> None:
    args = {"city": "Mainz", "ages": {"Zorblax": 7}}
    event = speech.say("sunny", kind=EventKind.TOOL, data={"name": "t", "call_id": "c1", "args": args})
    assert holding(speech, "City") == []
    assert holding(speech, "Zorblax") == [event.id]
