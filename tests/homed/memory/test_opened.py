"""A record opened: verbatim, with what is around it, and honest about what can not be read any more (B8)."""

from __future__ import annotations

import apsw
import pytest

from homed.errors import Conflict, NotFound
from homed.memory import capsules, facts, hiding, injections, mutate, opened, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer, Span
from homed.memory.facts import NewFact
from homed.memory.injections import Injection, Line
from homed.memory.mutate import Edit
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech

MINE = frozenset({"owner"})
SAID = "Before it. I moved to Bern in May. And after it."


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def open_(speech: Speech, record: str) -> opened.Opened:
    return opened.open_(speech.tx, speech.record(record))


def moved(speech: Speech, said: str = SAID) -> str:
    event = speech.say(said)
    place = Span(event.id, 11, 34)
    return facts.put(speech.tx, NewFact("owner", "The user lives in Bern."), [place], at=speech.at).record


def test_b8_word_for_word_with_its_place_and_what_stands_around_it(speech: Speech) -> None:
    [one] = open_(speech, moved(speech)).said
    assert (one.text, one.before, one.after) == ("I moved to Bern in May.", "Before it. ", " And after it.")
    assert (one.hash_ok, one.of, one.upto) == (True, len(SAID), 0)
    assert one.event
    assert (one.event.text, one.event.peer, one.event.created_at) == (SAID, "cli:owner", speech.at)


def test_an_original_that_was_changed_is_told(speech: Speech) -> None:
    made = moved(speech)
    speech.tx.execute("UPDATE events SET text = replace(text, 'Bern', 'Rome')")
    found = open_(speech, made)
    assert (found.said[0].hash_ok, found.mark) == (False, "pointer")
    assert found.said[0].text == "I moved to Bern in May."


def test_a_pointer_gives_the_words_it_points_at_and_claims_no_hash(speech: Speech) -> None:
    event = speech.say("x" * 3000)
    made = facts.put(speech.tx, NewFact("owner", "Much was said."), [Pointer(event.id)], at=speech.at).record
    [one] = open_(speech, made).said
    assert (len(one.text), one.hash_ok, one.of, len(one.after)) == (opened.WHOLE, None, 3000, opened.AROUND)


def test_what_can_not_be_read_is_said_to_be_unavailable_and_nothing_is_guessed(
    speech: Speech, db: apsw.Connection
) -> None:
    made = stable.insert(
        speech.tx,
        {"scope": "owner", "record": "fact", "kind": "fact", "text": "From elsewhere.", "key": "k",
         "origin": "import", "extractor": "model"},
        at=1.0,
    )  # fmt: skip
    assert (open_(speech, made).source, open_(speech, made).said) == ("source unavailable", ())
    gone = moved(speech)
    db.execute("COMMIT; PRAGMA foreign_keys = OFF; BEGIN; DELETE FROM events")  # as damage or a bad restore leaves it
    [one] = open_(speech, gone).said
    assert (one.event, one.hash_ok, open_(speech, gone).source) == (None, None, "source unavailable")
    speech.tx.execute("UPDATE evidence SET excerpt = ''")
    assert open_(speech, gone).said[0].text == "source unavailable"


def test_a_persons_words_need_no_source(speech: Speech) -> None:
    made = mutate.note(speech.tx, mutate.Note("owner", "By hand."), at=1.0).record
    assert (open_(speech, made).source, open_(speech, made).mark) == ("", "manual")


def test_what_is_private_by_now_is_no_evidence_that_is_shown(speech: Speech) -> None:
    made = moved(speech)
    speech.fact("The user lives in Bern.")
    speech.tx.execute("UPDATE events SET no_memory = 1 WHERE text = ?", (SAID,))
    assert [one.event.text for one in open_(speech, made).said if one.event] == ["The user lives in Bern."]


