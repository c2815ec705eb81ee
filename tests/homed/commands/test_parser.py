"""The command line: options before or after the command, 2 for wrong usage, nothing guessed."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from homed.commands import config, run, status
from homed.commands.parser import build


def test_without_a_command_it_runs_the_daemon() -> None:
    args = build().parse_args(["--listen", "127.0.0.1:9", "--safe"])
    assert (args.handler, args.listen, args.safe) == (run.run, "127.0.0.1:9", True)


@pytest.mark.parametrize(
    "words",
    [[], ["run"], ["--safe"], ["run", "--data", "d", "--safe"], ["--data", "d", "run", "--listen", "127.0.0.1:9"],
     ["--profile", "p", "--log-level", "debug", "--socket", "s"], ["run", "-data", "d", "--listen=127.0.0.1:9"]],
)  # fmt: skip
def test_a_start_is_read_alike_with_and_without_the_other_commands(words: list[str]) -> None:
    quick = run.read_start(words)
    assert quick is not None
    assert vars(quick) == vars(build().parse_args(words))


@pytest.mark.parametrize(
    "words",
    [["status"], ["--help"], ["run", "--help"], ["--version"], ["run", "run"], ["nosuch"], ["run", "x"], ["--data"],
     ["--log-level", "loud"], ["--dat", "x"], ["--data", "run", "status"], ["run", "--json"]],
)  # fmt: skip
def test_whatever_is_no_plain_start_is_left_to_the_whole_parser(words: list[str]) -> None:
    assert run.read_start(words) is None


@pytest.mark.parametrize("words", [["--data", "d", "status"], ["status", "--data", "d"], ["-data", "d", "status"]])
def test_the_folder_may_stand_before_or_after(words: list[str]) -> None:
    args = build().parse_args(words)
    assert (args.handler, args.data) == (status.run, "d")


def test_the_later_one_wins() -> None:
    assert build().parse_args(["--data", "a", "config", "get", "k", "--data", "b"]).data == "b"


@pytest.mark.parametrize("words", [["nosuch"], ["config"], ["config", "get"], ["--log-level", "loud"], ["--dat", "x"]])
def test_wrong_usage_leaves_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        build().parse_args(words)
    assert caught.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_a_value_that_begins_with_a_dash_can_be_set() -> None:
    args = build().parse_args(["config", "set", "k", "--", "-5"])
    assert (args.handler, args.value) == (config._set, "-5")


def helps(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from helps(below)


EXAMPLES = [
    shlex.split(re.split(r" {3}| [|>] ", line.strip())[0])[1:]  # without what is said of it, or what takes its output
    for parser in helps(build())
    for line in (parser.epilog or "").splitlines()
    if line.startswith("  homed")
]


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_of_the_help_can_be_typed_as_it_stands(words: list[str]) -> None:
    build().parse_args(words)


def test_no_example_puts_a_key_into_the_shells_history() -> None:
    assert len(EXAMPLES) > 20
    assert not [words for words in EXAMPLES if "--api-key" in words]
