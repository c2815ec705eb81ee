"""What `homed plugin install` shows and asks."""

from __future__ import annotations

import argparse
import io
import sys
from typing import Any

import pytest

from homed.commands import packages
from homed.commands.packages import review_text, split
from homed.commands.parser import build
from homed.errors import InvalidInput

FOUND: dict[str, Any] = {
    "name": "hello", "version": "1.0", "description": "Greets.", "author": "A", "license": "MIT", "homepage": "",
    "entry": "python x.py", "tools": [{"name": "hello_greet", "class": "read"}],
    "stages": [
        {"stage": "on_input", "scope": "global", "order": 5, "on_failure": "closed"},
        {"stage": "after_toolcall", "scope": "own-tools", "order": 0, "on_failure": "open"},
    ],
    "inputs": [], "outputs": ["out"], "cleaners": ["mail"], "files": 3, "size": 99,
    "sha256": "ab" * 32, "warnings": ["It is odd."], "refused": "", "replaces": {"version": "0.9", "how": "newer"},
    "capabilities": [
        {"name": "io", "what": "Talk.", "allowed": True, "granted": True},
        {"name": "llm", "what": "Ask.", "allowed": True, "granted": False},
        {"name": "admin", "what": "All.", "allowed": False, "granted": False},
    ],
}  # fmt: skip


def options(*words: str) -> argparse.Namespace:
    return build().parse_args(["plugin", "install", "x.hmap", *words])


def test_everything_that_matters_is_shown() -> None:
    text = review_text(FOUND)
    for part in (
        "hello 1.0: Greets.", "replaces    0.9 (newer)", "by          A", "runs        python x.py", "ab" * 32,
        "hello_greet (read)", "on_input (global): every turn",
        "order 5; when it fails, what it should have checked is withheld",
        "after_toolcall (own-tools): calls of its own tools, nothing else; order 0; when it fails, what it should have",
        "outputs     out", "cleaners    mail", "io (has it already): Talk.", "llm (new): Ask.",
        "admin (cannot have it): All.", "! It is odd.",
    ):  # fmt: skip
        assert part in text, part


def test_what_asks_for_nothing_says_so() -> None:
    assert "nothing beyond its own tools" in review_text({**FOUND, "capabilities": []})


@pytest.mark.parametrize("evil", ["\x1b[2J", "\r", "a\nInstall so? [y/N] y", "\x9b31m", "\u202e"])
def test_nothing_of_it_steers_the_terminal_or_makes_a_line_of_its_own(evil: str) -> None:
    text = review_text({**FOUND, "description": evil, "author": evil, "warnings": [evil]})
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "Install so" not in [line[:10] for line in text.split("\n")]


def test_scripts_say_what_they_grant() -> None:
    assert packages._granted(options("--yes"), FOUND) == ["io"]  # what it had, and nothing new
    assert packages._granted(options("--yes", "--grant", "llm, io"), FOUND) == ["llm", "io"]
    assert packages._granted(options("--yes", "--grant", ""), FOUND) == []


def test_where_nobody_can_be_asked_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\ny\n"))
    with pytest.raises(InvalidInput, match="Nobody is at a terminal"):
        packages._granted(options(), FOUND)


@pytest.mark.parametrize(
    ("said", "granted"),
    [("y\ny\n", ["io", "llm"]), ("n\ny\n", ["io"]), ("y\nn\n", None), ("\n\n", None), ("", None)],
)
def test_on_a_terminal_each_new_capability_is_asked_for_and_no_is_the_default(
    monkeypatch: pytest.MonkeyPatch, said: str, granted: list[str] | None
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    monkeypatch.setattr(packages, "_can_ask", lambda: True)
    assert packages._granted(options(), FOUND) == granted


def test_a_list_is_split_at_commas() -> None:
    assert split(" io, llm ,,") == ["io", "llm"]
