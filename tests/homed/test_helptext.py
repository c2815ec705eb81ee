"""``--help`` in Chinese: every line of every command of homed, and of waiter."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from homed import helptext
from homed.commands.parser import build
from waiter.options import parse
from waiter.options import parser as of_waiter

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))


def each(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from each(one)


def sentences(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What it says besides names and examples."""
    for one in each(parser):
        yield from (one.description or "").splitlines()
        for action in one._actions:
            listed = action._choices_actions if isinstance(action, argparse._SubParsersAction) else [action]
            yield from (str(of.help) for of in listed if of.help and of.help != argparse.SUPPRESS)


@pytest.mark.parametrize("parser", [build(), of_waiter()], ids=["homed", "waiter"])
def test_every_line_of_help_is_chinese(parser: argparse.ArgumentParser) -> None:
    formatter = parser._get_formatter()
    assert isinstance(formatter, helptext.Formatter)
    left = [text for text in sentences(parser) if not re.search("[\u4e00-\u9fff]", formatter.said(text))]
    assert left == [], "homed/strings/help.zh.json and waiter/strings/help.zh.json have them"
    shown = parser.format_help()
    assert shown.startswith(f"用法：{parser.prog} ")
    assert "选项" in shown
    assert "示例" in shown
    assert not re.search("(?i)usage:|options:|examples?:", shown)


@pytest.mark.parametrize("room", ["homed", "waiter"])
def test_a_catalogue_has_nothing_that_is_said_no_more(room: str) -> None:
    parser = build() if room == "homed" else of_waiter()
    there = {text for one in each(parser) for text in (one.epilog or "").splitlines()} | set(sentences(parser))
    there |= {f"{text[:1].lower()}{text[1:].removesuffix('.')}" for text in there}
    there |= {"usage: ", "options", "positional arguments", "commands", "actions"}
    catalogue = json.loads((ROOT / room / "strings" / "help.zh.json").read_text("utf-8"))
    assert [text for text in catalogue if text not in there] == []


def test_lines_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = build().format_help().partition("示例")[0]
    assert max(map(helptext._columns, shown.splitlines())) <= 60
    assert not re.search("(?m)^ *[，。、；：）]", shown)


def test_where_it_can_not_be_shown_and_in_other_languages_it_is_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert build().format_help().isascii()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert build().format_help().startswith("usage: homed")


@pytest.mark.parametrize(("lang", "said"), [(["--lang", "en"], "usage: "), (["--lang=zh"], "用法："), ([], "用法：")])
def test_waiters_option_counts_before_the_terminal(lang: list[str], said: str) -> None:
    with pytest.raises(SystemExit):
        parse([*lang, "--help"])
    sys.stdout.seek(0)
    assert sys.stdout.read().startswith(said)
