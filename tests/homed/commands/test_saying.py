"""What commands print and the errors they end with, in Chinese: every sentence of the code, and nothing else."""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import string
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homed.__main__ import main
from homed.agent.schedule import Phase
from homed.commands import memory_records, usage
from homed.commands.output import complain, table, width
from homed.commands.saying import about_plugin, about_setting, phrase, translated, translated_each, translated_lines
from homed.config.definitions import CORE
from homed.errors import Conflict
from homed.host.states import State, Trust
from homed.jobs.memcheck.findings import Status
from homed.memory import portable
from homed.sentences import PART, Sentences, catalogue
from tests.kit import command_words, doctor_words

ROOT = Path(__file__).parents[3]
STRINGS = ROOT / "homed" / "strings"
SAID: dict[str, dict[str, str]] = json.loads((STRINGS / "said.zh.json").read_text("utf-8"))
KERNEL: dict[str, dict[str, Any]] = json.loads((STRINGS / "kernel.zh.json").read_text("utf-8"))
HELP: dict[str, str] = json.loads((STRINGS / "help.zh.json").read_text("utf-8"))

NAMES = (
    {*State, *Status, *Phase, *memory_records.MANY, *memory_records.MANY.values(), *usage.BY}
    | {trust.value for trust in Trust}
    | set(memory_records.MARKS)
    | {"active", "superseded", "archived", "hidden", "quarantined"}
    | {"default", "stored", "env", "file", "flag"}
    | {"started", "suspended", "resumed", "deferred", "cancelled", "inserted", "dropped"}
    | {"running", "done", "failed", "cut", "coming", "off"}
    | {"unknown", "free", "known", "reasoning", "text"}
    | {name.replace("_", " ") for name in portable.BY_NAME}
)
"""Words that come from the kernel one by one: states, kinds, marks, sources of settings, tables of an export."""

ALLOWED = {
    "# The settings of homed, as they are in force.  What is a comment is a default, or is not written down.": "a file",
    "a password: it is not written down": "a comment in that file",
    "with headers that are not written down: fill them in": "a comment in that file",
    "what looks like a key is not written down: fill it in": "a comment in that file",
    "{x}\n  homed memory doctor --repair": "help",
    "{x} Exits 1 when something is wrong.": "help",
    "read from its cache": "help",
    "needs attention: {x}": "a reason that is translated where it is printed",
    "not running": "a check of the doctor's: translated where it is printed",
    "pid {x} runs on {x}, but nobody answers at {x}": "a check of the doctor's",
    "It runs with --safe, or its cli plugin is stopped: start that on the page.": "a check of the doctor's",
    "Say which is spoken there: --adapter {x}, or {x}NAME for a script.": "the hint of an error",
    "{x} was not recorded before": "an exception that nobody is shown",
    " (pid {x})": "a piece of an error",
    "unreadable: {x}": "for programs, too: translated where it is printed",
    "inverted index": "what SQLite says",
    "UPDATE word_marks SET version = 0": "SQL",
}
"""What reads like a sentence and is none that is printed, each with what it is."""

TYPED = ("Force it", "homed tracker show 7", "homed models record NAME --show")
"""Hints that are to be typed, and a piece that is looked for in one."""

MADE = (
    "{name} has 1 error: {errors}.",
    "{name} has {n} errors: {errors}.",
    "{what} did not finish within {n} s; it was stopped.",
    "{what} did not finish within {n} s; it did not answer the request to stop and may still be running.",
    "The database {path} is empty, but {media} holds attachments of an earlier one.",
    "The database {path} is not there, but {media} holds attachments of an earlier one.",
    "homed is running on {data} (pid {pid}), and nothing is repaired under it.",
    "Nothing was touched. Say --force to replace them: what is there now is kept.",
)
"""Sentences that are put together of pieces of the code."""

CHINESE = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e]")
NAMES_THINGS = re.compile(r"\{[^}]*\}|`[^`]*`")


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))


