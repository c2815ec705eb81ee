"""Values as the page shows them."""

from __future__ import annotations

from plugins.webui.fragments import SHOWN, shown, when


def test_arguments_and_results_are_readable() -> None:
    assert shown("as it is\n") == "as it is\n"
    assert shown({"a": ["ü", 1]}) == '{\n  "a": [\n    "ü",\n    1\n  ]\n}'
    assert shown(None) == shown({}) == shown("") == ""
    assert shown(0) == "0"
    assert shown(False) == "false"


def test_a_long_value_is_cut_with_a_mark() -> None:
    cut = shown("x" * (SHOWN + 5))
    assert cut.startswith("x" * SHOWN)
    assert cut.endswith("… (+5)")


def test_times_are_in_utc_for_the_script_to_turn_into_the_persons_own() -> None:
    assert when(0) == "1970-01-01T00:00:00+00:00"
    assert when(None) == "1970-01-01T00:00:00+00:00"
