"""What came over the wire is read without trust."""

from __future__ import annotations

from plugins.webui.reading import integer, mapping, mappings, number, string, strings


def test_what_is_missing_or_of_another_kind_is_empty() -> None:
    given = {"text": "a", "count": 3, "list": ["b", 1, {"c": 2}, None]}
    assert string(given, "text") == "a"
    assert string(given, "count") == string(given, "none") == ""
    assert integer(given["count"]) == 3
    assert integer("3") == integer(None) == 0
    assert number(3) == 3.0
    assert number("3") == 0.0
    assert mapping(given) == given
    assert mapping([]) == {}
    assert mappings(given["list"]) == [{"c": 2}]
    assert strings(given["list"]) == ["b"]
    assert mappings("text") == []
    assert strings("text") == []
