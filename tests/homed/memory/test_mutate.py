"""Single records changed by hand: corrected, written, made one, put back; always within the law."""

from __future__ import annotations

from typing import Any

import pytest

from homed.errors import Conflict, InvalidInput
from homed.memory import capsules, evidence, facts, hiding, mutate, stable, tombstones
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.facts import NewFact, Put
from homed.memory.mutate import Edit, Note
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def lives(speech: Speech, place: str, **more: Any) -> Put:
    text = f"The user lives in {place}."
    return speech.fact(text, subject="user", relation="home", object=place, **more)


def edit(speech: Speech, put: Put | str, **wanted: object) -> mutate.Changed:
    record = speech.record(put)
    return mutate.edit(speech.tx, record, Edit(record.revision, **wanted), at=speech.at)  # type: ignore[arg-type]


def cite(speech: Speech, put: Put, turn: str) -> None:
    speech.tx.execute("INSERT INTO citations VALUES (?, ?, 1.0)", (put.record, turn))
    stable.cite(speech.tx, [put.record], at=1.0)


class TestEdit:
    def test_what_it_said_before_is_a_revision_with_the_reason(self, speech: Speech) -> None:
        made = lives(speech, "Berlin", tags=("home",))
        now = edit(speech, made, text="The user lives in Bern.", importance=9, tags=("home", " move ", "home")).record
        assert (now.text, now.importance, now.tags, now.revision) == (
            "The user lives in Bern.", 9, ("home", "move"), 2,
        )  # fmt: skip
        [before] = stable.history(speech.tx, made.record)
        assert (before.text, before.tags, before.why) == ("The user lives in Berlin.", ("home",), "edited")

    def test_a_persons_words_are_its_ground_and_the_old_evidence_is_kept_as_that_of_the_old_words(
        self, speech: Speech
    ) -> None:
        made = lives(speech, "Berlin")
        assert evidence.mark(speech.tx, speech.record(made)) == "source"
        edit(speech, made, text="The user lives in Bern.")
        assert evidence.mark(speech.tx, speech.record(made)) == "manual"
        assert speech.tx.all("SELECT excerpt, upto FROM evidence") == [("The user lives in Berlin.", 1)]

    def test_no_automatic_writer_changes_it_again(self, speech: Speech) -> None:
        made = lives(speech, "Bern")
        edit(speech, made, text="The user lives in Bern, in the Old Town.")
        again = speech.fact("The user lives in Bern now.", subject="user", relation="home", object="Bern")
        assert (again.record, again.outcome) == (made.record, "same")
        assert speech.records() == ["The user lives in Bern, in the Old Town."]

    def test_words_and_vector_are_made_anew(self, speech: Speech) -> None:
        made = lives(speech, "Berlin")
        seq = speech.record(made).seq
        speech.tx.execute("DELETE FROM record_todo")
        speech.tx.execute("DELETE FROM vector_todo")
        edit(speech, made, text="The user lives in Bern.")
        assert speech.tx.all("SELECT seq, was FROM record_todo") == [(seq, "\nThe user lives in Berlin.")]
        assert speech.tx.all("SELECT kind, item FROM vector_todo") == [("record", seq)]

    def test_its_triple_goes_along_where_the_words_say_it_plainly(self, speech: Speech) -> None:
        made = lives(speech, "Berlin")
        now = edit(speech, made, text="The user lives in Bern.").record
        assert (now.relation, now.object, now.object_entity) == ("home", "Bern", None)

    @pytest.mark.parametrize("text", ["The user moved away.", "用户搬到别的地方去了。"])
    def test_and_goes_where_they_do_not(self, speech: Speech, text: str) -> None:
        now = edit(speech, lives(speech, "Berlin"), text=text).record
        assert (now.relation, now.object) == ("", "")
        assert now.subject

    def test_a_better_spelling_keeps_it(self, speech: Speech) -> None:
        now = edit(speech, lives(speech, "Berlin"), text="The user lives in Berlin, Germany.").record
        assert (now.relation, now.object) == ("home", "Berlin")

    def test_of_two_values_of_one_relation_the_edited_one_holds(self, speech: Speech) -> None:
        paris, other = lives(speech, "Paris"), speech.fact("The user sails.", subject="user")
        stable.update(speech.tx, other.record, {"relation": "home", "object": "Rome"}, at=1.0)
        changed = edit(speech, other, text="The user lives in Rome.")
        assert changed.superseded == (paris.record,)
        gone = speech.record(paris)
        assert (gone.status, gone.superseded_by, gone.valid_until) == ("superseded", other.record, speech.at)

    def test_only_other_tags_make_nothing_a_persons_words(self, speech: Speech) -> None:
        made = lives(speech, "Berlin")
        now = edit(speech, made, tags=("home",), importance=8, kind="preference").record
        assert (now.origin, now.kind, now.revision) == ("auto", "preference", 2)
        assert evidence.mark(speech.tx, now) == "source"

    def test_nothing_new_is_no_revision(self, speech: Speech) -> None:
        made = lives(speech, "Berlin")
        assert edit(speech, made, text=" The user lives in Berlin. ", importance=5).record.revision == 1

    def test_strangers_words_that_a_person_puts_right_are_the_persons(self, speech: Speech) -> None:
        made = speech.fact("The meeting is at nine.", untrusted=True)
        assert not edit(speech, made, text="The meeting is at ten.").record.untrusted

    def test_who_edits_an_older_state_is_told(self, speech: Speech) -> None:
        made = lives(speech, "Berlin")
        edit(speech, made, text="The user lives in Bern.")
        with pytest.raises(Conflict, match="changed meanwhile") as caught:
            mutate.edit(speech.tx, speech.record(made), Edit(1, text="x y"), at=1.0)
        assert caught.value.detail == {"revision": 2}

    def test_what_another_says_already_is_named(self, speech: Speech) -> None:
        first, second = speech.fact("The cat is black."), speech.fact("The dog is white.")
        with pytest.raises(Conflict, match="Combine") as caught:
            edit(speech, second, text="the cat is BLACK")
        assert caught.value.detail == {"record": first.record}

    @pytest.mark.parametrize(
        ("wanted", "why"),
        [
            ({"text": "The password: hunter2hunter2"}, "blocked: password"),
            ({"text": "He has AKIAIOSFODNN7EXAMPLE"}, "blocked: "),
            ({"title": "密码：hunter2hunter2"}, "blocked: password"),
            ({"tags": ("token=abcdef123456",)}, "blocked: "),
            ({"text": " "}, "1 to 600"),
            ({"text": "…!"}, "1 to 600"),
            ({"text": "x" * 601}, "1 to 600"),
            ({"kind": "profile"}, "is no profile"),
            ({"importance": 11}, "1 to 10"),
        ],
    )
    def test_what_may_not_be_stored_is_refused_and_nothing_is_changed(
        self, speech: Speech, wanted: dict[str, object], why: str
    ) -> None:
        made = lives(speech, "Berlin")
        with pytest.raises(InvalidInput, match=why) as caught:
            edit(speech, made, **wanted)
        assert ("Take it out" in caught.value.hint) == why.startswith("blocked"), "a refusal says what to do"
        assert speech.record(made).revision == 1

    def test_what_was_forgotten_comes_back_by_a_persons_words(self, speech: Speech) -> None:
        tombstones.bury(speech.tx, "owner", texts=["The cat is black."], at=1.0)
        edit(speech, speech.fact("The cat is grey."), text="The cat is black.")
        assert not tombstones.buried(speech.tx, "owner", "The cat is black.")


