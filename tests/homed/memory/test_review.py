"""Facts that may be worth nothing."""

from __future__ import annotations

from homed.memory import review
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


def test_doubtful_and_empty_facts_come_in_batches_and_are_archived_or_made_surer(tx: Tx) -> None:
    speech = Speech(tx)
    doubtful = [speech.fact(f"Maybe {n} bees", confidence=0.2).record for n in range(12)]
    empty = speech.fact("Ana mentioned Bob", subject="Ana", relation="mentioned", object="Bob", confidence=0.35).record
    speech.fact("Bees are kept", confidence=0.6)
    speech.put("By hand", origin="manual", extractor="manual", confidence=0.1)
    first = review.batch(tx, "owner")
    assert [record.id for record in first] == doubtful[:10]
    second = review.batch(tx, "owner", after=first[-1].seq)
    assert [record.id for record in second] == [*doubtful[10:], empty]
    assert review.batch(tx, "guest:x") == []
    assert review.settle(tx, "guest:x", discard=doubtful, at=1.0) == 0
    gone = review.settle(tx, "owner", keep=[doubtful[0], empty], discard=doubtful, at=1.0)
    assert gone == 11
    assert speech.record(doubtful[1]).status == "archived"
    assert speech.record(doubtful[0]).status == "active"
    assert review.batch(tx, "owner") == []
    assert review.scopes(tx) == ["owner"]


def test_what_has_lost_evidence_is_looked_at_until_it_is_settled(tx: Tx) -> None:
    speech = Speech(tx)
    event = speech.say("I keep bees.")
    put = speech.fact("I keep bees.", of=event, confidence=0.8)
    speech.fact("I keep bees!")
    tx.execute("DELETE FROM events WHERE id = ?", (event.id,))
    assert [record.id for record in review.batch(tx, "owner")] == [put.record]
    review.settle(tx, "owner", keep=[put.record], at=2.0)
    assert review.batch(tx, "owner") == []
