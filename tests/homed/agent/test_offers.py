"""Which tools a request describes: what stands where, what goes when there is no room, and what it all takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.catalogue import LINES, shortened
from homed.agent.offers import Room, Sized, Wanted, at_once, pick, sized, slim
from homed.host.registry import ToolEntry
from homed.host.states import Trust
from homed.providers.base import ToolSpec

NAMES = [f"t{n}" for n in range(8)]


def sizes(**bytes_: int) -> dict[str, Sized]:
    return {name: Sized(ToolSpec(name, "", {}), size) for name, size in bytes_.items()}


def entry(parameters: Mapping[str, Any], description: str = "Looks.") -> ToolEntry:
    return ToolEntry(
        "look", "demo", description, parameters, "read", guest=False, parallel_safe=False, timeout=0.0, confirm=False,
        no_memory=False, untrusted=False, trust=Trust.PACKAGED,
    )  # fmt: skip


def test_all_are_there_when_all_fit() -> None:
    assert pick(sizes(b=10, a=10), ["b"], Wanted(), Room(20, 40)) == ["a", "b"]
    assert pick(sizes(b=10, a=11), ["b"], Wanted(), Room(20, 40)) == ["b"]


def test_what_is_new_comes_last() -> None:
    known, wanted = sizes(a=5, m=5, z=5, big=50), Wanted()
    wanted.want(["z"], 1, known, 40)
    wanted.want(["a"], 2, known, 40)
    assert pick(known, ["m"], wanted, Room(20, 40)) == ["m", "z", "a"]
    wanted.want(["z"], 3, known, 40)
    assert pick(known, ["m"], wanted, Room(20, 40)) == ["m", "z", "a"], "used again: nothing moves"


def test_what_was_longest_unused_goes_first_and_comes_back_at_the_end() -> None:
    known, wanted = sizes(a=10, b=10, c=10, always=10), Wanted()
    for at, name in enumerate("abac"):
        wanted.want([name], at + 1, known, 20)
    assert wanted.order == ["a", "c"], "b was unused for longest"
    wanted.want(["b"], 9, known, 20)
    assert wanted.order == ["c", "b"]


def test_a_conversation_begins_with_what_was_used_lately_as_far_as_that_fits() -> None:
    known, wanted = sizes(new=10, huge=100, old=10, oldest=10), Wanted()
    wanted.begin(["new", "huge", "old", "oldest"], known, 25)
    assert wanted.order == ["new", "old"]
    wanted.want(["huge"], 5, known, 110)
    assert wanted.order == ["new", "huge"], "of those the older one went"


@pytest.mark.parametrize(
    ("room", "begins"), [(60, ["a", "p", "q", "r"]), (45, ["a", "q"]), (30, ["a", "q"]), (29, ["a"]), (5, ["a"])]
)
def test_the_first_list_that_fits_whole_is_there_at_once(room: int, begins: list[str]) -> None:
    known = sizes(a=10, p=10, q=20, r=10, seldom=1000)
    assert at_once(["a"], [["p", "q", "r"], ["q"]], known, room) == begins


def test_a_plugin_with_more_tools_than_room_has_the_first_ones() -> None:
    known, wanted = sizes(**dict.fromkeys(NAMES, 10)), Wanted()
    wanted.want(NAMES, 1, known, 35)
    assert wanted.order == NAMES[:3]


def test_a_small_window_has_fewer_of_those_that_are_always_there() -> None:
    known = sizes(first=50, second=60, third=30, other=500)
    assert pick(known, ["first", "second", "third"], Wanted(), Room(200, 800).within(100)) == ["first", "third"]


@given(
    st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), max_size=40),
    st.lists(st.integers(1, 30), min_size=8, max_size=8),
    st.integers(0, 90),
)
def test_the_list_only_grows_at_its_end_or_makes_room_and_is_never_too_long(
    wants: list[list[str]], bytes_: list[int], room: int
) -> None:
    known, wanted = sizes(**dict(zip(NAMES, bytes_, strict=True))), Wanted()
    for at, names in enumerate(wants):
        before = list(wanted.order)
        wanted.want(names, at + 1, known, room)
        after = wanted.order
        assert sum(known[name].bytes for name in after) <= room
        stayed = [name for name in before if name in after]
        assert after[: len(stayed)] == stayed, "nothing is put in between"
        if set(names) <= set(before):
            assert after == before, "what is there is used, and nothing moves"


def test_a_schema_says_what_a_model_needs_and_no_more() -> None:
    schema = {
        "$schema": "x", "title": "Args", "type": "object", "additionalProperties": False, "required": [],
        "properties": {
            "title": {"type": "string", "title": "Title", "default": ""},
            "default": {"anyOf": [{"type": "integer", "title": "N"}, {"type": "null"}], "default": None},
            "deep": {
                "type": "array",
                "items": {"type": "object", "properties": {}, "additionalProperties": False, "required": ["a"]},
            },
            "mode": {"enum": ["a", "title"], "default": "a"},
            "open": {"type": "object", "additionalProperties": {"type": "string", "title": "T"}},
        },
    }  # fmt: skip
    before = json.dumps(schema)
    assert slim(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "default": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "deep": {"type": "array", "items": {"type": "object", "properties": {}, "required": ["a"]}},
            "mode": {"enum": ["a", "title"], "default": "a"},
            "open": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    assert json.dumps(schema) == before, "what calls are checked against is as it was"


def test_bytes_are_those_of_the_wire() -> None:
    found = sized(entry({"type": "object", "properties": {}}, "看天气\ud800"))
    assert found.bytes == len(b'{"type": "function", "function": {"name": "look", "description": "') + len(
        "看天气".encode()
    ) + 3 + len(b'", "parameters": {"type": "object", "properties": {}}}}')
    assert sized(entry({"title": "A"}), whole=True).spec.parameters == {"title": "A"}


def test_the_catalogue_stays_short_whatever_is_installed() -> None:
    some = {"files": ("Reads files.\nAnd more.", ["files_ls", "files_read"]), "bare": ("", ["one"])}
    assert shortened(some) == ["- files (Reads files): files_ls, files_read", "- bare: one"]
    long = [f"tool_number_{n}" for n in range(60)]
    assert shortened({"mcp": ("", long)})[0].endswith("tool_number_19 and 40 more")
    for plugins, shape in ((20, "- p0: tool_n"), (45, "- p0 (Does this"), (100, "- p0")):
        many = {f"p{n}": ("Does this and that for the person who has it.", long[: 10 if plugins < 45 else 20])
                for n in range(plugins)}  # fmt: skip
        lines = shortened(many)
        assert len(lines) == plugins, "each is named"
        assert lines[0].startswith(shape)
        assert sum(map(len, lines)) <= LINES
