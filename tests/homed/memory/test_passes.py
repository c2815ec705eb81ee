"""What is owed to turns, and what was stopped: rows that come and go with what they are of."""

from __future__ import annotations

import pytest

from homed.memory import forget_peer, passes
from homed.memory.evidence import Span
from homed.memory.passes import Owed
from homed.store.rows import Tx
from tests.homed.memory.speech import DAY, NOW, Speech

FIRST = (-1.0, "")


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def test_each_turn_that_ended_is_owed_one_oldest_first_and_one_that_runs_is_not(tx: Tx, speech: Speech) -> None:
    a, b = speech.say("one"), speech.say("two")
    running = speech.say("three").turn
    tx.execute("UPDATE turns SET ended_at = NULL WHERE id = ?", (running,))
    passes.settle(tx, [running])
    found = passes.owed(tx, FIRST, 10)
    assert found == [Owed(one.turn, one.thread, NOW + n * DAY, False, None) for n, one in ((1, a), (2, b))]
    assert passes.owed(tx, (found[0].at, found[0].turn), 10) == found[1:]
    assert passes.owed(tx, FIRST, 1) == found[:1]
    tx.execute("UPDATE turns SET ended_at = ? WHERE id = ?", (NOW + 9 * DAY, running))
    last = passes.owed(tx, FIRST, 10)
    assert [(one.turn, one.since) for one in last] == [(t, NOW + 9 * DAY) for t in (a.turn, b.turn, running)]
    assert passes.waiting(tx) == (3, NOW + DAY)


def test_it_goes_with_its_turn_and_when_it_is_settled(tx: Tx, speech: Speech) -> None:
    a, b = speech.say("one"), speech.say("two")
    passes.settle(tx, [a.turn])
    assert [one.turn for one in passes.owed(tx, FIRST, 10)] == [b.turn]
    tx.execute("DELETE FROM turns WHERE id = ?", (b.turn,))
    assert passes.waiting(tx) == (0, None)
    tx.execute("UPDATE turns SET ended_at = ended_at + 1 WHERE id = ?", (a.turn,))
    assert passes.waiting(tx) == (0, None), "it ended once"


def test_what_is_in_quarantine_is_owed_to_nobody_who_asks_and_still_waits(tx: Tx, speech: Speech) -> None:
    event = speech.say("one")
    tx.execute("INSERT INTO job_units VALUES ('pass', ?, 3, 1, 'timeout', 1)", (event.turn,))
    assert (passes.owed(tx, FIRST, 10), passes.held(tx, event.turn)) == ([], True)
    assert passes.waiting(tx)[0] == 1
    assert passes.written(tx, event.turn).state == "held"


def test_what_was_written_of_a_turn(tx: Tx, speech: Speech) -> None:
    event = speech.say("I keep bees.")
    assert passes.written(tx, event.turn) == passes.Written("waiting", {})
    passes.told(tx, [event.turn])
    made = speech.put("The user keeps bees.", Span(event.id, 0, 12))
    assert passes.written(tx, event.turn) == passes.Written("told", {"fact": (made.record,)})
    passes.settle(tx, [event.turn])
    tx.execute("UPDATE records SET status = 'hidden'")
    assert passes.written(tx, event.turn) == passes.Written("done", {})


def test_gates_add_up_by_scope_and_go_with_whose_it_is(tx: Tx) -> None:
    anna = "trusted:chat:anna"
    passes.count(tx, "owner", {"secret": 2, "known": 0}, at=1.0)
    passes.count(tx, "owner", {"secret": 1, "not_said": 4}, at=2.0)
    passes.count(tx, anna, {"secret": 5}, at=3.0)
    assert passes.gates(tx, ["owner"]) == {"not_said": 4, "secret": 3}
    assert passes.gates(tx, ["owner", anna]) == {"not_said": 4, "secret": 8}
    assert passes.gates(tx, []) == {}
    forget_peer.remove_scopes(tx, "chat:anna")
    assert passes.gates(tx, [anna]) == {}


def test_what_a_conversation_was_told_lately(tx: Tx, speech: Speech) -> None:
    event = speech.say("I keep bees.")
    made = speech.put("The user keeps bees.", Span(event.id, 0, 12))
    for n in range(10):
        tx.execute(
            "INSERT INTO injections (turn, scope, thread, at, mode, chars, ms) VALUES (?, 'owner', ?, ?, 'hit', 1, 1)",
            (event.turn, event.thread, NOW + n),
        )
    for place, (record, id_) in enumerate((("fact", made.record), ("event", event.id), ("fact", "fact_gone"))):
        tx.execute(
            "INSERT INTO injected (injection, place, id, record, band, chars)"
            " VALUES ((SELECT min(seq) + 4 FROM injections), ?, ?, ?, 'working', 1)",
            (place, id_, record),
        )
    assert passes.recalled(tx, event.thread, NOW + 9) == ["The user keeps bees.", "I keep bees."]
    assert passes.recalled(tx, event.thread, NOW + 3) == [], "what was told later is not what it heard"
    assert passes.recalled(tx, event.thread, NOW + 13) != []
    assert passes.recalled(tx, "thr_other", NOW + 9) == []