def test_revisions_tell_why_and_old_evidence_of_what(speech: Speech) -> None:
    made = moved(speech)
    mutate.edit(speech.tx, speech.record(made), Edit(1, "The user lives in Basel."), at=9.0)
    found = open_(speech, made)
    assert [(one.text, one.why) for one in found.revisions] == [("The user lives in Bern.", "edited")]
    assert [one.upto for one in found.said] == [1]


def test_the_chain_goes_both_ways_with_dates(speech: Speech) -> None:
    homes = [
        speech.fact(f"The user lives in {place}.", subject="user", relation="home", object=place).record
        for place in ("Berlin", "Rome", "Paris")
    ]
    middle = open_(speech, homes[1])
    assert ([one.id for one in middle.older], [one.id for one in middle.newer]) == ([homes[0]], [homes[2]])
    assert middle.record.valid_until == speech.at
    assert [one.id for one in open_(speech, homes[2]).older] == [homes[1], homes[0]]


def test_a_chain_that_bites_its_tail_ends(speech: Speech) -> None:
    one, two = speech.fact("The cat is black.").record, speech.fact("The dog barks.").record
    stable.update(speech.tx, one, {"superseded_by": two}, at=1.0)
    stable.update(speech.tx, two, {"superseded_by": one}, at=1.0)
    found = open_(speech, one)
    assert ([r.id for r in found.older], [r.id for r in found.newer]) == ([two], [two])


def test_members_scenes_citations_and_where_it_was_told(speech: Speech) -> None:
    fact = speech.fact("The cat is black.", tags=("scene:cooking", "pets")).record
    event = speech.say("about pets")
    capsule = capsules.put_capsule(
        speech.tx, NewCapsule("owner", "thread", "Pets", "The cat.", members=(fact,)), [Pointer(event.id)], at=2.0
    )
    speech.tx.execute("INSERT INTO citations VALUES (?, 'owner2', 7.0)", (fact,))
    line = Line(fact, "fact", 1, "immediate", score=0.8, relevance=0.6, evidence="source")
    injections.record(speech.tx, Injection("owner2", "owner", event.thread, 6.0, "hit", 90, lines=(line,)))
    found = open_(speech, fact)
    assert [one.id for one in found.capsules] == [capsule.record]
    assert [one.id for one in open_(speech, capsule.record).members] == [fact]
    assert found.scenes == ["cooking"]
    assert [(one.turn, one.thread, one.at) for one in found.cited] == [("owner2", event.thread, 7.0)]
    assert [(one.turn, one.lines[0].score) for one in found.told] == [("owner2", 0.8)]


class TestFind:
    def test_by_eight_digits_and_of_several_the_candidates_are_named(self, speech: Speech) -> None:
        one, two = speech.fact("The cat is black.").record, speech.fact("The dog barks.").record
        same = f"fact_00000000{one[-8:]}"
        assert opened.find(speech.tx, MINE, one[-8:]).id == one
        speech.tx.execute("PRAGMA defer_foreign_keys = ON")
        speech.tx.execute("UPDATE evidence SET record = ? WHERE record = ?", (same, two))
        speech.tx.execute("UPDATE records SET id = ? WHERE id = ?", (same, two))
        with pytest.raises(Conflict) as caught:
            opened.find(speech.tx, MINE, one[-8:])
        assert caught.value.detail == {"candidates": [one, same]}
        assert opened.find(speech.tx, MINE, same).id == same

    def test_what_is_hidden_only_where_it_is_asked_for_so(self, speech: Speech) -> None:
        made = moved(speech)
        hiding.hide(speech.tx, speech.record(made), at=2.0)
        with pytest.raises(NotFound):
            opened.find(speech.tx, MINE, made)
        assert opened.find(speech.tx, MINE, made, hidden=True).id == made

    def test_b14_nothing_of_another_scope(self, speech: Speech) -> None:
        with pytest.raises(NotFound):
            opened.find(speech.tx, MINE, Speech(speech.tx, "guest:qq:1").fact("Theirs.").record)
