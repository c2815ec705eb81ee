"""Values: each type takes what it says, and a refusal names place, key and what is wanted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.config.definitions import CORE, TIME_ZONE, TYPES, Definition
from homed.config.values import DEEPEST, check, from_text, whole
from homed.errors import ConfigError


def setting(type_: str, **more: object) -> Definition:
    return Definition("core.x.y", type_, more.pop("default", ""), "…", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type_", "value", "kept"),
    [
        ("string", "你好", "你好"),
        ("text", "a\nb", "a\nb"),
        ("int", 5, 5),
        ("int", 5.0, 5),
        ("float", 0.5, 0.5),
        ("bool", False, False),
        ("duration", 90, 90),
        ("duration", "90s", 90),
        ("duration", "1h30m", 5400),
        ("duration", "250ms", 0.25),
        ("duration", "12", 12),
        ("password", "p", "p"),
        ("list", ["a", 1], ["a", 1]),
    ],
)
def test_takes_what_the_type_says(type_: str, value: object, kept: object) -> None:
    result = check(setting(type_), value)
    assert result == kept
    assert type(result) is type(kept)


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        ("string", 5, "must be text"),
        ("string", "a\nb", "single line"),
        ("string", "a\0b", "NUL"),
        ("string", "\ud800", "broken"),
        ("text", "x" * 64_001, "at most"),
        ("int", True, "whole number"),
        ("int", 1.5, "whole number"),
        ("int", "5", "whole number"),
        ("int", 10**400, "whole number"),
        ("float", math.nan, "number"),
        ("float", math.inf, "number"),
        ("bool", 1, "true or false"),
        ("duration", "soon", "duration"),
        ("duration", 10**400, "duration"),
        ("duration", "5m later", "duration"),
        ("list", "a", "must be a list"),
        ("list", [math.nan], "may hold only"),
        ("list", [{"a": ["\ud800"]}], "broken"),
        ("list", [{"\udc00": 1}], "broken"),
        ("list", [object()], "may hold only"),
        ("list", ["x" * 256_001], "too long"),
    ],
)
def test_refuses_the_rest_with_what_is_wanted(type_: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        check(setting(type_), value, place="homed.toml line 3")
    assert str(caught.value).startswith("homed.toml line 3: core.x.y ")


def test_a_select_lists_its_options() -> None:
    with pytest.raises(ConfigError, match="one of a, b"):
        check(setting("select", options=("a", "b")), "c")


@pytest.mark.parametrize("value", [0, 11])
def test_a_number_out_of_range_is_told_the_range(value: int) -> None:
    with pytest.raises(ConfigError, match=f"between 1 and 10; this is {value}"):
        check(setting("int", minimum=1, maximum=10), value)


def test_bounds_are_written_as_people_write_them() -> None:
    with pytest.raises(ConfigError, match=r"between 0\.5 and 31536000 seconds; this is 31536001"):
        check(setting("duration", minimum=0.5, maximum=31_536_000), 31_536_001)


def test_text_is_read_as_the_type_wants() -> None:
    assert from_text(setting("int"), " 7 ") == 7
    assert from_text(setting("float"), "1e3") == 1000
    assert from_text(setting("bool"), "Off") is False
    assert from_text(setting("list"), '["a"]') == ["a"]
    assert from_text(setting("string"), "7") == "7"


@pytest.mark.parametrize(("type_", "text"), [("int", "x"), ("bool", "maybe"), ("list", "a,b"), ("float", "nan")])
def test_text_that_cannot_be_read_is_refused(type_: str, text: str) -> None:
    with pytest.raises(ConfigError, match=r"core\.x\.y"):
        from_text(setting(type_), text)


def test_a_refused_password_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        check(setting("password", default="old-one"), "very\0secret")
    assert "secret" not in str(caught.value)
    assert "old-one" not in str(caught.value)


def test_whole_numbers_never_become_floats() -> None:
    """E40: integers that came as JSON floats were stored as 2.19e+09."""
    assert repr(whole({"qq": 2.19e9, "l": [1.0, 1.5]})) == "{'qq': 2190000000, 'l': [1, 1.5]}"
    assert repr(check(setting("list"), [{"id": 2.19e9}])) == "[{'id': 2190000000}]"


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x), max_leaves=20))
def test_a_checked_list_is_a_fixed_point(value: object) -> None:
    definition = setting("list")
    try:
        once = check(definition, [value])
    except ConfigError:
        return
    assert check(definition, once) == once


@pytest.mark.parametrize("definition", CORE, ids=lambda d: d.key)
def test_every_core_default_is_valid_and_described(definition: Definition) -> None:
    assert definition.type in TYPES
    assert check(definition, definition.default) == definition.default
    assert definition.name
    assert definition.category
    assert definition.description.endswith(".")


def test_a_time_zone_that_is_none_is_refused_when_it_is_set() -> None:
    zone = next(one for one in CORE if one.key == TIME_ZONE)
    for name in ("", " ", "Europe/Berlin", "UTC"):
        assert check(zone, name) == name
    for wrong in ("Berlin", "Mars/Olympus", "../../etc/passwd"):
        with pytest.raises(ConfigError, match=r"core\.agent\.time_zone must be the name of a time zone"):
            check(zone, wrong, place="homed.toml line 3")


@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 100_000])
def test_what_is_nested_too_deep_is_refused_however_it_comes(depth: int) -> None:
    definition = Definition("core.x", "list", [], "Things.")
    with pytest.raises(ConfigError):
        from_text(definition, "[" * depth + "]" * depth)
    nested: list[object] = []
    for _ in range(depth):
        nested = [nested]
    with pytest.raises(ConfigError):
        check(definition, nested)


def test_what_is_nested_as_people_do_is_taken() -> None:
    definition = Definition("core.x", "list", [], "Things.")
    assert check(definition, [{"a": [{"b": [1.0]}]}]) == [{"a": [{"b": [1]}]}]
