"""Pieces of a turn have a key and a place."""

from __future__ import annotations

from plugins.webui.pieces import APPROVAL, END, NOTE, REASONING, RECALLED, SAID, TEXT, TOOL, Item, Section, order


def test_the_places_of_a_turn_from_top_to_bottom() -> None:
    steps = [
        order(step, kind, nth)
        for step in (0, 1, 10)
        for kind in (REASONING, TEXT, TOOL, APPROVAL, NOTE)
        for nth in (0, 12)
    ]
    places = [SAID, RECALLED, *steps, END]
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_a_piece_put_again_replaces_the_one_before() -> None:
    section = Section("t", items=[Item("b", "2", "old"), Item("a", "1", "first"), Item("b", "2", "new")])
    assert [item.html for item in section.ordered()] == ["first", "new"]
