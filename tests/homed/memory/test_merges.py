"""Two entities that may be one."""

from __future__ import annotations

import time

import pytest

from homed.errors import Conflict, NotFound
from homed.memory import entities, evidence, graph, judge, merges, mutate, stable
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech
from tests.homed.memory.test_alike import many


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def entity(tx: Tx, name: str, **more: str) -> str:
    return entities.put(tx, "owner", name, at=1.0, **more).id


def test_names_nearly_the_same_are_proposed_once(tx: Tx) -> None:
    one, two = entity(tx, "Johannes Gutenberg"), entity(tx, "Johanes Gutenberg")
    entity(tx, "Anna")
    found = merges.search(tx, "owner")
    assert [(a, b) for a, b, _ in found] == [tuple(sorted((one, two)))]
    assert merges.note(tx, "owner", found, at=2.0) == 1
    assert merges.note(tx, "owner", merges.search(tx, "owner"), at=2.0) == 0
    [proposal] = merges.proposals(tx, "owner")
    assert {proposal.first.id, proposal.second.id} == {one, two}
    assert merges.proposals(tx, "guest:x") == []


def test_a_number_or_a_kind_that_differs_keeps_them_apart(tx: Tx) -> None:
    entity(tx, "The meeting room 101")
    entity(tx, "The meeting room 102")
    entity(tx, "Johannes Gutenberg", type="person")
    entity(tx, "Johannes Gutenberg A", type="place")
    assert merges.search(tx, "owner") == []


def test_what_was_judged_different_is_not_asked_again_for_some_rounds(tx: Tx) -> None:
    one, two = entity(tx, "Johannes Gutenberg"), entity(tx, "Johanes Gutenberg")
    merges.note(tx, "owner", merges.search(tx, "owner"), at=2.0)
    merges.never(tx, "owner", two, one, at=3.0, rounds=2)
    assert merges.proposals(tx, "owner") == []
    assert merges.note(tx, "owner", merges.search(tx, "owner"), at=4.0) == 0
    merges.next_round(tx, "owner")
    assert merges.note(tx, "owner", merges.search(tx, "owner"), at=4.0) == 0
    merges.next_round(tx, "owner")
    assert merges.note(tx, "owner", merges.search(tx, "owner"), at=4.0) == 1
    with pytest.raises(NotFound):
        merges.never(tx, "owner", one, "ent_none", at=3.0)


def test_a_merge_moves_facts_names_and_mentions_and_tells_nothing_twice(speech: Speech) -> None:
    tx = speech.tx
    speech.fact("Gutenberg prints books", subject="Johannes Gutenberg", relation="prints", object="books")
    speech.fact("Gutenberg prints the books", subject="Johanes Gutenberg", relation="prints", object="Books")
    moved = speech.fact("He lives in Mainz", subject="Johanes Gutenberg", relation="home", object="Mainz")
    seen = speech.fact("Anna met him", subject="Anna", relation="met", object="Johanes Gutenberg")
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    result = merges.merge(tx, "owner", keep.id, gone.id, at=9.0)
    assert (result.facts, result.duplicates) == (3, 1)
    assert speech.record(moved).subject == speech.record(seen).object_entity == keep.id
    assert speech.records() == ["Gutenberg prints books", "He lives in Mainz", "Anna met him"]
    [books] = [record for record in stable.list_(tx, "owner") if record.relation == "prints"]
    assert (books.times, len(evidence.items(tx, books.id))) == (2, 2)
    assert entities.must(tx, "owner", "Johanes Gutenberg").id == keep.id
    assert entities.must(tx, "owner", "Johannes Gutenberg").mentions == keep.mentions + gone.mentions


