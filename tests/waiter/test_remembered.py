"""``/memory``: each of its words asks homed for something and tells the answer, in both languages; whatever comes back
is no command to the terminal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.waiter.test_update import Play
from waiter import remembered, table
from waiter.messages import Call, Refused, Replied, Tag, Typed
from waiter.model import Note
from waiter.update import update
from waiter.words import Words

EN, ZH = Words("en"), Words("zh")
RECORD: dict[str, Any] = {
    "shown": "1a2b3c4d", "record": "fact", "kind": "preference", "mark": "source", "title": "", "status": "active",
    "text": "Ada likes tea.", "untrusted": True, "revision": 2, "importance": 7, "cited": 3, "created_at": 1.79e9,
    "updated_at": 1.79e9, "evidence": [
        {"event": "ev_1", "title": "Tea time", "thread": "th", "at": 1.79e9, "first": 0, "last": 9,
         "text": "I like tea", "hash_ok": True, "untrusted": False},
        {"event": "ev_2", "thread": "th", "at": 1.79e9, "first": None, "text": "x" * 300, "hash_ok": None},
        {"event": "ev_3", "text": "changed", "first": 0, "hash_ok": False},
    ],
    "source": "", "older": [{"shown": "00000001", "text": "Ada likes coffee."}], "newer": [], "members": [],
    "capsules": [], "injections": [{"at": 1.79e9, "title": "Breakfast", "score": 0.61}], "citations": [],
    "history": [{"revision": 1, "at": 1.79e9, "text": "Ada drinks tea.", "why": "improved"}],
}  # fmt: skip
ROW = {**RECORD, "score": 0.5}
CHECK = {"id": "hashes", "name": "Hashes", "status": "fail", "evidence": "1 changed.", "fix": "Look at it."}
LINE = {"shown": "1a2b3c4d", "score": 0.61, "evidence": "source", "text": "Ada likes tea."}

ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("stats", "memory.stats", {}),
    ("search tea and cake", "memory.records", {"query": "tea and cake", "limit": 20}),
    ("list", "memory.records", {"limit": 20}),
    ("list capsule", "memory.records", {"limit": 20, "record": "capsule"}),
    ("open 1a2b3c4d", "memory.record", {"id": "1a2b3c4d"}),
    ("note 小雨住在成都。", "memory.note", {"text": "小雨住在成都。"}),
    ("hide 1a2b3c4d", "memory.hide", {"id": "1a2b3c4d"}),
    ("restore 1a2b3c4d", "memory.restore", {"id": "1a2b3c4d"}),
    ("edit 1a2b3c4d Ada likes cake.", "memory.record", {"id": "1a2b3c4d", "history": False}),
    ("combine 1a2b3c4d 00000001", "memory.combine", {"keep": "1a2b3c4d", "gone": "00000001"}),
    ("reinstate 00000001", "memory.reinstate", {"id": "00000001"}),
    ("forget 1a2b3c4d", "admin.memory_preview", {"kind": "fact", "target": "1a2b3c4d"}),
    ("forget 1a2b3c4d yes", "admin.memory_forget", {"kind": "fact", "target": "1a2b3c4d"}),
    ("injections", "memory.injections", {"limit": 10}),
    ("doctor", "admin.memory_doctor", {"deep": False}),
    ("doctor deep", "admin.memory_doctor", {"deep": True}),
]

TOLD: list[tuple[str, str, dict[str, Any], list[str], list[str]]] = [
    (
        "stats", "", {"records": {"record": {"fact": 12}, "evidence": {"source": 9}, "untrusted": 2},
                      "layers": {"cold": {"events": 4}}, "passes": {"waiting": 3, "gates": {"secret": 1}}},
        ["12 facts", "9 word for word", "2 may hold", "4 cold", "3 turns are still", "secret 1"],
        ["事实 12", "源 9", "2 条可能", "冷存 4", "3 轮等待", "机密 1"],
    ),
    ("search", "tea", {"records": [ROW], "of": 3}, ["0.50  1a2b3c4d  [preference · source · ⚠ from outside]", "2 more"],
     ["偏好 · 源 · ⚠ 来自外部", "还有 2 条"]),
    ("search", "tea", {"records": []}, ["no record of “tea”"], ["没有“tea”的记录"]),
    ("list", "", {"records": []}, ["no such record"], ["没有这样的记录"]),
    (
        "open", "x", RECORD,
        ["✓ word for word", "  │ I like tea", "pointed at", "✗ the quote was changed", "took the place of 00000001",
         "told 2026-", "(0.61)", "What it said before:", "Ada drinks tea."],
        ["✓ 与原话一致", "取代了 00000001", "以前的说法"],
    ),
    ("open", "x", {**RECORD, "source": "source unavailable", "evidence": []}, ["source unavailable"], ["来源不可用"]),
    ("note", "x", {**RECORD, "outcome": "same"}, ["Known already: Ada likes tea."], ["已经知道"]),
    ("hide", "x", RECORD, ["/memory restore 1a2b3c4d"], ["已隐藏"]),
    ("restore", "x", RECORD, ["found again: Ada"], ["又能找到了"]),
    ("edited", "x", RECORD, ["Corrected: Ada likes tea.  (1a2b3c4d, revision 2)", "/memory open 1a2b3c4d"],
     ["已更正：Ada likes tea.（1a2b3c4d，第 2 版）"]),
    ("combine", "x", {**RECORD, "superseded": ["fact_00000001"]}, ["one now: Ada", "/memory reinstate 00000001 parts"],
     ["两条合为一条", "/memory reinstate 00000001"]),
    ("reinstate", "x", {**RECORD, "superseded": ["fact_00000001"]}, ["holds again: Ada", "00000001 is history now."],
     ["重新有效", "00000001 成为历史"]),
    ("forget", "1a2b3c4d", {"counts": {"records": 1}, "stays": 2}, ["records 1", "2 messages", "forget 1a2b3c4d yes"],
     ["永远删除", "记录 1", "/memory hide 1a2b3c4d"]),
    ("forgotten", "1a2b3c4d", {"clean": True}, ["stands in no file"], ["任何文件里都没有"]),
    ("forgotten", "1a2b3c4d", {"clean": False}, ["still stands somewhere"], ["别处还有"]),
    ("injections", "", {"injections": []}, ["No turn was told"], ["还没有哪一轮"]),
    (
        "injections", "", {"injections": [{"at": 1.79e9, "title": "Tea", "mode": "hit", "chars": 160, "query": "What?",
                                           "lines": [LINE]}]},
        ["Tea · found · 160 characters", "> What?", "0.61  1a2b3c4d  [source] Ada likes tea."], ["找到的 · 160 字"],
    ),
    ("doctor", "", {"checks": [CHECK, {"status": "pass"}], "read": 7},
     ["2 checks read 7", "✗ Hashes: 1 changed.", "→ Look at it.", "1 are not"], ["2 项检查", "1 项不正常"]),
    ("doctor", "", {"checks": [{"status": "pass"}], "read": 7}, ["as it should be"], ["一切正常"]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "method", "params"), ASKED)
def test_what_is_asked(line: str, method: str, params: dict[str, Any]) -> None:
    play = Play().up()
    (call,) = [one for one in play(Typed(f"/memory {line}", "m")) if isinstance(one, Call)]
    assert (call.method, call.params) == (method, params)


@pytest.mark.parametrize(
    "line", ["open", "open a b", "search", "list planets", "note", "forget", "stats x", "nonsense", "doctor fast"]
)
def test_a_word_that_is_missing_or_too_much_is_told_and_nothing_is_asked(line: str) -> None:
    play = Play().up()
    assert not [one for one in play(Typed(f"/memory {line}", "m")) if isinstance(one, Call)]
    assert "/memory" in play.notes[-1]
    assert "search TEXT" in play.notes[-1]


@pytest.mark.parametrize("line", ["edit", "edit 1a2b3c4d", "combine 1a2b3c4d", "reinstate", "reinstate a b"])
def test_what_a_word_takes_is_said_where_something_is_missing(line: str) -> None:
    play = Play().up()
    assert not [one for one in play(Typed(f"/memory {line}", "m")) if isinstance(one, Call)]
    verb = line.split()[0]
    assert f"/memory {verb} {remembered.USAGES[verb]}" in play.notes[-1]


def test_words_are_corrected_at_the_revision_that_stands() -> None:
    play = Play().up()
    (first,) = [one for one in play(Typed("/memory edit 1a2b3c4d  Ada likes cake.", "m")) if isinstance(one, Call)]
    (then,) = [one for one in play(Replied(first.tag, RECORD)) if isinstance(one, Call)]
    assert (then.method, then.params) == (
        "memory.edit", {"id": "1a2b3c4d", "revision": 2, "text": "Ada likes cake."},
    )  # fmt: skip
    play(Replied(then.tag, {**RECORD, "revision": 3, "text": "Ada likes cake."}))
    assert "Corrected: Ada likes cake.  (1a2b3c4d, revision 3)" in play.notes[-1]


@pytest.mark.parametrize(("verb", "arg", "result", "en", "zh"), TOLD)
def test_what_is_told(verb: str, arg: str, result: dict[str, Any], en: list[str], zh: list[str]) -> None:
    play = Play().up()
    play(Replied(Tag(f"/memory {verb}", arg), result))
    assert [word for word in en if word not in play.notes[-1]] == [], play.notes[-1]
    chinese = "\n".join(remembered.lines_of(verb, arg, result, ZH))
    assert [word for word in zh if word not in chinese] == [], chinese


def test_the_doctor_and_refusals_speak_chinese_in_chinese() -> None:
    wrong = {
        **CHECK, "name": "Thresholds", "evidence": "Read 120 settings of memory: 1 have a value that they may not have,"
        " so that the default counts instead, or are out of order.",
        "fix": "Set each anew, or take it out: `homed config unset KEY`.",
    }  # fmt: skip
    told = "\n".join(remembered.lines_of("doctor", "", {"checks": [wrong], "read": 7}, ZH))
    assert not re.search(r"[a-z]{3,} [a-z]{2,}", re.sub("`[^`]*`", "", told)), told
    refused = Refused(
        Tag("/memory edit", "1a2b3c4d x"), "There is no record 1a2b3c4d.",
        "Ids are the eight digits behind id: in a note.", "not_found",
    )  # fmt: skip
    state, _ = update(Play().up().state, refused, ZH)
    note = state.follow.items[-1]
    assert isinstance(note, Note)
    assert note.text.startswith("没有记录 1a2b3c4d。\n")
    assert not re.search(r"[a-z]{3,} [a-z]{2,}", note.text)


def test_every_word_that_is_completed_is_handled_and_told() -> None:
    handled = {line.split()[0] for line, _, _ in ASKED}
    assert set(remembered.VERBS) == handled | {"why"}
    assert {verb for verb, *_ in TOLD} == handled - {"edit"} | {"edited", "forgotten"}
    assert [verb for verb in remembered.VERBS if verb not in table.MEMORY and verb != "restore"] == []


@pytest.mark.parametrize("verb", sorted({verb for verb, *_ in TOLD}))
@pytest.mark.parametrize(
    "result", [{}, {"records": 3, "evidence": "x", "checks": [4], "injections": None, "history": 1}]
)
def test_an_answer_of_any_shape_breaks_nothing(verb: str, result: dict[str, Any]) -> None:
    assert remembered.lines_of(verb, "x", result, EN)
    assert remembered.lines_of(verb, "x", {**RECORD, "kind": "new", "mark": "else", "status": "odd"}, EN)
