"""Changes of several stage handlers become one context, with nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.fields import FIELDS, LISTS, STAGES, WRITABLE, Reply, merge, visible, writable


def call(id_: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": "t", "arguments": {}} | more


def test_five_handlers_that_change_five_things_lose_nothing() -> None:
    """E20"""
    base: dict[str, Any] = {"llm_text": "a", "reasoning": "b", "tool_calls": [call("1"), call("2")], "extra": {"k": 1}}
    merged, errors = merge(
        "post_action",
        base,
        [
            Reply("p1", {"llm_text": "A"}),
            Reply("p2", {"reasoning": "B"}),
            Reply("p3", {"tool_calls": [call("1", name="changed"), call("2")]}),
            Reply("p4", {"tool_calls": [call("1"), call("2"), call("3")]}),
            Reply("p5", {"extra": {"k": 1, "mine": True}}),
        ],
    )
    assert errors == []
    assert (merged["llm_text"], merged["reasoning"]) == ("A", "B")
    assert merged["tool_calls"] == [call("1", name="changed"), call("2"), call("3")]
    assert merged["extra"] == {"k": 1, "mine": True}


def test_the_later_of_two_wins_and_the_clash_is_noted() -> None:
    merged, errors = merge("post_action", {}, [Reply("p1", {"llm_text": "1"}), Reply("p2", {"llm_text": "2"})])
    assert merged["llm_text"] == "2"
    assert errors == [
        {"stage": "post_action", "plugin": "p2", "error": "llm_text: also changed by p1; the later one holds"}
    ]


def test_two_who_agree_do_not_clash() -> None:
    _, errors = merge("post_action", {}, [Reply("p1", {"llm_text": "x"}), Reply("p2", {"llm_text": "x"})])
    assert errors == []


def test_an_element_taken_out_stays_out_while_another_is_changed() -> None:
    base = {"tool_calls": [call("1"), call("2")]}
    merged, errors = merge(
        "post_action",
        base,
        [Reply("p1", {"tool_calls": [call("2")]}), Reply("p2", {"tool_calls": [call("1"), call("2", name="x")]})],
    )
    assert merged["tool_calls"] == [call("2", name="x")]
    assert errors == []


def test_the_same_element_changed_twice_is_a_clash() -> None:
    base = {"tool_calls": [call("1")]}
    _, errors = merge(
        "post_action",
        base,
        [Reply("p1", {"tool_calls": [call("1", name="a")]}), Reply("p2", {"tool_calls": [call("1", name="b")]})],
    )
    assert "1 was changed twice" in errors[0]["error"]


def test_results_can_be_sorted() -> None:
    base = {"tool_results": [call("1"), call("2"), call("3")]}
    merged, _ = merge("after_toolcall", base, [Reply("p", {"tool_results": [call("3"), call("1"), call("2")]})])
    assert [e["id"] for e in merged["tool_results"]] == ["3", "1", "2"]  # type: ignore[attr-defined]


def test_set_to_empty_is_not_the_same_as_never_set() -> None:
    merged, _ = merge("on_input", {}, [Reply("p", {"response": ""})])
    assert merged["response"] == ""
    assert "response" not in merge("on_input", {}, [Reply("p", {})])[0]


@pytest.mark.parametrize(
    ("stage", "changes"),
    [
        ("on_input", {"final_text": "x"}),
        ("on_input", {"user_id": "webui:owner"}),
        ("on_input", {"nonsense": 1}),
        ("on_input", {"raw_message": 5}),
        ("post_action", {"tool_calls": [{"name": "no id"}]}),
        ("post_action", {"tool_calls": "x"}),
        ("pre_action", {"no_memory": "yes"}),
        ("after_output", {"response": "too late"}),
    ],
)
def test_what_may_not_be_changed_or_has_the_wrong_type_is_noted_and_left_out(
    stage: str, changes: dict[str, object]
) -> None:
    base = {"raw_message": "hi", "user_id": "a"}
    merged, errors = merge(stage, base, [Reply("p", changes)])
    assert merged == base
    assert [(e["stage"], e["plugin"]) for e in errors] == [(stage, "p")]


def test_every_writable_field_is_a_field_and_every_stage_is_there() -> None:
    assert set(WRITABLE) == set(STAGES)
    assert set().union(*WRITABLE.values()) <= set(FIELDS)


@given(st.sets(st.sampled_from("abcdefg"), min_size=1), st.data())
def test_writers_of_different_elements_never_lose_one(ids: set[str], data: st.DataObject) -> None:
    """E20: each handler rewrites elements of its own; in whatever order they answer, all of it is there."""
    base = {"tool_calls": [call(id_) for id_ in sorted(ids)]}
    owner = {id_: data.draw(st.integers(0, 3), label=id_) for id_ in sorted(ids)}
    replies = []
    for handler in data.draw(st.permutations(range(4))):
        changed = [call(id_, name=f"h{handler}") if owner[id_] == handler else call(id_) for id_ in sorted(ids)]
        replies.append(Reply(f"p{handler}", {"tool_calls": changed}))
    merged, errors = merge("post_action", base, replies)
    assert errors == []
    assert {e["id"]: e["name"] for e in merged["tool_calls"]} == {i: f"h{h}" for i, h in owner.items()}  # type: ignore[attr-defined]


EVERYTHING: dict[str, Any] = {name: [] if name in LISTS else f"the {name}" for name in FIELDS}


@pytest.mark.parametrize("stage", STAGES)
def test_who_sees_what(stage: str) -> None:
    other = call("3", name="other")
    fields = EVERYTHING | {"tool_calls": [call("1"), other], "tool_results": [other]}
    assert visible(stage, fields, external=False, own_tools=None) == fields
    outside = visible(stage, fields, external=True, own_tools=None)
    assert outside.keys() == WRITABLE[stage] | {"raw_message", "phase", "user_id", "group_id", "no_memory"}
    for external in (True, False):
        own = visible(stage, fields, external=external, own_tools=frozenset({"t"}))
        assert own == {
            "phase": "the phase", "user_id": "the user_id", "group_id": "the group_id", "tool_calls": [call("1")],
            "tool_results": [],
        }  # fmt: skip


@pytest.mark.parametrize("name", [["x"], {"x": 1}, None, 3])
def test_a_name_that_is_none_is_nobodys_tool(name: object) -> None:
    fields = {"tool_calls": [{"id": "a", "name": name}, {"id": "b", "name": "mine"}]}
    seen = visible("before_toolcall", fields, external=True, own_tools=frozenset({"mine"}))
    assert seen == {"tool_calls": [{"id": "b", "name": "mine"}]}


def test_what_was_never_set_is_not_shown_as_empty() -> None:
    for external in (True, False):
        assert visible("on_input", {"phase": "on_input"}, external=external, own_tools=None) == {"phase": "on_input"}
        assert visible("on_input", {"phase": "x"}, external=external, own_tools=frozenset({"t"})) == {"phase": "x"}


def test_a_handler_for_its_own_tools_changes_nothing_else() -> None:
    base: dict[str, Any] = {"tool_calls": [call("1"), call("2", name="other")], "extra": {"k": 1}}
    own = {"tool_calls": [call("1")]}

    def left(changes: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        merged, errors = merge("before_toolcall", base, [Reply("p", changes, own)])
        return merged, [error["error"] for error in errors]

    assert left({"tool_calls": []}) == ({**base, "tool_calls": [call("2", name="other")]}, [])
    changed = call("1", arguments={"a": 1})
    assert left({"tool_calls": [changed]}) == ({**base, "tool_calls": [changed, call("2", name="other")]}, [])
    assert left({"response": "no"}) == ({**base, "response": "no"}, [])
    for wrong in ({"tool_calls": [call("1"), call("2", name="mine")]}, {"tool_calls": [call("9")]}):
        assert left(wrong) == (base, [f"tool_calls: {wrong['tool_calls'][-1]['id']} is of no tool of the plugin's own"])
    assert left({"extra": {"k": 2}}) == (base, ["extra cannot be changed by a handler of scope own-tools"])


@pytest.mark.parametrize("stage", STAGES)
def test_own_tools_may_never_change_more_than_others(stage: str) -> None:
    assert writable(stage, own_tools=False) == WRITABLE[stage]
    assert writable(stage, own_tools=True) <= WRITABLE[stage] & {"tool_calls", "tool_results", "response"}
