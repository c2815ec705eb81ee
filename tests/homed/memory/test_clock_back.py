"""What was said while the clock went wrong, once it is right again."""

from __future__ import annotations

import pytest

from homed.store.rows import Tx
from tests.homed.memory.speech import DAY, Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def test_a_new_value_holds_though_the_one_before_bears_a_time_to_come(speech: Speech) -> None:
    speech.at += 3_650 * DAY
    berlin = speech.fact("The user lives in Berlin", subject="user", relation="home", object="Berlin")
    speech.at -= 3_650 * DAY
    paris = speech.fact("The user lives in Paris", subject="user", relation="home", object="Paris")
    assert speech.records() == ["The user lives in Paris"]
    assert (paris.outcome, paris.superseded) == ("supersedes", (berlin.record,))
    assert speech.record(berlin).valid_until == speech.at


def test_what_begins_in_a_time_to_come_does_not_end_by_what_holds_now(speech: Speech) -> None:
    soon = speech.fact(
        "The user lives in Berlin from May", subject="user", relation="home", object="Berlin",
        valid_from=speech.at + 90 * DAY,
    )  # fmt: skip
    speech.fact("The user lives in Paris", subject="user", relation="home", object="Paris")
    assert speech.record(soon).status == "active"


def test_what_was_said_while_an_older_statement_waited_for_the_store_still_holds(speech: Speech) -> None:
    old, new = speech.say("I live in Berlin."), speech.say("I live in Paris.")
    speech.fact("I live in Paris.", of=new, subject="user", relation="home", object="Paris")
    speech.at -= 5.0  # the pass looked at the clock, and then waited
    older = speech.fact("I live in Berlin.", of=old, subject="user", relation="home", object="Berlin")
    assert (older.outcome, older.why) == ("conflict", "older")
    assert speech.records() == ["I live in Paris."]