def test_a_merge_is_taken_back(speech: Speech) -> None:
    tx = speech.tx
    mine = speech.fact("He lives in Mainz", subject="Johannes Gutenberg", relation="home", object="Mainz")
    theirs = speech.fact("He lives in Rome", subject="Johanes Gutenberg", relation="home", object="Rome")
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    result = merges.merge(tx, "owner", keep.id, gone.id, at=9.0)
    assert [row[2] for row in merges.merged(tx, "owner")] == ["Johanes Gutenberg"]
    back = merges.unmerge(tx, "owner", result.id, at=10.0)
    assert (back.id, back.name, back.mentions) == (gone.id, gone.name, gone.mentions)
    assert speech.record(mine).subject == keep.id
    assert speech.record(theirs).subject == gone.id
    assert entities.must(tx, "owner", "Johanes Gutenberg").id == gone.id
    assert entities.must(tx, "owner", "Johannes Gutenberg").mentions == keep.mentions
    assert merges.merged(tx, "owner") == []
    assert merges.note(tx, "owner", merges.search(tx, "owner"), at=11.0) == 0
    with pytest.raises(NotFound):
        merges.unmerge(tx, "owner", result.id, at=10.0)


def test_a_merge_of_merged_ones_keeps_what_can_be_taken_back(speech: Speech) -> None:
    one, two, three = (entity(speech.tx, name) for name in ("Node A", "Node B", "Node C"))
    first = merges.merge(speech.tx, "owner", two, three, at=1.0)
    merges.merge(speech.tx, "owner", one, two, at=2.0)
    assert merges.unmerge(speech.tx, "owner", first.id, at=3.0).id == three
    assert entities.must(speech.tx, "owner", "Node B").id == one


def test_merges_of_merged_ones_are_taken_back_the_newest_first(speech: Speech) -> None:
    tx = speech.tx
    one, two, three = (entity(tx, name) for name in ("Node A", "Node B", "Node C"))
    tea = speech.fact("Node A likes tea", subject="Node A", relation="likes", object="tea")
    first = merges.merge(tx, "owner", two, one, at=1.0)
    second = merges.merge(tx, "owner", three, two, at=2.0)
    merges.unmerge(tx, "owner", second.id, at=3.0)
    assert [row[1:3] for row in merges.merged(tx, "owner")] == [(two, "Node A")]
    merges.unmerge(tx, "owner", first.id, at=4.0)
    assert [entities.names(tx, id_) for id_ in (one, two, three)] == [["Node A"], ["Node B"], ["Node C"]]
    assert speech.record(tea).subject == one


def test_of_two_that_can_not_both_hold_the_newer_does_until_the_merge_is_taken_back(speech: Speech) -> None:
    tx = speech.tx
    rome = speech.fact("He lives in Rome", subject="Johannes Gutenberg", relation="home", object="Rome")
    mainz = speech.fact("He lives in Mainz", subject="Johanes Gutenberg", relation="home", object="Mainz")
    books = speech.fact("He likes books", subject="Johanes Gutenberg", relation="likes", object="books")
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    result = merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    assert speech.records() == ["He lives in Mainz", "He likes books"]
    assert (speech.record(rome).superseded_by, speech.record(rome).valid_until) == (
        mainz.record, judge.begins(tx, speech.record(mainz)),
    )  # fmt: skip
    merges.unmerge(tx, "owner", result.id, at=speech.at)
    assert speech.records() == ["He lives in Rome", "He lives in Mainz", "He likes books"]
    assert (speech.record(rome).superseded_by, speech.record(rome).valid_until) == (None, None)
    assert speech.record(books).subject == gone.id


def test_what_was_said_of_the_one_since_is_not_displaced_by_taking_it_back(speech: Speech) -> None:
    tx = speech.tx
    rome = speech.fact("He lives in Rome", subject="Johannes Gutenberg", relation="home", object="Rome")
    speech.fact("He lives in Mainz", subject="Johanes Gutenberg", relation="home", object="Mainz")
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    result = merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    speech.fact("He lives in Bern now", subject="Johannes Gutenberg", relation="home", object="Bern")
    merges.unmerge(tx, "owner", result.id, at=speech.at)
    assert speech.records() == ["He lives in Bern now"]
    assert speech.record(rome).status == "superseded"