class TestNote:
    def test_a_fact_by_hand(self, speech: Speech) -> None:
        made = mutate.note(speech.tx, Note("owner", "The cellar key is blue.", tags=("house",)), at=5.0)
        record = speech.record(made)
        assert (record.origin, record.importance, record.tags, record.confidence) == ("manual", 6, ("house",), 1.0)
        assert evidence.mark(speech.tx, record) == "manual"

    def test_what_is_known_is_not_written_twice(self, speech: Speech) -> None:
        known = speech.fact("The cellar key is blue.")
        made = mutate.note(speech.tx, Note("owner", "the cellar key is blue"), at=5.0)
        assert (made.record, made.outcome) == (known.record, "same")
        assert speech.record(known).origin == "manual"

    def test_a_capsule_has_a_title_and_is_continued_by_it(self, speech: Speech) -> None:
        wanted = Note("owner", "Half is painted.", record="capsule", title="The house", kind="project")
        first = mutate.note(speech.tx, wanted, at=5.0)
        second = mutate.note(speech.tx, Note("owner", "All is painted.", "capsule", "project", "the house"), at=6.0)
        assert (first.record, second.outcome) == (second.record, "improved")
        with pytest.raises(InvalidInput, match="title"):
            mutate.note(speech.tx, Note("owner", "No name.", "capsule"), at=6.0)

    @pytest.mark.parametrize(
        ("note", "why"),
        [
            (Note("owner", "My api_key = abcdef123456"), "blocked: "),
            (Note("owner", "密钥：abcdef123456"), "blocked: "),
            (Note("owner", "x", record="summary"), "made of a turn"),
            (Note("owner", "Ours.", reach="project"), "no statement"),
            (Note("owner", "Fine.", kind="nonsense"), "is no nonsense"),
        ],
    )
    def test_refusals(self, speech: Speech, note: Note, why: str) -> None:
        with pytest.raises(InvalidInput, match=why):
            mutate.note(speech.tx, note, at=5.0)
        assert speech.records() == []


