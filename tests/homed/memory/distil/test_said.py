"""What of a message is its writer's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.distil.said import HIDDEN, own, sentences


@pytest.mark.parametrize(
    "text",
    [
        '"a b"',
        "“a b”",
        "«a b»",
        "「a b」",
        "『a b』",
        "`a b`",
        "```\na b\n```",
        "> a b",
        "‘a b’",
        "'a b'",
        '<data x="1">a b</data>',
        "| a | b |",
        "- [fact] a b (id:0123abcd)",
        "“a b",
        "```\na b",
    ],
)
def test_what_is_not_own_is_hidden_in_its_place(text: str) -> None:
    plain = own(f"before {text}" if not text.startswith((">", "|", "-")) else text)
    assert "a b" not in plain
    assert HIDDEN in plain


def test_an_apostrophe_is_no_quotation() -> None:
    assert own("I'm Anna and it's Bob's dog") == "I'm Anna and it's Bob's dog"


@given(st.text(max_size=80))
def test_every_character_stays_in_its_place(text: str) -> None:
    assert len(own(text)) == len(text)
    for sentence in sentences(text):
        assert sentence.last <= len(text)
        piece = text[sentence.first : sentence.first + len(sentence.text)]
        assert all(a in (b, HIDDEN, "\u2024") for a, b in zip(sentence.text, piece, strict=True))


def test_sentences_and_how_they_end() -> None:
    found = [(one.text, one.end) for one in sentences("Is it? Yes! I met Mr. Smith at 3.30. 好的。\nlast")]
    assert found == [
        ("Is it", "?"), ("Yes", "!"), ("I met Mr\u2024 Smith at 3.30", "."), ("好的", "。"), ("last", ""),
    ]  # fmt: skip


def test_what_somebody_else_is_made_to_say_is_not_own() -> None:
    assert [one.text for one in sentences("Bob: I am old\nI am young")] == ["I am young"]
    assert list(sentences("Bob: I am old\nEve: I am young\nand so on")) == []
    assert [one.text for one in sentences("By the way: I am old")] == ["By the way: I am old"]
    assert [one.text for one in sentences("at 10:30 I am there")] == ["at 10:30 I am there"]
