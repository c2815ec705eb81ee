"""Prompt texts: all there, blanks filled once."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from homed.agent.prompt import load_texts
from homed.prompts.loader import fill, load


def test_a_text_is_read_by_name_and_a_missing_one_is_an_error() -> None:
    assert load("base").startswith("You are HologramAgent")
    with pytest.raises(FileNotFoundError):
        load("nonsense")


def test_every_text_of_the_turn_loop_is_there() -> None:
    texts = load_texts()
    assert all(asdict(texts).values())


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert fill("a $b", b="$c") == "a $c"
    with pytest.raises(KeyError):
        fill("a $b")