@pytest.mark.parametrize("stranger", ["Johannes Gutenberg", "Johanes Gutenberg"])
def test_what_strangers_said_takes_nobodys_place_by_a_merge(speech: Speech, stranger: str) -> None:
    tx = speech.tx
    for name, place in (("Johannes Gutenberg", "Mainz"), ("Johanes Gutenberg", "Rome")):
        speech.fact(
            f"{name} lives in {place}", subject=name, relation="home", object=place, untrusted=name == stranger
        )  # fmt: skip
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    [holds] = stable.list_(tx, "owner")
    assert not holds.untrusted


def test_two_periods_that_do_not_meet_both_stay(speech: Speech) -> None:
    tx = speech.tx
    speech.fact("He lived in Rome", subject="Johannes Gutenberg", relation="home", object="Rome", valid_until=1_000.0)
    speech.fact("He lives in Mainz", subject="Johanes Gutenberg", relation="home", object="Mainz", valid_from=2_000.0)
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    assert speech.records() == ["He lived in Rome", "He lives in Mainz"]


def test_what_a_person_wrote_is_not_lost_in_a_merge(speech: Speech) -> None:
    tx = speech.tx
    speech.fact(
        "Gutenberg works at Mainz Press", subject="Johannes Gutenberg", relation="works_at", object="Mainz Press"
    )
    theirs = speech.fact(
        "Gutenberg is with Mainz Press", subject="Johanes Gutenberg", relation="works_at", object="Mainz Press"
    )
    known = speech.record(theirs)
    words = "He leads the setters of Mainz Press"
    mutate.edit(tx, known, mutate.Edit(known.revision, text=words), at=speech.at)
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    [one] = stable.list_(tx, "owner")
    assert (one.text, one.origin) == (words, "manual")
    assert [revision.text for revision in stable.history(tx, one.id)] == ["Gutenberg works at Mainz Press"]


def test_the_words_that_are_not_kept_are_a_revision(speech: Speech) -> None:
    a = speech.fact("User keeps seven hives of bees in the garden")
    b = speech.fact("There are bees")
    one = merges.one(speech.tx, "owner", a.record, b.record, at=9.0)
    assert one.text == "User keeps seven hives of bees in the garden"
    assert [revision.text for revision in stable.history(speech.tx, one.id)] == ["There are bees"]


def test_facts_of_their_own_are_not_held_against_each_other(speech: Speech, monkeypatch: pytest.MonkeyPatch) -> None:
    tx = speech.tx
    for number in range(40):
        speech.fact(f"Gutenberg prints book {number}", subject="Johannes Gutenberg")
    speech.fact("Gutenberg sells ink", subject="Johanes Gutenberg")
    held: list[tuple[str, str]] = []
    same = merges._same

    def counted(a: Record, b: Record, of_a: merges._Words, of_b: merges._Words) -> bool:
        held.append((a.id, b.id))
        return same(a, b, of_a, of_b)

    monkeypatch.setattr(merges, "_same", counted)
    keep, gone = (entities.must(tx, "owner", name) for name in ("Johannes Gutenberg", "Johanes Gutenberg"))
    merges.merge(tx, "owner", keep.id, gone.id, at=speech.at)
    assert len(held) == 40


def test_who_speaks_stays_and_nobody_is_merged_with_himself(speech: Speech) -> None:
    me, anna = entities.put(speech.tx, "owner", "me", at=1.0).id, entity(speech.tx, "Anna")
    with pytest.raises(Conflict):
        merges.merge(speech.tx, "owner", anna, me, at=1.0)
    with pytest.raises(Conflict):
        merges.merge(speech.tx, "owner", me, me, at=1.0)
    with pytest.raises(NotFound):
        merges.merge(speech.tx, "guest:x", me, anna, at=1.0)
    merges.merge(speech.tx, "owner", me, anna, at=1.0)
    assert entities.must(speech.tx, "owner", "Anna").id == me


