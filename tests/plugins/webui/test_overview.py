"""Figures of memory as bars and columns."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plugins.webui.overview import bar, columns, days, gates, layers, percent, shown, vectors

NAMES = ("a", "b", "c")


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 10**9)))
def test_the_parts_of_a_bar_fill_it_without_a_gap(counts: dict[str, int]) -> None:
    parts = bar(counts, NAMES)
    assert [part.count for part in parts] == [counts[name] for name in NAMES if counts.get(name)]
    if parts:
        assert abs(sum(part.wide for part in parts) - 100) < 0.01
        assert parts[0].at == 0
        for one, other in pairwise(parts):
            assert abs(one.at + one.wide - other.at) < 0.01


def test_columns_are_against_the_highest() -> None:
    assert [column.high for column in columns([("a", 1), ("b", 4), ("c", 0)])] == [25.0, 100.0, 0.0]
    assert columns([]) == []


def test_days_without_anything_are_there_and_a_week_without_anything_is_not() -> None:
    found = days({"2026-03-01": 2, "2026-02-20": 9}, date(2026, 3, 2))
    assert [(one.name, one.count) for one in found][-3:] == [("2026-02-28", 0), ("2026-03-01", 2), ("2026-03-02", 0)]
    assert len(found) == 7
    assert days({}, date(2026, 3, 2)) == []


def test_gates_are_told_the_most_first_and_none_that_stopped_nothing() -> None:
    assert [one.name for one in gates({"known": 3, "secret": 5, "shape": 3, "text": 0})] == ["secret", "known", "shape"]


def test_not_all_of_it_is_never_a_hundred() -> None:
    assert percent(999, 1000) == 99
    assert percent(7, 7) == 100
    assert percent(0, 0) == 0


def test_vectors_count_what_waits_and_what_was_given_up_among_all() -> None:
    found = vectors(
        {
            "kinds": {"event": {"have": 8, "waiting": 1, "failed": 1}, "block": {"have": 0, "waiting": 0, "failed": 0}},
            "embedder": {"used": "", "reason": "no model"}, "fingerprint": "f", "dims": 3, "trouble": "",
        }
    )  # fmt: skip
    assert [(one.name, one.have, one.of, one.percent) for one in found["kinds"]] == [("event", 8, 10, 80)]
    assert (found["waiting"], found["failed"], found["space"], found["trouble"]) == (1, 1, "f", "no model")


def test_layers_have_their_share_and_nothing_has_none() -> None:
    assert layers({"context": {"events": 3}, "cold": {"events": 1}})["context"]["share"] == 75.0
    assert layers({"context": {"events": 0}})["context"]["share"] == 0.0


def test_one_that_is_no_owner_is_shown_no_disk_and_no_vectors() -> None:
    stats: dict[str, Any] = {"records": {"evidence": {"source": 1}}, "passes": {"gates": {}}, "injections": {}}
    made = shown(stats, date(2026, 3, 2))
    assert (made["vectors"], made["bytes"], made["days"]) == (None, [], [])
    assert made["stats"]["by_scope"] == []
