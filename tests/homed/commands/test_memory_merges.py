"""`homed memory merges` in words."""

from __future__ import annotations

from typing import Any

import pytest

from homed.commands import memory_merges
from homed.commands.parser import build
from homed.errors import InvalidInput

SIDE = {"entity": "ent_1", "name": "Ann\x1b[2Ja", "type": "person", "mentions": 3, "facts": ["Anna likes tea."]}
PAIR = {"merge": "1-2", "scope": "owner", "score": 0.82, "sides": [SIDE, {**SIDE, "name": "Ana", "facts": []}]}
DONE = {"done": 7, "scope": "owner", "kept": "Anna", "gone": "Ana", "at": 1.0}
ANSWERS: dict[str, Any] = {
    "admin.merges_list": {"merges": [PAIR], "done": [DONE]}, "admin.merges_accept": DONE, "admin.merges_reject": {},
    "admin.merges_undo": {"name": "Ana"},
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []

    def ask(args: object, method: str, **params: Any) -> Any:
        found.append((method, params))
        return ANSWERS[method]

    monkeypatch.setattr(memory_merges, "ask_or_open", ask)
    return found


def run(*argv: str) -> int:
    args = build().parse_args(["memory", "merges", *argv])
    code: int = args.handler(args)
    return code


def test_the_list_shows_both_and_what_can_be_taken_back(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    for words in (
        "1-2  82% alike, in owner",
        "(person, mentioned 3 times): Anna likes tea.",
        "2. Ana (person",
        "7  Ana → Anna",
    ):
        assert words in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("argv", "method", "params", "said"),
    [
        (["accept", "1-2", "--keep", "2"], "admin.merges_accept", {"merge": "1-2", "keep": 2}, "Ana is Anna now"),
        (["reject", "1-2"], "admin.merges_reject", {"merge": "1-2"}, "They stay two"),
        (["undo", "7"], "admin.merges_undo", {"done": 7}, "Ana is by itself again"),
    ],
)
def test_what_is_done_is_said(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str], argv: list[str], method: str,
    params: dict[str, Any], said: str,
) -> None:  # fmt: skip
    assert run(*argv) == 0
    assert asked == [(method, params)]
    assert said in capsys.readouterr().out
    assert run(*argv, "--json") == 0
    assert capsys.readouterr().out.startswith("{")


def test_without_an_id_nothing_is_asked(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("accept") == 2
    assert "needs an ID" in capsys.readouterr().err
    with pytest.raises(InvalidInput):
        run("undo", "1-2")
    assert asked == []
