"""Records looked through: every filter, pages that hold still, and the scope before everything else (B14)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.errors import InvalidInput
from homed.memory import browse, facts, mutate, stable
from homed.memory.browse import Filters, Sort
from homed.memory.evidence import Pointer
from homed.memory.facts import NewFact
from homed.memory.mutate import Edit, Note
from homed.store.rows import Tx
from tests.homed.memory.speech import DAY, NOW, Speech

MINE = Filters(frozenset({"owner"}))


@pytest.fixture
def speech(tx: Tx) -> Speech:
    return Speech(tx)


def texts(speech: Speech, filters: Filters = MINE, **more: Any) -> list[str]:
    return [record.text for record in browse.page(speech.tx, filters, **more).records]


def put(speech: Speech, text: str, **more: Any) -> str:
    return speech.fact(text, **more).record


class TestFilters:
    def test_each_and_all_together(self, speech: Speech) -> None:
        anna = put(speech, "Anna sings.", kind="preference", tags=("music",), subject="Anna", subject_type="person")
        put(speech, "The build uses make.", kind="convention", reach="project", project="p1")
        put(speech, "A page says: sell.", untrusted=True)
        entity = speech.record(anna).subject or ""
        assert texts(speech, replace(MINE, kinds=frozenset({"preference"}))) == ["Anna sings."]
        assert texts(speech, replace(MINE, tag="music")) == ["Anna sings."]
        assert texts(speech, replace(MINE, entity=entity)) == ["Anna sings."]
        assert texts(speech, replace(MINE, reach="project")) == ["The build uses make."]
        assert texts(speech, replace(MINE, project="p2")) == []
        assert texts(speech, replace(MINE, untrusted=True)) == ["A page says: sell."]
        assert texts(speech, replace(MINE, records=frozenset({"capsule"}))) == []
        assert texts(speech, replace(MINE, since=NOW + 2 * DAY, until=NOW + 3 * DAY)) == ["The build uses make."]
        assert texts(speech, replace(MINE, kinds=frozenset({"convention"}), project="p1", untrusted=False)) == [
            "The build uses make."
        ]

    def test_what_holds_unless_something_else_is_asked_for(self, speech: Speech) -> None:
        old, new = put(speech, "One."), put(speech, "Two.")
        stable.update(speech.tx, old, {"status": "superseded", "superseded_by": new}, at=1.0)
        assert texts(speech) == ["Two."]
        assert texts(speech, replace(MINE, statuses=frozenset({"superseded"}))) == ["One."]
        assert texts(speech, replace(MINE, statuses=frozenset())) == ["Two.", "One."]

    def test_b14_of_no_scope_nothing_is_found_and_of_another_one_never(self, speech: Speech) -> None:
        put(speech, "Mine.")
        guests = Speech(speech.tx, "guest:qq:1")
        theirs = guests.fact("Theirs.").record
        assert texts(speech) == ["Mine."]
        assert texts(speech, replace(MINE, scopes=frozenset())) == []
        assert browse.named(speech.tx, MINE, theirs) == []
        assert browse.among(speech.tx, MINE, [theirs]) == {}

    def test_of_a_person_is_what_is_of_them_or_what_they_said(self, speech: Speech) -> None:
        said = speech.say("We meet at nine.", peer="qq:7")
        facts.put(speech.tx, NewFact("owner", "They meet at nine."), [Pointer(said.id)], at=speech.at)
        put(speech, "Qi likes tea.", observed="qq:7")
        put(speech, "Something else.")
        assert texts(speech, replace(MINE, person="qq:7")) == ["Qi likes tea.", "They meet at nine."]

    def test_where_it_comes_from(self, speech: Speech) -> None:
        put(speech, "Said so.")
        pointed = speech.say("in other words")
        facts.put(speech.tx, NewFact("owner", "Not verbatim."), [Pointer(pointed.id)], at=speech.at)
        mutate.note(speech.tx, Note("owner", "By hand."), at=speech.at)
        stable.insert(
            speech.tx,
            {"scope": "owner", "record": "fact", "kind": "fact", "text": "From elsewhere.", "key": "k",
             "origin": "import", "extractor": "model"},
            at=speech.at,
        )  # fmt: skip
        found = {mark: texts(speech, replace(MINE, evidence=mark)) for mark in browse.MARKED}
        assert found == {
            "source": ["Said so."], "pointer": ["Not verbatim."], "manual": ["By hand."], "none": ["From elsewhere."],
        }  # fmt: skip
        marks = {record.text: browse.mark(speech.tx, record) for record in browse.page(speech.tx, MINE).records}
        assert marks == {
            "Said so.": "source", "Not verbatim.": "pointer", "By hand.": "manual", "From elsewhere.": "",
        }  # fmt: skip

    def test_a_record_whose_excerpt_does_not_match_any_more_is_marked_as_a_pointer(self, speech: Speech) -> None:
        made = put(speech, "Said so.")
        speech.tx.execute("UPDATE evidence SET excerpt = 'Said no.'")
        assert browse.mark(speech.tx, speech.record(made)) == "pointer"

    def test_what_a_person_corrected_is_theirs(self, speech: Speech) -> None:
        made = put(speech, "Said so.")
        mutate.edit(speech.tx, speech.record(made), Edit(1, "Said otherwise."), at=speech.at)
        assert texts(speech, replace(MINE, evidence="manual")) == ["Said otherwise."]
        assert texts(speech, replace(MINE, evidence="source")) == []


class TestPages:
    @pytest.mark.parametrize("sort", ["newest", "importance", "cited"])
    def test_what_is_stored_meanwhile_neither_repeats_nor_hides_a_row(self, speech: Speech, sort: Sort) -> None:
        made = [put(speech, f"Fact number {at}.", importance=1 + at % 3) for at in range(7)]
        for at, record in enumerate(made):
            stable.update(speech.tx, record, {"cited": at // 3}, at=1.0)
        seen: list[str] = []
        before, of = "", 0
        while True:
            page = browse.page(speech.tx, MINE, sort=sort, before=before, limit=2)
            seen += [record.id for record in page.records]
            of, before = page.of, page.next
            if not before:
                break
            put(speech, f"Stored meanwhile {len(seen)}.", importance=10)
        assert len(seen) == len(set(seen))
        assert set(made) <= set(seen)
        assert of > len(made)

    def test_orders(self, speech: Speech) -> None:
        a, b, c = (put(speech, text, importance=most) for text, most in (("A.", 9), ("B.", 2), ("C.", 9)))
        stable.update(speech.tx, b, {"cited": 5}, at=1.0)
        assert texts(speech) == ["C.", "B.", "A."]
        assert texts(speech, sort="importance") == ["C.", "A.", "B."]
        assert texts(speech, sort="cited") == ["B.", "C.", "A."]
        assert a != c

    @pytest.mark.parametrize("before", ["x", "1", "1:2", "-1:-1", f"{1 << 62}:{1 << 62}", "1:2:3", "nan:nan"])
    def test_a_place_of_no_list_is_refused(self, speech: Speech, before: str) -> None:
        with pytest.raises(InvalidInput, match="before"):
            browse.page(speech.tx, MINE, before=before)

    @given(text=st.text(max_size=20))
    @settings(max_examples=60, deadline=None)
    def test_whatever_is_taken_for_an_id_or_a_place_breaks_nothing(self, text: str) -> None:
        nothing: Any = _Nothing()
        assert browse.named(nothing, MINE, text) == []
        with suppress(InvalidInput):
            browse.page(nothing, MINE, before=text)


class _Nothing:
    """A database that has nothing."""

    def all(self, sql: str, params: Any = ()) -> list[Any]:
        return []

    def value(self, sql: str, params: Any = ()) -> int:
        return 0

    execute = one = many = changes = all


class TestNames:
    def test_an_id_whole_or_its_last_eight_digits(self, speech: Speech) -> None:
        made = put(speech, "Mine.")
        for given_ in (made, made[-8:], f" id:{made[-8:]} ", made.upper()):
            assert [record.id for record in browse.named(speech.tx, MINE, given_)] == [made]

    @pytest.mark.parametrize("query", ["", "Mine.", "1234567", "zzzzzzzz", "fact_%", "________", "a' OR 1=1"])
    def test_other_words_are_no_id(self, speech: Speech, query: str) -> None:
        put(speech, "Mine.")
        assert browse.named(speech.tx, MINE, query) == []
