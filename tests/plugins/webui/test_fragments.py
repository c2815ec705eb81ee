"""Values as the page shows them."""

from __future__ import annotations

import pytest

from homed.config.definitions import Definition
from homed.config.values import check
from plugins.webui.context import FOLDER
from plugins.webui.fragments import (
    SHOWN,
    Fragments,
    bound,
    environment,
    short,
    shown,
    signal_name,
    size,
    span,
    told,
    when,
)
from plugins.webui.words import load

FRAGMENTS = Fragments(environment(FOLDER / "templates"), load(FOLDER / "strings")["en"])


def test_what_a_tool_gave_back_stands_below_its_card() -> None:
    picture = {"id": "blk_1", "name": 'a"<b>.png', "media_type": "image/png", "bytes": 10}
    script = {"id": "blk_2", "name": "x.svg", "media_type": "image/svg+xml", "bytes": 2048}
    html = FRAGMENTS.tool({"call": "c", "tool": "plot", "status": "ok", "blocks": [picture, script, "no block"]})
    below = html.split("</details>")[1]
    assert '<img src="/api/v1/blocks/blk_1?small=1" alt="a&#34;&lt;b&gt;.png"' in below
    assert '<a class="file" href="/api/v1/blocks/blk_2" download="x.svg"' in below
    assert "no block" not in html
    assert "given" not in FRAGMENTS.tool({"call": "c", "tool": "plot", "status": "ok"})


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


def test_a_result_is_told_field_by_field_with_its_line_breaks() -> None:
    result = '{"status":"ok","exit_code":0,"stdout":"a\\nb\\n","stderr":""}'
    assert told(result) == "status: ok\nexit_code: 0\n\nstdout:\na\nb"
    assert told({"found": [1, 2], "none": None}) == "found: [\n  1,\n  2\n]"
    assert told({"text": "a\nb"}) == "text:\na\nb"
    assert told("{no json") == "{no json"
    assert told("plain\ntext") == "plain\ntext"
    assert told([1]) == "[\n  1\n]"
    assert told(None) == told({}) == ""
    assert len(told({"text": "x\n" * SHOWN})) < SHOWN + 30


@pytest.mark.parametrize("depth", [300, 900, 1000, 20_000])
@pytest.mark.parametrize("around", ['{"a":%s}', '{"a":{"b":[%s]}}'])
def test_no_depth_of_nesting_keeps_a_card_from_being_shown(depth: int, around: str) -> None:
    """A page shows what any tool gave: one that cannot be rendered would close its whole conversation for ever."""
    text = around % ("[" * depth + "]" * depth)
    deep: object = 1
    for _ in range(depth):
        deep = [deep]
    for call in ({"result": text}, {"args": {"a": deep}}, {"result": {"a": deep}}):
        assert 'class="' in FRAGMENTS.tool({"call": "c", "tool": "t", **call})


@pytest.mark.parametrize("result", ['{"a":"\\ud800x"}', '{"a":"x\\ud800\\ny"}', '{"\\udfff":1}', '{"a":["\\ud800"]}'])
def test_half_a_character_in_a_result_keeps_no_page_from_being_sent(result: str) -> None:
    html = FRAGMENTS.tool({"call": "c", "tool": "t", "status": "ok", "result": result})
    assert "\ufffd" in html.encode().decode()
    assert "😀" in told('{"a":"\\ud83d\\ude00"}')


@pytest.mark.parametrize(("ms", "said"), [(3, "3 ms"), (99, "99 ms"), (100, "0.1 s"), (61_240, "61.2 s")])
def test_a_short_time_is_not_called_zero(ms: int, said: str) -> None:
    assert f"<span>{said}</span>" in FRAGMENTS.end({"state": "answered", "ms": ms})
    assert f"<em>{said} · done</em>" in FRAGMENTS.tool({"call": "c", "tool": "t", "status": "ok", "ms": ms})


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Say `homed link`.", "Say <code>homed link</code>."),
        ("`a` or `<b>`", "<code>a</code> or <code>&lt;b&gt;</code>"),
        ("one ` alone", "one alone"),
        ("<i>none</i>", "&lt;i&gt;none&lt;/i&gt;"),
    ],
)
def test_a_command_in_a_hint_is_set_apart(hint: str, shown: str) -> None:
    html = FRAGMENTS.end({"state": "failed", "error": "No.", "hint": hint})
    assert " ".join(shown.split()) in " ".join(html.replace("`", "").split())


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 kB"),
        (300_000, "293 kB"),
        (20 << 20, "20 MB"),
        (3 << 30, "3.0 GB"),
        ("x", "0 B"),
    ],
)
def test_sizes_are_in_the_unit_that_a_person_would_use(count: object, said: str) -> None:
    assert size(count) == said


def test_a_signal_has_its_name() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(4711) == signal_name("x") == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (0.05, "50ms"), (1.2, "1.2s"), (60, "1m"), (90, "1m30s"), (3600, "1h"), (86_400, "1d"),
        (259_200, "3d"), (5_400.5, "1h30m0.5s"), (31_536_000, "365d"),
    ],
)  # fmt: skip
def test_a_duration_is_written_as_a_setting_takes_it(seconds: float, text: str) -> None:
    assert span(seconds) == text
    assert check(Definition("x", "duration", 0, ""), text) == pytest.approx(seconds)


def test_bounds_and_defaults_are_short() -> None:
    assert (bound(100_000_000, "int"), bound(0.05, "float"), bound(3600, "duration")) == ("100,000,000", "0.05", "1h")
    assert (short([]), short(""), short(True), short("x" * 50)) == ("–", "–", "true", "x" * 39 + "…")