def fields(template: str) -> list[tuple[str, str, str]]:
    return sorted((n, s or "", c or "") for _, n, s, c in string.Formatter().parse(template) if n is not None)


def wordless(template: str) -> bool:
    return not re.search("[a-z]{3}", NAMES_THINGS.sub("", template))


def test_every_phrase_and_every_head_of_a_column_has_a_chinese_line() -> None:
    found = command_words.phrases() | command_words.heads()
    assert len(found) > 350, "they are not found where they stand any more"
    assert [text for text in found if text not in SAID["said"] and not wordless(text)] == []
    assert [name for name in NAMES if name not in SAID["said"]] == []


def test_nothing_is_printed_that_has_no_chinese_line() -> None:
    known = SAID["said"].keys() | HELP.keys() | ALLOWED.keys()
    left = [(one.file, one.line, one.text) for one in command_words.unspoken()]
    left = [one for one in left if one[2] not in known and not re.fullmatch(r"[\w.{}:<>/*-]+", one[2])]
    assert left == [], "say it through `phrase`, and give homed/strings/said.zh.json its line"
    lines = {line for text in command_words.tabled() for line in text.splitlines()}
    examples = re.compile(r"^(  homed .*|)$")
    assert [line for line in lines if line not in known and not examples.match(line)] == []


@pytest.mark.usefixtures("chinese")
def test_every_error_of_a_command_is_chinese() -> None:
    found = command_words.errors()
    assert len(found) > 40, "they are not found where they stand any more"
    assert [text for text in found if text not in TYPED and not CHINESE.search(translated(text))] == []


@pytest.mark.usefixtures("chinese")
def test_all_that_the_kernel_refuses_commands_with_is_chinese() -> None:
    found = command_words.refusals()
    assert len(found) > 250, "they are not found where they stand any more"
    told = {text: translated(text) for text in found if text != "The name 7 7."}  # its end is elsewhere
    assert [text for text, zh in told.items() if not CHINESE.search(zh)] == []
    typed = re.compile(r"`[^`]*`|homed (models|plugin|config|--data) [\w. -]*|pip install [^）]*|kill 7|--data DIR")
    assert [zh for zh in told.values() if re.search(r"\b[a-z]{3,} [a-z]{2,}", typed.sub("", zh))] == []


@pytest.mark.usefixtures("chinese")
def test_several_lines_are_told_each_where_they_stand() -> None:
    assert translated_lines("\n  Open  http://x/login#1\n") == "\n  打开  http://x/login#1\n"
    assert translated_lines("It is hidden.\n  Restore it first.") == "它已隐藏。\n  请先恢复显示。"


def test_a_catalogue_has_nothing_that_is_said_no_more() -> None:
    code = {one.text for one in command_words.texts()} | NAMES
    code |= {line for text in command_words.tabled() for line in text.splitlines()}
    names = set(re.findall(r"\b(?:ok|warn|bad)\(\s*\"([a-z ]+)\"", "\0".join(
        path.read_text("utf-8") for path in (ROOT / "homed").rglob("*.py")
    )))  # fmt: skip
    assert len(names) > 15
    assert [name for name in names if name not in SAID["said"]] == []
    assert [text for text in SAID["said"] if text not in code | names] == []


def test_every_sentence_that_is_heard_is_one_of_the_code() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in [*(ROOT / "homed").rglob("*.py"), Path(argparse.__file__)]]
    code = "\0".join(
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )  # one search a piece; no piece has what stands between them
    far = [
        text
        for text in SAID["heard"]
        if not all(len(piece) < 4 or piece.strip(" .") in code for piece in re.split(PART, text)[::2])
    ]
    refused = command_words.refusals()
    left = [text for text in far if not any(Sentences({text: "found"})(said) == "found" for said in refused)]
    assert sorted(left) == sorted(MADE)


def test_nothing_that_programs_read_goes_through_a_catalogue() -> None:
    assert [one for one in command_words.texts() if one.spoken and "as_json" in one.within] == []


