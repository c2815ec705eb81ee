"""The committed sets: as their generators make them, whole, and not to be had for nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.plain import Bm25, bigrams
from benchmarks.sets import rows
from benchmarks.sets.every import SETS
from benchmarks.sets.mixed import CLASSES, mixed
from benchmarks.sets.rows import DATA, SHARED, Set

LEAST = {
    "chinese": (1500, 200), "chinese-words": (1500, 200), "english": (700, 100), "zh-en": (500, 100),
    "en-zh": (500, 100), "typos": (500, 100), "exact": (300, 80), "latest": (1000, 80), "long": (100, 100),
    "unrelated": (500, 100),
}  # fmt: skip
"""Events and questions."""


@pytest.fixture(scope="module", params=[*SETS])
def of(request: pytest.FixtureRequest) -> tuple[str, Set]:
    return request.param, rows.read(DATA / request.param)


def test_a_set_is_what_its_generator_makes(of: tuple[str, Set], tmp_path: Path) -> None:
    name, _ = of
    rows.write(SETS[name](), tmp_path / name)
    for file in ("queries.jsonl", *(() if name in SHARED else ("events.jsonl",))):
        assert (tmp_path / name / file).read_bytes() == (DATA / name / file).read_bytes(), "python -m benchmarks.sets"


def test_a_set_is_large_enough_and_whole(of: tuple[str, Set]) -> None:
    name, made = of
    events, questions = LEAST[name]
    assert len(made.events) >= events
    assert len(made.queries) >= questions
    places = [(event.history, event.id) for event in made.events]
    known = set(places)
    assert len(known) == len(places)
    assert len({query.id for query in made.queries}) == len(made.queries)
    for query in made.queries:
        assert all((query.history, id_) in known for id_ in query.gold)
        assert bool(query.gold) != (query.kind == "unrelated")
    times = [(event.history, event.time) for event in made.events]
    assert times == sorted(times, key=lambda one: (list(dict.fromkeys(h for h, _ in times)).index(one[0]), one[1]))


def test_the_chinese_questions_are_of_all_kinds_and_not_easy() -> None:
    made = rows.read(DATA / "chinese")
    kinds = Counter(query.kind for query in made.queries)
    assert min(kinds.values()) >= 15, kinds
    assert set(kinds) == {"same words", "other words", "reply", "changed", "multi-hop", "list"}
    found = []
    for history in dict.fromkeys(event.history for event in made.events):
        events = [event for event in made.events if event.history == history]
        plain = Bm25([event.text for event in events], bigrams)
        for query in (query for query in made.queries if query.history == history):
            hits = {events[at].id for at in plain(query.text, 10)}
            found.append(len(hits.intersection(query.gold)) / len(query.gold))
    assert 0.35 < sum(found) / len(found) < 0.75


def test_no_question_of_one_language_shares_a_word_with_its_evidence_in_the_other() -> None:
    for name in ("zh-en", "en-zh"):
        made = rows.read(DATA / name)
        texts = {(event.history, event.id): event.text for event in made.events}
        assert made.queries
        for query in made.queries:
            (place,) = query.gold
            assert not set(bigrams(query.text)) & set(bigrams(texts[query.history, place])), query


def test_long_messages_are_long() -> None:
    made = rows.read(DATA / "long")
    english = [len(event.text) / 4 for event in made.events if event.history == "long-en"]
    chinese = [len(event.text) for event in made.events if event.history == "long-zh"]
    assert min(english) > 350
    assert min(chinese) > 500
    assert sum(english) / len(english) > 450


def test_a_latest_value_is_the_last_of_more_than_ten() -> None:
    made = rows.read(DATA / "latest")
    for query in made.queries:
        (gold,) = query.gold
        told = [event for event in made.events if event.history == query.history]
        assert [event.id for event in told].index(gold) > len(told) * 14 / 16


def test_the_mix_has_every_class_and_every_gold_in_one_history() -> None:
    made = mixed()
    ids = [event.id for event in made.events]
    assert len(set(ids)) == len(ids)
    counts = Counter(query.kind for query in made.queries)
    assert set(counts) == set(CLASSES.values())
    assert min(counts.values()) >= 4
    known = set(ids)
    assert all(known.issuperset(query.gold) for query in made.queries)
    assert [event.time for event in made.events] == sorted(event.time for event in made.events)
