"""Quirks: known, typed, and said clearly when they are neither."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from homed.errors import InvalidInput
from homed.providers.options import LARGEST, OPTIONS, Quirks, checked, of_adapter, parsed
from homed.providers.presets import PRESETS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("stream", "yes", "true or false"),
        ("max_tokens", -1, "whole number"),
        ("max_tokens", True, "whole number"),
        ("max_tokens_field", "limit", "one of max_tokens, max_completion_tokens"),
        ("reasoning_effort", "a\nb", "line of text"),
        ("headers", {"X": 1}, "header names"),
        ("headers", {"X Y": "1"}, "header names"),
        ("headers", {"X": "a\nb"}, "header names"),
        ("extra", [], "an object"),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_is_wanted(name: str, value: object, wanted: str) -> None:
    with pytest.raises(InvalidInput, match=wanted) as caught:
        checked("s", "openai", {name: value})
    assert name in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("value", "good"), [("off", True), ("adaptive", True), (2048, True), (12, False), ("on", False)]
)
def test_thinking_is_off_adaptive_or_a_number_of_tokens(value: object, good: bool) -> None:
    if good:
        assert checked("s", "anthropic", {"thinking": value}) == {"thinking": value}
    else:
        with pytest.raises(InvalidInput, match="off, adaptive or a number"):
            checked("s", "anthropic", {"thinking": value})


@pytest.mark.parametrize(
    ("adapter", "name"), [("openai", "reasonning"), ("anthropic", "stream_usage"), ("local", "stream")]
)
def test_an_unknown_one_is_refused_with_those_there_are(adapter: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"unknown option '{name}'") as caught:
        checked("s", adapter, {name: True})
    known = of_adapter(adapter)
    assert all(one.name in caught.value.hint for one in known)
    assert known or "no options" in caught.value.hint


def test_a_script_may_have_its_own_but_known_ones_keep_their_type() -> None:
    assert checked("s", "lua:mine", {"flavour": "plum", "stream": False}) == {"flavour": "plum", "stream": False}
    with pytest.raises(InvalidInput, match="true or false"):
        checked("s", "lua:mine", {"stream": "no"})


@pytest.mark.parametrize(
    "options", [{"extra": {"a": float("nan")}}, {"extra": {"a": object()}}, {"extra": {"a": "x" * LARGEST}}]
)
def test_what_is_no_json_or_too_long_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        checked("s", "openai", options)


def test_pairs_from_a_terminal_have_the_types_of_their_options() -> None:
    given = ["stream=off", "max_tokens=300", "reasoning=strip", 'headers={"X": "1"}', "reasoning_effort=5", "extra="]
    assert parsed(given) == {
        "stream": False, "max_tokens": 300, "reasoning": "strip", "headers": {"X": "1"}, "reasoning_effort": "5",
        "extra": None,
    }  # fmt: skip
    assert parsed(["a=1", "b=plum", "c=true"]) == {"a": 1, "b": "plum", "c": True}
    assert (parsed(["thinking=off"]), parsed(["thinking=2048"])) == ({"thinking": "off"}, {"thinking": 2048})
    for wrong in ("stream", "=1"):
        with pytest.raises(InvalidInput):
            parsed([wrong])


def test_what_is_not_set_or_of_another_type_has_its_default() -> None:
    quirks = Quirks({"stream": "no", "max_tokens": "many", "headers": []})
    assert (quirks.on("stream"), quirks.number("max_tokens"), quirks.headers()) == (True, 0, {})
    assert quirks.text("reasoning") == "auto"


def test_every_default_is_of_its_own_type() -> None:
    for option in OPTIONS:
        for adapter in option.adapters:
            checked("s", adapter, {option.name: option.default})


def test_every_option_is_in_the_docs_with_its_default() -> None:
    text = (ROOT / "docs" / "models.md").read_text("utf-8")
    for option in OPTIONS:
        row = re.search(rf"^\| `{option.name}` \|.*$", text, re.M)
        assert row, f"{option.name} is missing in docs/models.md"
        assert option.description.replace("|", "\\|") in row[0]


def test_every_preset_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "models.md").read_text("utf-8")
    assert [one.name for one in PRESETS if f"| `{one.name}` |" not in text] == []