class TestCombine:
    def test_evidence_citations_times_and_memberships_are_joined_and_the_other_is_history(self, speech: Speech) -> None:
        keep, gone = speech.fact("The cat is called Tom."), speech.fact("Their tomcat has the name Tom.")
        for put, turn in ((keep, "owner1"), (gone, "owner1"), (gone, "owner2")):
            cite(speech, put, turn)
        event = speech.say("about pets")
        capsule = capsules.put_capsule(
            speech.tx, NewCapsule("owner", "thread", "Pets", "Tom.", members=(gone.record,)), [Pointer(event.id)],
            at=2.0,
        )  # fmt: skip
        changed = mutate.combine(speech.tx, speech.record(keep), speech.record(gone), at=speech.at)
        now = changed.record
        assert (now.times, now.cited, now.revision, changed.superseded) == (2, 3, 2, (gone.record,))
        assert len(evidence.items(speech.tx, keep.record)) == 2
        assert speech.tx.value("SELECT count(*) FROM citations WHERE record = ?", (keep.record,)) == 2
        assert speech.tx.value("SELECT 1 FROM members WHERE capsule = ? AND record = ?", (capsule.record, keep.record))
        assert (speech.record(gone).status, speech.record(gone).superseded_by) == ("superseded", keep.record)
        assert stable.history(speech.tx, keep.record)[0].why.startswith("combined ")

    def test_it_can_be_taken_back(self, speech: Speech) -> None:
        keep, gone = speech.fact("The cat is called Tom."), speech.fact("Their tomcat has the name Tom.")
        cite(speech, gone, "owner2")
        mutate.combine(speech.tx, speech.record(keep), speech.record(gone), at=speech.at)
        changed = mutate.reinstate(speech.tx, speech.record(gone), at=speech.at + 1)
        assert (changed.record.status, changed.superseded) == ("active", ())
        now = speech.record(keep)
        assert (now.status, now.times, now.cited) == ("active", 1, 0)
        current = "SELECT count(*) FROM evidence WHERE record = ? AND upto = 0"
        assert speech.tx.value(current, (keep.record,)) == speech.tx.value(current, (gone.record,)) == 1
        assert speech.tx.value("SELECT record FROM citations") == gone.record
        assert [one.why.split()[0] for one in stable.history(speech.tx, keep.record)] == ["parted", "combined"]

    @pytest.mark.parametrize("change", ["edited", "hidden"])
    def test_it_is_parted_though_the_one_that_went_was_changed_since(self, speech: Speech, change: str) -> None:
        tx, keep, gone = speech.tx, speech.fact("The train leaves at nine."), speech.fact("Nine is when it leaves.")
        mutate.combine(tx, speech.record(keep), speech.record(gone), at=speech.at + 5)
        if change == "edited":
            mutate.edit(tx, speech.record(gone), Edit(1, importance=9), at=speech.at + 9)
        else:
            hiding.hide(tx, speech.record(gone), at=speech.at + 9)
            hiding.restore(tx, speech.record(gone), at=speech.at + 10)
        mutate.reinstate(tx, speech.record(gone), at=speech.at + 15)
        current = "SELECT count(*) FROM evidence WHERE record = ? AND upto = 0"
        assert tx.value(current, (keep.record,)) == tx.value(current, (gone.record,)) == 1

    def test_a_person_decides_that_strangers_said_what_somebody_knows(self, speech: Speech) -> None:
        keep, gone = speech.fact("The train leaves at nine.", untrusted=True), speech.fact("Nine is when it leaves.")
        assert not mutate.combine(speech.tx, speech.record(keep), speech.record(gone), at=9.0).record.untrusted

    def test_what_can_not_be_one(self, speech: Speech) -> None:
        one, two = speech.fact("The cat is called Tom."), speech.fact("The dog barks.")
        other = Speech(speech.tx, "guest:qq:1").fact("The bird sings.")
        with pytest.raises(Conflict, match="one record already"):
            mutate.combine(speech.tx, speech.record(one), speech.record(one), at=9.0)
        with pytest.raises(Conflict, match="one scope"):
            mutate.combine(speech.tx, speech.record(one), speech.record(other), at=9.0)
        mutate.combine(speech.tx, speech.record(one), speech.record(two), at=9.0)
        with pytest.raises(Conflict, match="what holds"):
            mutate.combine(speech.tx, speech.record(one), speech.record(two), at=9.0)


