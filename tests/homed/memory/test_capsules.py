"""One capsule a matter."""

from __future__ import annotations

from typing import Any

import pytest

from homed.memory import capsules, stable, tombstones
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.facts import Put
from homed.store.rows import Tx
from tests.homed.memory.speech import Speech


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def put(speech: Speech, title: str, text: str, **more: Any) -> Put:
    event = speech.say(text)
    new = NewCapsule(**{"scope": "owner", "kind": "project", "title": title, "text": text, **more})
    return capsules.put_capsule(speech.tx, new, [Pointer(event.id)], at=speech.at)


def test_the_same_matter_is_continued_and_keeps_what_it_said(speech: Speech) -> None:
    first = put(speech, "Building the shed", "Wood is ordered.")
    again = put(speech, "building the shed!", "Wood is there.")
    by_id = put(speech, "Shed", "The roof is on.", id=first.record)
    by_short = put(speech, "Shed", "The door is on.", id=first.record[-8:])
    assert {one.record for one in (again, by_id, by_short)} == {first.record}
    assert [one.outcome for one in (first, again, by_id, by_short)] == ["new", "improved", "improved", "improved"]
    assert [one.text for one in stable.history(speech.tx, first.record)] == [
        "The roof is on.", "Wood is there.", "Wood is ordered.",
    ]  # fmt: skip
    assert put(speech, "Shed", "The door is on.").outcome == "same"


def test_titles_nearly_the_same_are_one_but_not_with_another_number(speech: Speech) -> None:
    first = put(speech, "Planning the big summer trip", "x1")
    assert put(speech, "Planning the summer trip", "x2").record == first.record
    second = put(speech, "Planning the big summer trip 2027", "x3")
    assert second.outcome == "new"
    assert put(speech, "Planning the big summer trip", "x4", kind="thread").outcome == "new"
    assert put(speech, "Planning the big summer trip", "x5", reach="project", project="a").outcome == "new"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"kind": "saga"}, "invalid"),
        ({"title": " "}, "invalid"),
        ({"text": " "}, "invalid"),
        ({"text": "x" * 801}, "invalid"),
        ({"text": "password: hunter22"}, "secret:password"),
    ],
)
def test_what_is_refused(speech: Speech, wrong: dict[str, str], why: str) -> None:
    event = speech.say("a")
    new = NewCapsule(**{"scope": "owner", "kind": "project", "title": "Shed", "text": "Wood", **wrong})  # type: ignore[arg-type]
    assert capsules.put_capsule(speech.tx, new, [Pointer(event.id)], at=1.0).why == why


def test_nothing_without_evidence_nor_what_was_forgotten(speech: Speech) -> None:
    new = NewCapsule("owner", "project", "Shed", "Wood is ordered.")
    assert capsules.put_capsule(speech.tx, new, at=1.0).why == "evidence"
    tombstones.bury(speech.tx, "owner", texts=["Wood is ordered."], at=1.0)
    assert put(speech, "Shed", "Wood is ordered.").why == "forgotten"


def test_what_a_person_wrote_is_theirs(speech: Speech) -> None:
    first = put(speech, "Shed", "Wood is ordered.", origin="manual", extractor="manual")
    assert put(speech, "Shed", "Everything is lost.").outcome == "same"
    assert speech.record(first).text == "Wood is ordered."
    trusted = put(speech, "Boat", "It floats.")
    assert put(speech, "Boat", "It sank.", untrusted=True).outcome == "same"
    assert speech.record(trusted).text == "It floats."


def test_members_are_records_of_the_scope(speech: Speech) -> None:
    fact = speech.fact("The shed is red")
    other = Speech(speech.tx, "guest:x").fact("The shed is red")
    first = put(speech, "Shed", "Wood", members=(fact.record, other.record, "none"))
    assert speech.tx.all("SELECT record FROM members WHERE capsule = ?", (first.record,)) == [(fact.record,)]
    assert [record.id for record in capsules.near(speech.tx, "owner")] == [first.record]
    assert capsules.near(speech.tx, "guest:x") == []


def test_what_a_person_wrote_is_not_continued_nor_what_is_trusted_by_strangers_words(speech: Speech) -> None:
    mine = put(speech, "Shed", "The roof is red.", origin="manual", extractor="manual")
    kept = put(speech, "Shed", "The roof is blue.")
    assert (kept.record, kept.outcome, kept.why) == (mine.record, "same", "manual")
    trusted = put(speech, "Boat", "It has a mast.")
    told = put(speech, "Boat", "It is sold to Eve.", untrusted=True)
    assert (told.record, told.outcome, told.why) == (trusted.record, "same", "untrusted")
    assert [stable.get(speech.tx, one.record).text for one in (mine, trusted)] == [  # type: ignore[union-attr]
        "The roof is red.", "It has a mast.",
    ]  # fmt: skip
    behind = "SELECT count(*) FROM evidence WHERE record = ?"
    assert [speech.tx.value(behind, (one.record,)) for one in (mine, trusted)] == [1, 1]


def test_one_that_reaches_everywhere_is_continued_from_a_project_by_its_id_and_stays_so(speech: Speech) -> None:
    first = put(speech, "Shed", "Wood is ordered.")
    more = put(speech, "Shed", "Wood is there.", id=first.record, reach="project", project="abc")
    assert (more.record, more.outcome) == (first.record, "improved")
    found = stable.get(speech.tx, first.record)
    assert found is not None
    assert (found.reach, found.project) == ("user", "")
    own = put(speech, "Shed", "The nails are of steel.", reach="project", project="abc")
    assert own.outcome == "new", "by its title a project has its own"
    other = put(speech, "Shed", "The nails are of brass.", id=own.record, reach="project", project="def")
    assert other.outcome == "new", "of another project nothing is continued"
    assert put(speech, "Shed", "x", reach="project").why == "invalid"


def test_those_that_may_be_continued_are_this_projects_and_nobodys(speech: Speech) -> None:
    everywhere = put(speech, "Shed", "Wood is ordered.")
    own = put(speech, "Shop", "Tests run.", reach="project", project="abc")
    assert [one.id for one in capsules.near(speech.tx, "owner")] == [everywhere.record]
    found = capsules.near(speech.tx, "owner", project="abc")
    assert {one.id for one in found} == {everywhere.record, own.record}
