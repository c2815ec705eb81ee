"""The grammar: every mistake at once with its place; printed and read the same; hostile JSON does no harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.seq import grammar
from plugins.seq.grammar import BadSequence, Group, Sequence, Step
from plugins.seq.refs import literal
from tests.plugins.seq.test_refs import JSON

GOOD: dict[str, Any] = {
    "name": "morning",
    "description": "What is new",
    "groups": [
        {
            "name": "ask",
            "in": {"city": "string", "n": "integer"},
            "out": {"weather": "object"},
            "tools": [
                {"tool": "weather_now", "args": {"place": "$args.city"}, "as": "weather"},
                {"tool": "rss_read", "args": {"limit": "$args.n"}, "as": "news"},
            ],
        },
        {
            "name": "tell",
            "in": {"weather": "object"},
            "when": "$args.weather and $news contains 'rain'",
            "parallel": False,
            "timeout": 5,
            "on_error": "retry",
            "retries": 2,
            "tools": [
                {"tool": "memo_create", "args": {"text": "It is ${weather.temp}."}, "as": "memo"},
                {"tool": "memo_show", "args": {"id": "$memo.id", "of": {"x": ["$ask.weather"]}}},
            ],
        },
    ],
}


def errors(value: object) -> list[str]:
    with pytest.raises(BadSequence) as caught:
        grammar.parse(value)
    return caught.value.errors


def with_(*path: Any, value: object) -> dict[str, Any]:
    """The good one with one value changed."""
    changed: dict[str, Any] = json.loads(json.dumps(GOOD))
    at: Any = changed
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return changed


def test_a_good_one_is_read_and_printed_as_it_was() -> None:
    sequence = grammar.parse(GOOD)
    assert grammar.as_json(sequence) == with_("groups", 1, "when", value='$args.weather and $news contains "rain"')
    assert sequence.takes() == {"city": "string", "n": "integer"}
    assert sequence.groups[0] == Group(
        "ask",
        (Step("weather_now", {"place": "$args.city"}, "weather"), Step("rss_read", {"limit": "$args.n"}, "news")),
        takes={"city": "string", "n": "integer"},
        gives={"weather": "object"},
    )


FIRST, SECOND = ("groups", 0), ("groups", 1)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (("extra",), 1, "extra: is an unknown field. The fields here are name, description, groups."),
        ((*FIRST, "whem"), "1", "groups[0].whem: is an unknown field. The fields here are name, description"),
        ((*FIRST, "tools", 0, "arg"), {}, "groups[0].tools[0].arg: is an unknown field. The fields here are tool"),
        (("name",), "No", "name: is no name"),
        ((*FIRST, "name"), "args", "groups[0].name: is no name"),
        (("groups",), [], "groups: is no list of 1 to 16"),
        ((*FIRST, "tools"), [{"tool": "t"}] * 17, "groups[0].tools: is no list of 1 to 16"),
        ((*FIRST, "tools", 0), "weather", "groups[0].tools[0]: is no object"),
        ((*FIRST, "tools", 0, "tool"), 3, "groups[0].tools[0].tool: is no name of a tool"),
        ((*FIRST, "tools", 0, "args"), [], "groups[0].tools[0].args: is no object"),
        ((*FIRST, "tools", 0, "as"), "args", "groups[0].tools[0].as: is no name for a result"),
        ((*FIRST, "in"), {"city": "str", "n": "integer"}, "groups[0].in.city: 'str' is no type. The types are string"),
        ((*FIRST, "out"), {"wether": "any"}, "groups[0].out.wether: no tool of this group has this `as`"),
        ((*FIRST, "timeout"), "30s", "groups[0].timeout: is no number from 1 to 600"),
        ((*FIRST, "timeout"), float("nan"), "groups[0].timeout: is no number from 1 to 600"),
        ((*FIRST, "parallel"), "yes", "groups[0].parallel: is neither true nor false"),
        ((*FIRST, "on_error"), "ignore", "groups[0].on_error: 'ignore' is unknown. Use one of abort"),
        ((*FIRST, "on_error"), "retry", "groups[0].retries: on_error is retry, and there are no retries"),
        ((*FIRST, "retries"), 1, "groups[0].retries: they count only with on_error retry"),
        ((*FIRST, "when"), "$args.n >", "groups[0].when: it ends too early"),
        ((*FIRST, "when"), "$news", "groups[0].when: $news: news runs at the same time"),
        ((*FIRST, "tools", 1, "args"), {"x": "$weather"}, "groups[0].tools[1].args.x: $weather: weather runs"),
        ((*FIRST, "tools", 1, "args"), {"x": "$nope.y"}, "groups[0].tools[1].args.x: $nope.y: nope is declared"),
        ((*FIRST, "tools", 1, "args"), {"x": "$args.y"}, "groups[0].tools[1].args.x: $args.y is not declared"),
        ((*FIRST, "tools", 1, "args"), {"x": ["$args"]}, "groups[0].tools[1].args.x[0]: $args is not declared"),
        ((*FIRST, "tools", 1, "args"), {"x": "Hi $args.city!"}, "groups[0].tools[1].args.x: $args.city stands"),
        ((*FIRST, "tools", 1, "as"), "weather", "groups[0].tools[1].as: the name 'weather' is taken"),
        ((*SECOND, "name"), "news", "groups[1].name: the name 'news' is taken by groups[0].tools[1].as"),
        ((*SECOND, "in", "weather"), "string", "groups[1].in.weather: is string, but an earlier"),
        ((*SECOND, "tools", 0, "args"), {"x": "$memo"}, "groups[1].tools[0].args.x: $memo: memo comes later"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_what_to_do(path: tuple[Any, ...], value: object, error: str) -> None:
    found = [line for line in errors(with_(*path, value=value)) if line.startswith(error)]
    assert found, errors(with_(*path, value=value))
    assert found[0].rstrip().endswith(".")


def test_all_mistakes_come_at_once() -> None:
    value = with_("groups", 0, "tools", 1, "args", value={"x": "$nope", "y": "$args.z"})
    value["groups"][1]["tools"][1]["args"] = {"id": "$memoo"}
    assert [line.split(": ")[0] for line in errors(value)] == [
        "groups[0].tools[1].args.x", "groups[0].tools[1].args.y", "groups[1].tools[1].args.id",
    ]  # fmt: skip
    many = {"name": "x", "groups": [{"name": f"g{n}", "bad": 1, "worse": 2, "tools": [{}] * 16} for n in range(16)]}
    assert len(errors(many)) == 50, "and no more than help"


def test_deep_arguments_are_refused() -> None:
    deep: Any = "x"
    for _ in range(50_000):
        deep = {"k": deep}
    assert "nested too deeply" in errors(with_(*FIRST, "tools", 0, "args", value=deep))[0]


@given(JSON)
def test_whatever_json_comes_is_refused_and_nothing_worse(value: object) -> None:
    assert errors(value)


KEYS = st.sampled_from(
    ["name", "groups", "tools", "tool", "args", "as", "in", "out", "when", "parallel", "timeout", "on_error", "retries"]
)
HOSTILE: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "$a.b", "$args.x", "abort", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(HOSTILE)
def test_json_that_looks_like_a_sequence_is_read_or_refused(value: object) -> None:
    try:
        sequence = grammar.parse(value)
    except BadSequence:
        return
    assert grammar.parse(grammar.as_json(sequence)) == sequence


names = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
plain_args = st.dictionaries(st.text(max_size=8), st.text(max_size=8).map(literal) | st.integers(), max_size=3)


@st.composite
def sequences(draw: Any) -> Sequence:
    fresh = iter(draw(st.lists(names.filter(lambda n: n != "args"), min_size=16, max_size=16, unique=True)))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        takes = draw(st.dictionaries(names, st.sampled_from(["string", "any"]), max_size=2))
        known = [f"$args.{key}" for key in takes]
        steps = []
        for _ in range(draw(st.integers(1, 3))):
            more = {"ref": draw(st.sampled_from(known))} if known else {}
            steps.append(Step("some_tool", draw(plain_args) | more, draw(st.sampled_from(["", next(fresh)]))))
        again = draw(st.integers(0, 5))
        groups.append(
            Group(
                name=next(fresh), tools=tuple(steps), description=draw(st.text(max_size=20)), takes=takes,
                gives={step.as_: "any" for step in steps if step.as_}, parallel=draw(st.booleans()),
                timeout=draw(st.floats(1, 600)), on_error="retry" if again else "continue", retries=again,
            )
        )  # fmt: skip
    return Sequence(draw(names), tuple(groups), draw(st.text(max_size=20)))


@settings(max_examples=40)  # large ones, slow to make
@given(sequences())
def test_printed_through_json_and_read_it_is_the_same(sequence: Sequence) -> None:
    if sequence.name != "args":
        assert grammar.parse(json.loads(json.dumps(grammar.as_json(sequence)))) == sequence
