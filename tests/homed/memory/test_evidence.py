"""Where records come from, and whether it still says so."""

from __future__ import annotations

from dataclasses import replace

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory import evidence, facts, stable, tombstones
from homed.memory.evidence import Evidence, Pointer, Span
from homed.memory.records import Event, EventKind
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


TEXT = "I keep\n  ten   hives of bees,\tin the garden. 我 养了 猫"
EVENT = Event("ev1", 1, "owner", "th", "t", "cli", "cli:owner", EventKind.USER, TEXT, 1.0)


@pytest.mark.parametrize(
    ("quote", "piece"),
    [
        ("ten   hives", "ten   hives"),
        ("I keep ten hives", "I keep\n  ten   hives"),
        (" hives of bees, in the garden. ", "hives of bees,\tin the garden."),
        ("养了\n猫", "养了 猫"),
        ("keep", "keep"),
    ],
)
def test_a_quote_is_found_where_it_stands_blanks_aside(quote: str, piece: str) -> None:
    span = evidence.find(EVENT, quote)
    assert isinstance(span, Span)
    assert TEXT[span.first : span.last] == piece


@pytest.mark.parametrize("quote", ["I keep eleven hives", "", "   ", "I KEEP", "hives.of"])
def test_what_does_not_stand_there_is_a_pointer(quote: str) -> None:
    assert evidence.find(EVENT, quote) == Pointer("ev1")


@given(st.text(max_size=60), st.data())
def test_every_piece_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    quote = text[first:last]
    place = evidence.locate(text, " ".join(quote.split()))
    if not quote.strip():
        assert place is None
        return
    assert place is not None
    assert text[slice(*place)].split() == quote.split()


def test_a_span_says_what_its_hash_says(speech: Speech) -> None:
    put = speech.fact("I keep bees.")
    [item] = evidence.items(speech.tx, put.record)
    assert (item.excerpt, item.first, item.last, item.state) == ("I keep bees.", 0, 12, "ok")
    assert evidence.check(speech.tx, put.record) == evidence.OK
    assert evidence.mark(speech.tx, speech.record(put)) == "source"


@pytest.mark.parametrize("change", ["excerpt = 'I keep cats.'", "hash = 'x'", "first = 1", "last = 11"])
def test_a_span_that_was_changed_is_a_mismatch_and_counts_as_a_pointer(speech: Speech, change: str) -> None:
    put = speech.fact("I keep bees.")
    speech.tx.execute(f"UPDATE evidence SET {change}")
    assert evidence.check(speech.tx, put.record) == evidence.MISMATCH
    assert evidence.mark(speech.tx, speech.record(put)) == "pointer"


def test_without_a_span_it_is_a_pointer_and_without_evidence_by_hand(speech: Speech) -> None:
    event = speech.say("I keep bees.")
    put = speech.put("Bees are kept by the user", Pointer(event.id))
    assert evidence.check(speech.tx, put.record) == evidence.MISSING
    assert evidence.mark(speech.tx, speech.record(put)) == "pointer"
    by_hand = speech.put("The attic is dry", origin="manual", extractor="manual")
    assert evidence.mark(speech.tx, speech.record(by_hand)) == "manual"
    assert evidence.mark(speech.tx, replace(speech.record(by_hand), origin="import")) == ""


def test_the_same_place_twice_is_one_and_a_pointer_beside_a_span_is_none(speech: Speech) -> None:
    event = speech.say("I keep bees. I keep bees.")
    put = speech.put(
        "I keep bees", Span(event.id, 0, 12), Span(event.id, 0, 12), Span(event.id, 13, 25), Pointer(event.id)
    )
    assert [item.first for item in evidence.items(speech.tx, put.record)] == [0, 13]


def test_an_excerpt_with_a_secret_is_not_copied(speech: Speech, db: apsw.Connection) -> None:
    event = speech.say("Bees: the password: hunter22 opens the gate")
    speech.put("The gate of the bees has a lock", Span(event.id, 0, len(event.text)))
    assert list(db.execute("SELECT first, excerpt, hash FROM evidence")) == [(None, "", "")]


def test_a_long_excerpt_keeps_its_beginning(speech: Speech) -> None:
    event = speech.say("bees " * 1000)
    put = speech.put("Many bees", Span(event.id, 0, 5000))
    [item] = evidence.items(speech.tx, put.record)
    assert (len(item.excerpt), item.last, item.state) == (evidence.LONGEST, evidence.LONGEST, "ok")


def test_why_a_piece_may_not_be_used(speech: Speech) -> None:
    event, private = speech.say("I keep bees."), speech.say("I keep bees.", no_memory=True)
    gone = speech.say("I keep bees.")
    tombstones.bury(speech.tx, "owner", events=[gone.id], at=1.0)
    pieces: list[Evidence] = [
        Span(event.id, 0, 12), Span(event.id, 5, 99), Span(event.id, 3, 3), Span(event.id, -1, 4), Pointer(private.id),
        Pointer("ev_none"), Pointer(gone.id),
    ]  # fmt: skip
    kept, drops = evidence.usable(speech.tx, "owner", pieces)
    assert [piece for piece, _ in kept] == [Span(event.id, 0, 12)]
    assert drops == {"span": 3, "no_memory": 1, "missing": 1, "forgotten": 1}
    assert evidence.usable(speech.tx, "guest:x", pieces)[0] == []


def test_evidence_of_a_thread_that_is_being_removed_is_none(speech: Speech) -> None:
    event = speech.say("I keep bees.")
    speech.tx.execute("UPDATE threads SET scope = ''")
    assert evidence.usable(speech.tx, "owner", [Pointer(event.id)])[1] == {"missing": 1}


def test_a_record_goes_with_its_last_evidence_and_is_looked_at_again_with_less(speech: Speech) -> None:
    event = speech.say("I keep bees.")
    put = speech.fact("I keep bees.", of=event)
    speech.fact("I keep bees!")
    by_hand = speech.put("I keep cats.", Pointer(event.id), origin="manual", extractor="manual")
    speech.tx.execute("DELETE FROM events WHERE id = ?", (event.id,))
    assert speech.record(put).recheck
    speech.tx.execute("DELETE FROM events WHERE id <> ?", (event.id,))
    assert stable.get(speech.tx, put.record) is None
    assert speech.record(by_hand).status == "active"
    assert facts.put(speech.tx, facts.NewFact("owner", "x y"), [Pointer(event.id)], at=1.0).why == "evidence"


def test_what_turns_out_to_be_private_is_evidence_of_nothing_any_more(speech: Speech) -> None:
    event = speech.say("I keep bees.")
    put = speech.fact("I keep bees.", of=event)
    speech.tx.execute("UPDATE events SET no_memory = 1 WHERE id = ?", (event.id,))
    assert stable.get(speech.tx, put.record) is None
