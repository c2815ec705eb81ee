"""The bars of the sets, on a slice of each, with the real engine and encoder; `make bench` has them whole."""

from __future__ import annotations

import pytest

from benchmarks import quality
from benchmarks.quality import BARS, GATE, OURS, Encodings, Judged, judge, part_of
from benchmarks.sets import rows
from benchmarks.sets.rows import Event, Query, Set

SLICES = {
    "chinese": (400, 1), "english": (300, 1), "zh-en": (200, 1), "en-zh": (200, 1), "typos": (220, 2),
    "exact": (260, 1), "latest": (420, 1), "long": (24, 2),
}  # fmt: skip
"""Events of so many of the first histories of each."""

LEAST = 18
"""Questions that a slice must have: fewer would decide nothing (E46)."""


@pytest.fixture(scope="module")
def encode() -> Encodings:
    return Encodings()


def part(name: str, events: int, histories: int = 1) -> Set:
    made = part_of(rows.read(rows.DATA / name), events, histories)
    assert len(made.queries) >= LEAST, f"{name} asks for too little"
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
def test_ours_reaches_the_bar(name: str, encode: Encodings) -> None:
    judged = judge(name, part(name, *SLICES[name]), encode)
    least, whose = judged.bar
    assert least > 0, "what is reached by nobody is no bar"
    assert judged.recall[OURS] >= least - 1e-9, f"{whose}: {judged.recall}"


@pytest.mark.slow
def test_b10_no_word_of_two_characters_is_unfindable(encode: Encodings) -> None:
    assert judge("chinese-words", part("chinese-words", 300), encode).words_found() == 1.0


@pytest.mark.slow
def test_what_has_nothing_to_do_with_anything_gets_nothing_and_the_rest_gets_something(encode: Encodings) -> None:
    wrong, right = judge("unrelated", part("unrelated", 300), encode).gate()
    assert wrong <= 0.05
    assert right >= 0.75


def judged(hits: dict[str, list[str]], scores: dict[str, list[float]]) -> Judged:
    queries = [Query("h", "q1", "?", "same words", ("e1", "e2")), Query("h", "q2", "?", "unrelated")]
    events = [Event("h", f"e{n}", "1", "2024-01-01T00:00:00", "I", "x") for n in (1, 2, 3)]
    return Judged("latest", Set(events, queries), {OURS: 0.5, quality.WORDS: 0.4, quality.GRAMS: 0.6}, hits, scores)


def test_figures_are_made_of_what_was_found() -> None:
    seen = judged({"q1": ["e3", "e1"], "q2": ["e3"]}, {"q1": [0.5, GATE], "q2": [GATE - 0.01]})
    assert seen.gate() == (0.0, 1.0)
    assert judged({"q1": ["e3", "e1"], "q2": ["e3"]}, {"q1": [0.5, 0.1], "q2": [GATE]}).gate() == (1.0, 0.0)
    assert seen.kinds() == {"same words": (1, 0.5)}
    assert seen.words_found() == 1.0
    assert judged({"q1": ["e3"], "q2": []}, {"q1": [0.5], "q2": []}).words_found() == 0.0


def test_a_set_that_asks_for_nothing_is_no_measure() -> None:
    """E46: a probe passed with 0 of 0 judged."""
    empty = Judged("latest", Set([], []), {}, {}, {})
    with pytest.raises(AssertionError, match="asks for nothing"):
        empty.kinds()


def test_a_slice_asks_for_no_more_than_it_holds() -> None:
    made = part("chinese", 300)
    known = {event.id for event in made.events}
    assert len(known) == 300
    assert all(known.issuperset(query.gold) for query in made.queries)
