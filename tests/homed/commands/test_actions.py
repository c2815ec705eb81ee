"""The actions of a command: one shape for all."""

from __future__ import annotations

import pytest

from homed.commands.parser import build


def test_help_ends_in_an_example_of_this_very_action(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build().parse_args(["config", "set", "--help"])
    assert capsys.readouterr().out.rstrip().endswith("Example:\n  homed config set core.agent.max_tool_turns 6")


@pytest.mark.parametrize("words", [["plugin", "list"], ["config", "get", "k"], ["models", "use", "m"]])
def test_what_prints_data_prints_json_on_request(words: list[str]) -> None:
    assert build().parse_args([*words, "--json"]).json is True


@pytest.mark.parametrize("words", [["plugin", "new", "x"], ["plugin", "check", "x"]])
def test_what_prints_no_data_does_not_promise_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        build().parse_args([*words, "--json"])
    assert caught.value.code == 2
    assert "--json" in capsys.readouterr().err