class TestReinstate:
    def test_b5_of_one_functional_relation_there_is_one_value_whichever_way(self, speech: Speech) -> None:
        berlin, rome = lives(speech, "Berlin"), lives(speech, "Rome")
        assert rome.superseded == (berlin.record,)
        changed = mutate.reinstate(speech.tx, speech.record(berlin), at=speech.at + 5)
        assert (changed.superseded, changed.record.valid_until) == ((rome.record,), None)
        assert speech.records() == ["The user lives in Berlin."]
        back = mutate.reinstate(speech.tx, speech.record(rome), at=speech.at + 9)
        assert back.superseded == (berlin.record,)
        assert speech.records() == ["The user lives in Rome."]
        assert speech.record(berlin).superseded_by == rome.record

    def test_b5_though_what_took_its_place_was_said_again_since(self, speech: Speech) -> None:
        berlin, rome = lives(speech, "Berlin"), lives(speech, "Rome")
        assert lives(speech, "Rome").record == rome.record
        assert mutate.reinstate(speech.tx, speech.record(berlin), at=speech.at).record.valid_until is None

    def test_b5_what_was_retired_wrongly_holds_beside_what_retired_it(self, speech: Speech) -> None:
        works = speech.fact("Ana works at X", subject="Ana", relation="employer", object="X Corp")
        admin = speech.fact("Ana administers X's GitHub org", subject="Ana", relation="administers", object="X Corp")
        stable.update(
            speech.tx, works.record, {"status": "superseded", "superseded_by": admin.record}, at=speech.at
        )  # fmt: skip
        changed = mutate.reinstate(speech.tx, speech.record(works), at=speech.at)
        assert (changed.record.status, changed.superseded) == ("active", ())
        assert len(speech.records()) == 2

    def test_love_and_hate_do_not_both_hold(self, speech: Speech) -> None:
        [love] = speech.hear("I love cilantro.")
        [hate] = speech.hear("I hate cilantro.")
        assert mutate.reinstate(speech.tx, speech.record(love), at=speech.at).superseded == (hate.record,)

    def test_nor_a_statement_without_a_triple_and_its_contrary(self, speech: Speech) -> None:
        love, hate = speech.fact("I love X-rays"), speech.fact("I hate X-rays")
        assert hate.superseded == (love.record,)
        assert mutate.reinstate(speech.tx, speech.record(love), at=speech.at).superseded == (hate.record,)

    def test_what_took_its_place_may_be_gone(self, speech: Speech) -> None:
        berlin, rome = lives(speech, "Berlin"), lives(speech, "Rome")
        stable.remove(speech.tx, [rome.record])
        assert mutate.reinstate(speech.tx, speech.record(berlin), at=speech.at).record.valid_until is None

    def test_a_period_that_was_stated_stays(self, speech: Speech) -> None:
        old = lives(speech, "Berlin", valid_from=10.0, valid_until=20.0)
        new = lives(speech, "Rome")
        stable.update(speech.tx, old.record, {"status": "superseded", "superseded_by": new.record}, at=speech.at)
        changed = mutate.reinstate(speech.tx, speech.record(old), at=speech.at)
        assert changed.record.valid_until == 20.0

    def test_what_holds_can_not_be_put_back(self, speech: Speech) -> None:
        with pytest.raises(Conflict, match="not superseded"):
            mutate.reinstate(speech.tx, speech.record(lives(speech, "Berlin")), at=1.0)