def test_two_records_are_made_one_by_hand(speech: Speech) -> None:
    a = speech.fact("User keeps bees in the garden", importance=3)
    b = speech.fact("User keeps seven hives of bees in the garden", importance=8)
    one = merges.one(speech.tx, "owner", a.record, b.record, at=9.0)
    assert (one.id, one.text, one.importance, one.times) == (
        a.record,
        "User keeps seven hives of bees in the garden",
        8,
        2,
    )
    assert [revision.text for revision in stable.history(speech.tx, a.record)] == ["User keeps bees in the garden"]
    assert stable.get(speech.tx, b.record) is None
    assert len(evidence.items(speech.tx, a.record)) == 2
    with pytest.raises(Conflict):
        merges.one(speech.tx, "owner", a.record, a.record, at=9.0)


@pytest.mark.slow
def test_ten_thousand_entities_take_seconds(tx: Tx) -> None:
    for number, name in enumerate(dict.fromkeys(many(10_000).values())):
        tx.execute(
            "INSERT INTO entities (id, scope, name, created_at, updated_at) VALUES (?, 'owner', ?, 1, 1)",
            (f"e{number}", name),
        )
        tx.execute("INSERT OR IGNORE INTO entity_names VALUES ('owner', ?, ?, ?)", (name, name, f"e{number}"))
    began = time.thread_time()
    found = merges.search(tx, "owner")
    assert time.thread_time() - began < 100
    assert found
    assert merges.note(tx, "owner", found, at=1.0) == len(found)


def test_two_that_say_the_same_of_nothing_stay_two(tx: Tx, speech: Speech) -> None:
    first = speech.fact("Ana administers the GitHub org", subject="Ana", relation="administers", object="GitHub")
    second = speech.fact("Anna administers the wiki", subject="Anna", relation="administers", object="wiki")
    tx.execute("UPDATE records SET object = '', object_entity = NULL")  # as an import may bring them
    keep, gone = (entities.must(tx, "owner", name) for name in ("Ana", "Anna"))
    assert merges.merge(tx, "owner", keep.id, gone.id, at=speech.at).duplicates == 0
    assert {first.record, second.record} == {record.id for record in graph.facts_of(tx, "owner", [keep.id])}


@pytest.mark.parametrize("way", ["gone", "one"])
def test_taken_back_a_merge_gives_back_what_gave_way_to_a_fact_that_went_since(speech: Speech, way: str) -> None:
    old = speech.fact("Ann lives in Berlin", subject="Ann", relation="home", object="Berlin")
    new = speech.fact("Anna lives in Paris", subject="Anna", relation="home", object="Paris")
    ann, anna = (str(speech.record(one).subject) for one in (old, new))
    done = merges.merge(speech.tx, "owner", anna, ann, at=speech.at)
    assert speech.record(old).status == "superseded"
    if way == "gone":  # thrown out, or made again of another turn
        stable.remove(speech.tx, [new.record])
    else:
        again = speech.fact("Her home is Paris now, Anna said", subject="Somebody", relation="said", object="it")
        merges.one(speech.tx, "owner", again.record, new.record, at=speech.at)
    merges.unmerge(speech.tx, "owner", done.id, at=speech.at)
    back = speech.record(old)
    assert (back.status, back.superseded_by, back.valid_until, back.subject) == ("active", None, None, ann)


def test_values_of_one_relation_are_told_apart_without_reading_each_pair_anew(
    speech: Speech, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {who: entity(speech.tx, who) for who in ("Johann Gutenberg", "Johannes Gutenberg")}
    for who, subject in names.items():
        for number in range(30):
            text = f"{who} knows printer {number} of {who}"
            speech.put(text, subject=who, relation="knows", object=f"printer {number} of {who}", origin="manual")
        assert speech.tx.value("SELECT count(*) FROM records WHERE subject = ?", (subject,)) == 30
    read: list[str] = []

    def same_value(one: str, other: str) -> bool:
        read.append(one)
        return one == other

    monkeypatch.setattr("homed.memory.dedupe.same_value", same_value)
    done = merges.merge(speech.tx, "owner", *names.values(), at=speech.at)
    assert (done.facts, done.duplicates) == (30, 0)
    assert len(read) < 30
