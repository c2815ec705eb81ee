"""Relations by their one name."""

from __future__ import annotations

import pytest

from homed.memory import relations


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("lives in", "home"),
        ("Lives_In", "home"),
        ("住在", "home"),
        ("home address", "home"),
        ("address", "address"),  # of a shop, a mail box, a server: not where it lives
        ("живёт в", "home"),
        ("works-as", "job"),
        ("loves", "likes"),
        ("hates", "dislikes"),
        ("keeps", "keeps"),
        ("Plays chess with", "plays_chess_with"),
        ("", ""),
    ],
)
def test_many_names_are_one(written: str, name: str) -> None:
    assert relations.canonical(written) == name
    assert relations.canonical(name) == name


def test_what_is_functional_is_canonical() -> None:
    assert {relations.canonical(name) for name in relations.FUNCTIONAL} == relations.FUNCTIONAL
    assert {relations.canonical(name) for name in relations.SYMMETRIC} == relations.SYMMETRIC
    assert relations.PLACES <= relations.FUNCTIONAL
    assert not relations.FUNCTIONAL & relations.EMPTY
    assert relations.opposite("likes", "dislikes")
    assert not relations.opposite("likes", "likes")