def test_the_writer_of_facts_and_the_hand_agree_on_what_a_fact_is(speech: Speech) -> None:
    made = facts.put(speech.tx, NewFact("owner", "The cat is black.", origin="manual", extractor="manual"), at=1.0)
    assert mutate.note(speech.tx, Note("owner", "The cat is black!"), at=2.0).record == made.record


class TestOnce:
    """However something comes to hold again: no statement stands there twice, and no relation has two values."""

    @pytest.mark.parametrize("hidden_first", [True, False])
    def test_what_is_written_again_after_it_was_hidden_takes_the_place_of_what_came_meanwhile(
        self, speech: Speech, hidden_first: bool
    ) -> None:
        old = lives(speech, "Berlin")
        if hidden_first:
            hiding.hide(speech.tx, speech.record(old), at=speech.at)
        new = lives(speech, "Bern")
        if not hidden_first:
            hiding.hide(speech.tx, speech.record(old), at=speech.at)
        made = mutate.note(speech.tx, Note("owner", "The user lives in Berlin."), at=speech.at + 9)
        assert (made.record, made.superseded) == (old.record, (new.record,))
        now, before = speech.record(old), speech.record(new)
        assert (now.status, now.superseded_by, now.valid_until) == ("active", None, None)
        assert (before.status, before.superseded_by) == ("superseded", old.record)

    @pytest.mark.parametrize("again", [hiding.restore, mutate.reinstate])
    def test_what_another_one_says_by_now_does_not_hold_again_beside_it(self, speech: Speech, again: Any) -> None:
        one, two = speech.fact("Tea is served at noon."), speech.fact("The bakery opens early.")
        if again is hiding.restore:
            hiding.hide(speech.tx, speech.record(one), at=speech.at)
        else:
            mutate.combine(speech.tx, speech.record(speech.fact("The bus is late.")), speech.record(one), at=speech.at)
        edit(speech, two, text="Tea is served at noon.")
        with pytest.raises(Conflict) as said:
            again(speech.tx, speech.record(one), at=speech.at)
        assert said.value.detail == {"record": two.record}


def test_a_title_and_tags_hold_no_null(speech: Speech) -> None:
    made = mutate.note(speech.tx, Note("owner", "It rains.", title="a\0b", tags=("c\0d",)), at=speech.at)
    record = speech.record(made)
    assert (record.title, record.tags) == ("a b", ("c d",))
