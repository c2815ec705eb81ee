"""What is found, what is left alone, and what hostile text does to it."""

from __future__ import annotations

import time
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.sanitizer.patterns import KINDS, Rules, scrub

ALL = Rules()
ID_CARD = "11010519491231002X"
CARD = "4111111111111111"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("write to a.b+c@example.co.uk, please", "write to [email], please"),
        ("邮箱是zhang@例子.中国。", "邮箱是[email]。"),
        ("请写信到ada@example.com谢谢大家", "请写信到[email]谢谢大家"),
        ("前" * 70 + "ada@example.com" + "后" * 70, "前" * 70 + "[email]" + "后" * 70),
        ("用户@例子.中国", "[email]"),
        ("ada@exam\ufe0fple.com", "[email]"),
        ("1\ufe0f\u20e33812345678\ufe0f\u20e3!", "[phone]!"),
        ("1\u0332381234\u03325678", "[phone]"),
        ("电话13812345678，谢谢", "电话[phone]，谢谢"),
        ("138-1234-5678 or +86 138 1234 5678", "[phone] or [phone]"),
        ("１３８１２３４５６７８", "[phone]"),
        ("138\u200b1234\u200b5678", "[phone]"),
        ("+49 (30) 1234-5678", "[phone]"),
        (f"身份证{ID_CARD}号", "身份证[id_card]号"),
        (ID_CARD.lower(), "[id_card]"),
        (f"card {CARD}!", "card [bank_card]!"),
        ("4111 1111 1111 1111", "[bank_card]"),
        ("4111-1111-1111-1111", "[bank_card]"),
    ],
)
def test_personal_data_is_taken_out(text: str, clean: str) -> None:
    assert scrub(text, ALL) == clean


@pytest.mark.parametrize(
    "text",
    [
        "", "你好🌍", "version 1.2.3", "2026-03-08 09:00",
        "a @ b", "@user", "x@y", "12345", "1381234567", "138123456789",
        "4111111111111112", "0000000000000000", "110105194912310021", "abc4111111111111111", "+1", "192.168.1.1:8080",
        "e4111111111111111", "3.14159265358979", "\u200b\u202e",
    ],
)  # fmt: skip
def test_what_is_no_personal_data_stays_to_the_byte(text: str) -> None:
    assert scrub(text, ALL) == text


def test_only_the_kinds_that_are_asked_for_are_taken_out() -> None:
    text = f"a@b.cn 13812345678 {CARD}"
    assert scrub(text, Rules(kinds=("phone",))) == f"a@b.cn [phone] {CARD}"
    assert scrub(text, Rules(kinds=())) == text


def test_words_are_taken_out_in_any_case_the_longest_first() -> None:
    rules = Rules(words=("Acme", "acme corp", "绝密"))
    assert scrub("ACME Corp and aCmE: 绝密文件", rules) == "[word] and [word]: [word]文件"
    assert scrub("ac\u200bme", rules) == "[word]"
    assert scrub("ａｃｍｅ", rules) == "[word]"
    assert scrub("a.b", Rules(words=(".",))) == "a[word]b"


@pytest.mark.parametrize(
    "word",
    ["café", "Ångström", "Nguyễn", "한국", "e\u0331\u0301x", "שׁלום", "q\u0323\u0307"],
)
@pytest.mark.parametrize("listed", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_word_is_found_in_either_form_of_its_marks(
    word: str, listed: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    rules = Rules(words=(normalize(listed, word),))
    text = normalize(typed, word)
    assert scrub(f"é{text}, a{text}é", rules) == "é[word], a[word]é"
    assert scrub(f"한\u0301{text}!", rules) == "한\u0301[word]!"


def test_a_letter_without_its_mark_is_another_letter() -> None:
    for form in ("NFC", "NFD"):
        text = normalize(form, "café")
        assert scrub(text, Rules(words=("cafe",))) == text


def test_what_was_glued_to_a_find_is_found_too() -> None:
    assert scrub("acme13812345678", Rules(words=("acme",))) == "[word][phone]"
    assert scrub("a@b.cn+8613812345678", ALL) == "[email][phone]"


def test_a_word_that_is_part_of_our_own_mark_does_not_eat_it() -> None:
    rules = Rules(words=("email", "word", "o"))
    once = scrub("email me: a@b.cn", rules)
    assert once == "[word] me: [email]"
    assert scrub(once, rules) == once


def test_overlapping_finds_leave_nothing_standing() -> None:
    assert scrub("secret.13812345678@example.com", Rules(words=("example.com and",))) == "[email]"
    assert scrub("x@example.comely", Rules(words=("comely",))) == "[email]"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000, "1" * 200_000, "1 " * 100_000, "a@" * 100_000, "a." * 100_000 + "@", "+1-" * 70_000,
        "@a." * 70_000,
        "é" * 100_000, "e\u0301" * 100_000, "a" + "\u0301\u0323" * 100_000, "\u1112\u1161\u11ab" * 60_000,
        "１" * 100_000, "[" * 200_000, "a@a.a." * 30_000, "4111 " * 40_000, "\u200b" * 100_000,
    ],
)  # fmt: skip
def test_no_text_makes_it_slow(text: str) -> None:
    started = time.process_time()
    scrub(text, Rules(words=("needle", "[")))
    assert time.process_time() - started < 5


PIECES = st.sampled_from(
    ["a@b.cn", "13812345678", CARD, ID_CARD, "+49 30 12345678", "acme", "email", " ", "-", "[", "]", "[email]", "1",
     "@", ".", "文", "\u200b", "１", "word", "x", "e", "\u0301", "\u0323", "é"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join), st.sets(st.sampled_from(["acme", "email", "文", "x1", "é"])))
def test_scrubbing_twice_changes_nothing_more(text: str, words: set[str]) -> None:
    rules = Rules(words=tuple(words))
    once = scrub(text, rules)
    assert scrub(once, rules) == once


@given(st.text(max_size=60))
def test_text_without_digits_at_signs_and_words_is_untouched(text: str) -> None:
    if "@" not in text and "＠" not in text and "﹫" not in text and not any(c.isdecimal() for c in text):
        assert scrub(text, ALL) == text


def test_every_kind_can_be_found() -> None:
    found = {kind for kind in KINDS if f"[{kind}]" in scrub(f"a@b.cn, 13812345678, {CARD}, {ID_CARD}", ALL)}
    assert found == set(KINDS)
