"""Records of a turn as its page shows them: sentences, groups, the window's shares.  Nothing odd is an error."""

from __future__ import annotations

from typing import Any

from plugins.webui.why import Page, page, shares

EVENT = {"kind": "user", "thread": "t1", "title": "Tea", "created_at": 1.0, "layer": "cold", "excerpt": "Green."}
FACT = {**EVENT, "kind": "fact", "layer": "stable"}


def made(*entries: dict[str, Any], **more: Any) -> Page:
    return page({"turn": "turn1", "thread": "t1", "at": 5.0, "entries": entries, "events": more})


def test_kept_is_sorted_by_score_and_left_out_counts_what_is_not_named() -> None:
    data = {"of": 9, "kept": {"recent": ["e1"], "score": ["e2"]}, "left_out": ["e3"], "more": 4, "scores": {"e2": 0.8}}
    (part,) = made({"kind": "select", "at": 2.0, "data": data}, e1=EVENT, e2=EVENT).parts
    assert part.sentences == (("js.why_select_says", {"kept": 2, "of": 9, "left": 5}),)
    kept, left = part.groups
    assert [(row.id, row.score, row.why) for row in kept.rows] == [
        ("e2", 0.8, "js.why_is_score"), ("e1", None, "js.why_is_recent"),
    ]  # fmt: skip
    assert (left.count, left.unlisted, left.rows[0].known) == (5, 4, None)


def test_a_recall_names_what_came_what_was_late_and_what_was_below_the_gate() -> None:
    known = {"scores": {"fact_1": 0.5}, "below": 2, "sunk": {"fact_2": 0.1}}
    hits = [{"id": "e1", "score": 0.7, "told": True}, {"id": "e2", "score": 0.3, "told": False}]
    data = {
        "cold": ["e1"],
        "facts": ["fact_1"],
        "hits": hits,
        "known": known,
        "below": 1,
        "gate": 0.12,
        "late": ["cold"],
    }
    (part,) = made({"kind": "recall", "at": 2.0, "data": data}, e1=EVENT, fact_1=FACT).parts
    assert [key for key, _ in part.sentences] == ["js.why_recall_says", "js.why_below", "js.why_late"]
    assert part.sentences[1][1] == {"n": 3, "gate": 0.12}
    assert {group.name: [(row.id, row.score) for row in group.rows] for group in part.groups} == {
        "why_cold": [("e1", 0.7)], "why_facts": [("fact_1", 0.5)], "why_gated": [("fact_2", 0.1)],
        "why_untold": [("e2", 0.3)],
    }  # fmt: skip
    rows = [group.rows[0] for group in part.groups]
    assert [row.is_record for row in rows] == [False, True, True, False], "also of one that is gone: its id says so"


def test_the_windows_shares_fill_it_and_the_last_selection_counts() -> None:
    found = shares({"window": 1000, "fixed": 100, "context": 400, "memory": 200})
    assert [(one.name, one.tokens, one.x, one.width) for one in found] == [
        ("fixed", 100, 0.0, 10.0), ("context", 400, 10.0, 40.0), ("memory", 200, 50.0, 20.0),
        ("answer", 300, 70.0, 30.0),
    ]  # fmt: skip
    over = shares({"window": 100, "fixed": 100, "context": 100, "memory": 0})
    assert sum(one.width for one in over) == 100.0, "more than there is is still drawn inside"
    assert shares({}) == []
    chosen = ({"kind": "select", "at": 1.0, "data": {"window": size}} for size in (10, 20))
    assert made(*chosen).window == 20


def test_the_question_and_the_title_come_from_the_ledger() -> None:
    row = {"query": "Which tea?", "title": "Kitchen", "mode": "hit", "lines": []}
    found = page({"turn": "turn1", "thread": "t1", "entries": [], "events": {}}, [row])
    assert (found.query, found.title, found.told) == ("Which tea?", "Kitchen", (row,))


def test_what_a_later_kernel_says_is_left_out_and_no_error() -> None:
    odd: list[Any] = [
        {"kind": "unheard", "data": {"x": 1}},
        {"kind": "select", "data": None},
        {"kind": "recall", "data": {"hits": "no", "facts": 3, "known": []}},
        {"kind": "guard", "data": {"before": 3}},
        "nothing",
        {},
    ]
    found = page({"turn": "turn1", "entries": odd, "events": None})
    assert [part.kind for part in found.parts] == ["select", "recall", "guard"]
    assert not any(part.groups for part in found.parts)
