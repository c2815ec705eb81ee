"""The pieces of a turn: files, recall, progress; the cards of calls keep their place."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.webui.context import FOLDER
from plugins.webui.fragments import Fragments, environment
from plugins.webui.items import Items
from plugins.webui.words import load

from .page import plain

WORDS = load(FOLDER / "strings")
HOSTILE = '"><img src=x onerror=alert(1)>'


def items(lang: str = "en") -> Items:
    return Items(Fragments(environment(FOLDER / "templates"), WORDS[lang]))


def block(**more: Any) -> dict[str, Any]:
    return {"id": "b1", "name": "south bed.png", "media_type": "image/png", "bytes": 2048, **more}


def test_a_message_shows_its_pictures_and_offers_its_files() -> None:
    said = {
        "text": "look",
        "peer": "webui:owner",
        "blocks": [block(), block(id="b 2", name="a.pdf", media_type="x/pdf")],
    }
    html = items().said(said, 0).html
    assert '<img src="/api/v1/blocks/b1?small=1" alt="south bed.png"' in html
    assert 'href="/api/v1/blocks/b%202" download="a.pdf"' in html
    assert "2.0 kB" in html


@pytest.mark.parametrize("kind", ["image/svg+xml", "text/html", "image/tiff", ""])
def test_a_picture_that_could_hold_a_script_is_a_file(kind: str) -> None:
    html = items().said({"text": "", "blocks": [block(media_type=kind)]}, 0).html
    assert "<img" not in html
    assert "download=" in html
    assert '<div class="said"' not in html, "no empty bubble"


def test_a_history_event_has_its_files_in_its_data() -> None:
    assert "south bed.png" in items().said({"text": "x", "data": {"blocks": [block()]}}, 0).html
    assert "<img" not in items().said({"text": "x", "data": None, "blocks": "none"}, 0).html


def test_a_files_name_is_text_wherever_it_stands() -> None:
    blocks = [block(name=HOSTILE, id=HOSTILE), block(name=HOSTILE, media_type=HOSTILE)]
    assert "<img src=x" not in items().said({"text": "", "blocks": blocks}, 0).html


def test_recall_is_told_in_numbers_and_only_where_there_is_any() -> None:
    told = {"shown": ["a", "b"], "cold": ["c"], "chars": 640, "late": [], "kept": 3}
    (item,) = items().recall(told)
    assert plain(item.html) == "[long-term recall] 2 from other conversations · 1 from cold memory · 640 chars"
    (item,) = items("zh").recall(told)
    assert plain(item.html) == "[长期回忆] 2 条来自其他对话 · 1 条来自冷记忆 · 640 个字符"
    known = {"facts": ["fact_1", "capsule_2"], "counts": {"fact": 1, "capsule": 1, "event": 1}}
    (item,) = items().recall({**told, **known})
    line, _, ids = plain(item.html).partition(" id:")
    assert line == ("[long-term recall] L1×0 L2×1 L3×1 · 2 from other conversations · 1 from cold memory · 640 chars")
    assert ids == "fact_1 id:apsule_2", "and the ids to open, at once"
    (item,) = items("zh").recall({"facts": ["fact_1", "summary_1"], "chars": 80})
    assert plain(item.html).startswith("[长期回忆] L1×1 L2×1 L3×0 · 80 个字符 "), "an id says what it is of"
    (item,) = items().recall({**told, "shown": []})
    assert plain(item.html) == "[long-term recall] 1 from cold memory · 640 chars"
    assert items().recall({"shown": [], "cold": [], "chars": 0, "late": []}) == []
    assert items().recall({}) == []


def test_a_message_names_the_event_that_has_all_of_it() -> None:
    assert 'data-event="e&#34;7"' in items().said({"id": 'e"7', "text": "[… cut …]"}, 0).html
    assert "data-event" not in items().said({"input": "in1", "text": "not an event yet"}, 0).html


def test_what_was_really_written_is_said_and_that_nothing_was() -> None:
    """B9: the page says what there is, whatever an answer says of it."""
    made = {"turn": "t1", "state": "done", "records": {"summary": ["summary_1"], "fact": ["fact_1", "fact_2"]}}
    item = items().written(made)
    assert plain(item.html).startswith("Remembered: 1 summary, 2 facts ")
    assert [id_ in item.html for id_ in ("summary_1", "fact_1", "fact_2")] == [True] * 3
    assert plain(items("zh").written(made).html).startswith("已记住： 1 条摘要，2 条事实")
    assert plain(items().written({"state": "done", "records": {}}).html) == "Nothing was remembered of this."
    assert "could not be read" in plain(items().written({"state": "held", "records": {}}).html)
    assert plain(items().written({"state": "waiting", "records": {}}).html) == "", "nothing is known yet, nothing said"
    assert "read once more" in plain(items().written({**made, "state": "told"}).html)


def test_a_recall_that_was_late_is_said_also_when_nothing_came() -> None:
    (item,) = items().recall({"shown": [], "cold": [], "chars": 0, "late": ["cold"]})
    assert plain(item.html) == "[long-term recall] not in time: cold"
    assert "<details" not in item.html, "nothing to open"


def test_progress_is_a_sentence_and_a_share() -> None:
    assert items().progress({"what": "reading", "done": 40, "total": 100}) == {
        "text": "Reading your message… 40%",
        "share": 0.4,
    }
    assert items().progress({"what": "loading", "done": 0, "total": 0}) == {
        "text": "Loading the model…",
        "share": 0.0,
    }
    assert items().progress({"what": "new", "done": 9, "total": 3})["share"] == 1.0
    assert items("zh").progress({"what": "reading", "done": 1, "total": 2})["text"] == "正在阅读你的消息…… 50%"


def test_only_an_answer_of_a_known_turn_offers_the_why() -> None:
    assert "data-why" in items().end("t1", {"state": "answered"}).html
    assert "data-why" not in items().end("", {"state": "answered"}).html
    assert "data-why" not in items().end("t1", {"state": "failed", "error": "x"}).html


def test_a_card_keeps_its_place_until_the_turn_is_forgotten() -> None:
    made = items()
    call = {"call": "c1", "tool": "t", "status": "running", "step": 0}
    first = made.tool("t1", call, 0)
    made.tool("t1", {**call, "call": "c2"}, 0)
    assert made.tool("t1", {**call, "status": "ok", "step": 3}, 3).order == first.order
    made.forget("t1")
    assert made.tool("t1", {**call, "step": 3}, 3).order != first.order
