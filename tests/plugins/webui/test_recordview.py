"""What the page of a record is made of."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.webui.recordview import asked, chain, evidence, folder, heading, history, thread_link, triple

NOW = {"text": "c", "title": "", "importance": 5, "tags": ["x"], "revision": 3, "updated_at": 30.0}


def said(revision: int, text: str, **more: Any) -> dict[str, Any]:
    known = {"title": "", "importance": 5, "tags": ["x"], "why": f"why {revision}", "at": revision * 10.0}
    return {"revision": revision, "text": text, **known, **more}


def test_the_history_is_told_the_newest_change_first_whatever_order_it_comes_in() -> None:
    changes = history({**NOW, "history": [said(1, "a", importance=3), said(2, "b")]})
    assert [(one.revision, one.at, one.why) for one in changes] == [(3, 30.0, "why 2"), (2, 20.0, "why 1")]
    assert [[(piece.sign, piece.text) for piece in one.words] for one in changes] == [
        [("-", "b"), ("+", "c")],
        [("-", "a"), ("+", "b")],
    ]
    assert changes[0].others == ()
    assert changes[1].others == (("importance", "3", "5"),)


def test_what_did_not_change_in_its_words_says_so() -> None:
    (change,) = history({**NOW, "history": [said(2, "c", title="old", tags=[])]})
    assert not change.changed
    assert change.others == (("title", "old", ""), ("tags", "", "x"))


def test_one_that_never_changed_has_no_history() -> None:
    assert history({**NOW, "history": []}) == history(NOW) == []


def test_a_chain_is_in_order_and_there_is_none_of_one_alone() -> None:
    found: dict[str, Any] = {"id": "this", "newer": [{"id": "n1"}, {"id": "n2"}], "older": [{"id": "o1"}]}
    assert [(place, one["id"]) for place, one in chain(found)] == [
        ("newer", "n2"), ("newer", "n1"), ("this", "this"), ("older", "o1"),
    ]  # fmt: skip
    assert chain({"id": "this", "newer": [], "older": []}) == []


@pytest.mark.parametrize(
    ("piece", "state"),
    [
        ({"hash_ok": True, "kind": "user", "state": "ok"}, "ok"),
        ({"hash_ok": False, "kind": "user", "state": "mismatch"}, "bad"),
        ({"hash_ok": None, "kind": "user", "state": "pointer"}, "none"),
        ({"hash_ok": None, "state": "missing"}, "missing"),
        ({"hash_ok": None, "state": "pointer"}, "missing"),
    ],
)
def test_each_piece_of_evidence_says_how_it_stands(piece: dict[str, Any], state: str) -> None:
    (shown,) = evidence({"evidence": [{"event": "e", "text": "x", **piece}]})
    assert shown["hash"] == state
    assert shown["said"]


def test_of_a_source_that_is_gone_no_words_are_made_up_and_what_it_says_now_comes_first() -> None:
    pieces = evidence(
        {"evidence": [{"text": "old", "upto": 2, "kind": "user"}, {"text": "source unavailable", "hash_ok": None}]}
    )
    assert [(one["text"], one["said"], one["hash"]) for one in pieces] == [
        ("source unavailable", False, "missing"), ("old", True, "none"),
    ]  # fmt: skip


def test_a_conversation_is_linked_at_its_turn_whatever_it_is_called() -> None:
    assert thread_link({"thread": "a/b#c", "turn": "t 1"}) == "/t/a%2Fb%23c#turn-t%201"
    assert thread_link({"thread": "th1"}) == "/t/th1"
    assert thread_link({"turn": "t1"}) == ""


def test_an_address_asks_for_what_there_is_and_for_nothing_else() -> None:
    given = {"query": " tomatoes ", "record": "fact", "status": "active", "evidence": "proof", "sort": "cited",
             "kind": "todo", "person": "webui:owner", "untrusted": "yes", "limit": "5", "reach": ""}  # fmt: skip
    assert asked(given) == {
        "query": "tomatoes", "record": "fact", "sort": "cited", "kind": "todo", "person": "webui:owner",
    }  # fmt: skip


def test_a_triple_is_told_by_names() -> None:
    mei = {"id": "ent_1", "name": "Mei"}
    assert triple({"subject": mei, "relation": "lives_in", "object": "munich", "object_entity": None}) == (
        "Mei", "lives_in", "munich",
    )  # fmt: skip
    assert triple({"subject": mei, "relation": ""}) is None
    assert triple({"subject": mei, "relation": "home", "object": "", "status": "hidden"}) is None


def test_a_title_that_the_words_begin_with_is_not_said_twice() -> None:
    assert heading({"title": "How many goats?", "text": "How many goats? - Eleven."}) == ""
    assert heading({"title": "How many…", "text": "how many goats? - Eleven."}) == ""
    assert heading({"title": "Goats", "text": "Eleven of them."}) == "Goats"
    assert heading({"title": "", "text": "Eleven."}) == ""


def test_of_a_project_the_folder_is_shown_and_not_the_digest() -> None:
    assert folder("f2af6c097ab8-main") == "main"
    assert folder("f2af6c097ab8-my-own-tool") == "my-own-tool"
    assert folder("my-own-tool") == "my-own-tool"
