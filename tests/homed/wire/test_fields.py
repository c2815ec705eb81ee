"""Reading fields notes errors and goes on with a harmless value."""

from __future__ import annotations

import re

from homed.wire.fields import Reader


def test_good_fields_are_read_and_nothing_is_noted() -> None:
    reader = Reader({"t": "a", "f": True, "n": 3, "l": ["x"], "c": "on", "p": [{"k": "1"}, {"k": "2"}]})
    assert reader.text("t", pattern=re.compile("a+"), required=True) == "a"
    assert reader.flag("f")
    assert reader.number("n", 0, low=0, high=3, whole=True) == 3
    assert reader.names("l") == ("x",)
    assert reader.choice("c", ("on", "off"), "off") == "on"
    assert [part.text("k") for part in reader.parts("p", unique="k")] == ["1", "2"]
    assert reader.errors == []


def test_absent_fields_have_their_defaults() -> None:
    reader = Reader({})
    assert reader.text("t") == ""
    assert reader.flag("f", default=True)
    assert reader.number("n", 7, low=0, high=9) == 7
    assert reader.names("l") == ()
    assert reader.choice("c", ("on", "off"), "off") == "off"
    assert list(reader.parts("p", unique="k")) == []
    assert reader.errors == []


def test_parts_share_the_errors_and_name_their_place() -> None:
    reader = Reader({"p": [{"k": 1}, "x", {"k": "a"}, {"k": "a"}]})
    for part in reader.parts("p", unique="k"):
        part.text("k")
    assert reader.errors == ["p[0].k: must be a string", "p[1]: must be an object", "p[3].k: 'a' is there already"]


def test_wrong_values_fall_back() -> None:
    reader = Reader({"t": 1, "f": "yes", "n": 10, "l": "x", "c": "maybe", "p": {}})
    assert reader.text("t") == ""
    assert not reader.flag("f")
    assert reader.number("n", 1, low=0, high=9) == 1
    assert reader.names("l") == ()
    assert reader.choice("c", ("on", "off"), "off") == "off"
    assert list(reader.parts("p", unique="k")) == []
    assert [error.split(":")[0] for error in reader.errors] == ["t", "f", "n", "l", "c", "p"]