@pytest.mark.parametrize("kind", ["said", "heard"])
def test_what_is_filled_in_is_the_same_in_both_languages(kind: str) -> None:
    assert [text for text, zh in SAID[kind].items() if fields(text) != fields(zh)] == []
    assert [text for text, zh in SAID[kind].items() if not zh.strip()] == []


def test_what_commands_hear_is_not_in_two_catalogues() -> None:
    assert not SAID["heard"].keys() & KERNEL["texts"].keys()
    assert {one.key for one in CORE} - KERNEL["settings"].keys() == set()


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("said", [doctor_words.of_installation, doctor_words.of_memory, doctor_words.refusals])
def test_all_that_the_doctors_and_refusals_can_say_is_chinese(said: Callable[[], set[str]]) -> None:
    assert [text for text in said() if translated(text) == text] == []


def test_a_command_ends_with_a_chinese_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LANG", "zh_CN.UTF-8")
        assert main(["link", "--data", str(tmp_path / "d")]) == 1
        with pytest.raises(SystemExit):
            main(["config", "get"])
        with pytest.raises(SystemExit):
            main(["memory", "list", "--limit", "x"])
    assert capsys.readouterr().err == (
        f"homed：homed 没有在 {tmp_path}/d 上运行。\n  启动它：homed --data {tmp_path}/d\n"
        "homed config get：缺少参数：KEY。参见 `homed config get --help`。\n"
        "homed memory list：参数 --limit：'x' 不是有效的 int 值。参见 `homed memory list --help`。\n"
    )


def test_columns_line_up_under_a_chinese_head(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LANG", "zh_CN.UTF-8")
        table([("a", "yes"), ("网页", "no")], ("plugin", "state"))
    assert capsys.readouterr().out == "插件  状态\na     yes\n网页  no\n"
    assert width("插件  ") == 6


def test_json_is_the_same_in_every_language(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = []
    with pytest.MonkeyPatch.context() as patched:
        for language in ("C.UTF-8", "zh_CN.UTF-8"):
            patched.setenv("LANG", language)
            assert main(["plan", "--json", "--data", str(tmp_path)]) == 0
            told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "at once" in told[0]


@pytest.mark.usefixtures("chinese")
def test_what_is_filled_in_is_never_taken_for_a_sentence() -> None:
    assert phrase("{name} is gone.", name="Nothing was changed.") == "Nothing was changed. 已删除。"
    assert phrase("{a} {b}", a="{x}", b=1) == "{x} 1"
    assert phrase("Something that no catalogue knows.") == "Something that no catalogue knows."
    assert translated("Something that no catalogue knows.") == "Something that no catalogue knows."
    assert translated("x" * 5_000) == "x" * 5_000


@pytest.mark.usefixtures("chinese")
def test_several_findings_in_one_are_told_each() -> None:
    assert translated_each("timer is attention (needs attention: x); shell is backoff (y)") == (
        "timer：需要处理（需要处理：x）；shell：稍后重试（y）"
    )
    assert translated_each("one; two") == "one; two"


@pytest.mark.usefixtures("chinese")
def test_settings_and_built_in_plugins_are_described() -> None:
    assert about_setting("core.agent.max_tool_turns", "x") == KERNEL["settings"]["core.agent.max_tool_turns"][1]
    assert about_setting("plugin.other.key", "About.") == "About."
    assert about_plugin("timer", "x") == KERNEL["plugins"]["timer"]
    assert about_plugin("other", "About.") == "About."


def test_in_english_no_catalogue_is_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.resources.files", None)
    catalogue.cache_clear()
    complain(Conflict("It is hidden.", hint="Restore it first."))
    assert capsys.readouterr().err == "homed: It is hidden.\n  Restore it first.\n"
    assert about_setting("core.agent.max_tool_turns", "About.") == "About."
    assert about_plugin("timer", "About.") == "About."
    assert translated_each("not running; not running") == "not running; not running"


def test_where_it_can_not_be_shown_it_is_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert phrase("Nothing was changed.") == "Nothing was changed."
    assert translated("It is hidden.") == "It is hidden."
    assert about_plugin("timer", "About.") == "About."
