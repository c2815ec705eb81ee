"""Catalogues, the table of commands, and completion."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.kit import doctor_words
from waiter import commands, orders, table
from waiter.completion import Commands
from waiter.model import Line, Names, Row, State
from waiter.options import parser
from waiter.words import LANGUAGES, Words, language_of


def texts(language: str) -> dict[str, str]:
    return Words(language)._texts


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_the_same_places_to_fill(language: str) -> None:
    english, other = texts("en"), texts(language)
    assert list(other) == list(english)
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", other[key])) == sorted(re.findall(r"\{\w+\}", text)), key


def test_chinese_is_chinese() -> None:
    english = texts("en")
    said = [key for key in english if re.search("[a-z]{3}", re.sub(r"\{\w+\}", "", english[key]))]
    assert [key for key in said if not re.search("[\u4e00-\u9fff]", texts("zh")[key])] == []


@pytest.mark.parametrize(
    ("environment", "chosen", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "", "zh"), ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "", "en"),
        ({"LANG": "de_DE", "LC_MESSAGES": "zh"}, "", "zh"), ({"LANG": "zh_CN"}, "en", "en"), ({}, "", "en"),
    ],
)  # fmt: skip
def test_the_language(environment: dict[str, str], chosen: str, language: str) -> None:
    assert language_of(environment, chosen) == language


def test_one_table_is_what_is_handled_helped_and_completed_on_the_screen_and_in_lines() -> None:
    assert set(orders.HANDLERS) == set(table.NAMES)
    assert set(commands.COMMANDS) == {entry.name for entry in table.ENTRIES if entry.lines}
    assert {f"help.{name}" for name in table.NAMES} == {
        key for key in texts("en") if key.startswith("help.") and key != "help.keys"
    }


def completed(text: str, state: State | None = None) -> list[str]:
    wanted: list[str] = []
    names = Names(("fake", "embedded"), ("shell",), ("core.agent.x", "core.log.level"), ("home",))
    shown = state or State(Line(""), listed=(Row("th1", "Tea time"), Row("th2", "\x1b[2J")), names=names)
    completer = Commands(lambda: shown, Words(), wanted.append)
    return [one.text for one in completer.get_completions(Document(text, len(text)), CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/he", ["/help"]), ("/mo", ["/models "]), ("/models ", ["use"]), ("/models use f", ["fake"]),
        ("/plugins st", ["start", "stop"]), ("/plugins start ", ["shell"]), ("/settings get log", ["core.log.level"]),
        ("/memory se", ["search"]), ("/open ", ["1", "2"]), ("/open tea", ["1"]), ("/connect ", ["home"]),
        ("/theme l", ["light"]),
        ("/nope ", []), ("//he", []), ("hello /he", []), ("/help x", []), ("/he\nx", []),
    ],
)  # fmt: skip
def test_completion(text: str, found: list[str]) -> None:
    assert completed(text) == found


def test_every_command_can_be_completed() -> None:
    assert [text.strip() for text in completed("/")] == [f"/{name}" for name in table.NAMES]


def test_every_command_and_option_is_documented() -> None:
    document = (Path(__file__).parent.parent.parent / "docs" / "waiter.md").read_text("utf-8")
    assert [entry.name for entry in table.ENTRIES if f"`/{entry.name}" not in document] == []
    options = [word for action in parser()._actions for word in action.option_strings]
    assert [word for word in options if f"`{word}" not in document and word not in ("-h", "--help")] == []


def test_no_text_is_there_for_nothing() -> None:
    folder = Path(__file__).parent.parent.parent / "waiter"
    source = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    made = (
        "help.",
        "end.",
        "ask.",
        "doing.",
        "line.",
        "tool.",
        "class.",
        "count.",
        "agent.",
        "of.",
        "record.",
        "mark.",
        "mode.",
        "hash.",
        "noted.",
        "stands.",
        "talk.help.",
        "talk.ask.",
        "gate.",
        "goes.",
    )  # put together from a state's name
    assert [key for key in texts("en") if key not in source and not key.startswith(made)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_of_line_mode_says_what_it_does(language: str) -> None:
    said = {key.removeprefix("talk.help.") for key in texts(language) if key.startswith("talk.help.")}
    assert said == set(commands.COMMANDS)


@pytest.mark.parametrize(("said", "least"), [(doctor_words.of_memory, 300), (doctor_words.refusals, 30)])
def test_all_that_the_doctor_of_memory_and_refusals_can_say_is_there(said: Callable[[], set[str]], least: int) -> None:
    kernel, texts_ = Words("zh").kernel, said()
    assert len(texts_) > least, "they are not found where they stand any more"
    told = {text: kernel(text) for text in texts_}
    assert [text for text, zh in told.items() if zh == text] == []
    two = re.compile(r"\b[a-z]{3,} [a-z]{2,}")
    assert [zh for zh in told.values() if two.search(re.sub("`[^`]*`", "", zh))] == []


def test_in_english_and_where_nothing_is_known_it_stays_as_homed_said_it() -> None:
    said = "Read 7 messages: nothing wrong."
    assert Words("en").kernel(said) == said
    assert Words("zh").kernel("Something that no catalogue knows.") == "Something that no catalogue knows."
    assert Words("zh").kernel("x" * 5000) == "x" * 5000
