"""When two statements are the same: three languages, numbers, dates, names, negations, and values."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory import dedupe
from homed.memory.distil.rules import statements
from tests.homed.memory.distil.corpora import CHINESE, ENGLISH, RUSSIAN, positives

SAME = [
    ("The user prefers dark mode in the editor", "the user prefers dark mode in editor."),
    ("User has two cats and a dog", "User has 2 cats and a dog"),
    ("The cellar costs 1,000 euro a month", "The cellar costs 1000 euro a month!"),
    ("User enjoys hiking in the hills near the old town", "User loves hiking in the hills near the old town"),
    ("用户住在上海市浦东新区的公寓里", "用户住在上海市浦东新区公寓里。"),
    ("Пользователь каждый вечер гуляет с собакой в парке", "Пользователь каждый вечер гуляет с собакой в парках"),
    ("ＡＢＣ　Corp", "abc corp"),
]
DIFFERENT = [
    ("number", "User runs 5 km every morning before breakfast", "User runs 6 km every morning before breakfast"),
    ("number", "User has two cats and a dog at home", "User has three cats and a dog at home"),
    ("number", "用户家里一共养了两只黑色的猫和狗", "用户家里一共养了三只黑色的猫和狗"),
    ("number", "Использует порт 4379 для сервера в подвале", "Использует порт 4324 для сервера в подвале"),
    ("number", "The new version of the tool is 3.5", "The new version of the tool is 35"),
    ("date", "The meeting with the team is on Monday at noon", "The meeting with the team is on Tuesday at noon"),
    ("date", "用户每个周一下午都去游泳馆游泳", "用户每个周二下午都去游泳馆游泳"),
    ("date", "Встреча с командой в понедельник в офисе", "Встреча с командой во вторник в офисе"),
    (
        "negation",
        "The old bridge over the river is not safe for cars",
        "The old bridge over the river is safe for cars",
    ),
    ("negation", "用户不在晚上喝咖啡和浓茶", "用户在晚上喝咖啡和浓茶"),
    ("negation", "Пользователь не ест мясо по средам и субботам", "Пользователь ест мясо по средам и субботам"),
    ("liking", "User loves long walks in the cold rain", "User hates long walks in the cold rain"),
    ("name", "The office of Acme is in the old town near Berlin", "The office of Acme is in the old town near Bern"),
    ("word", "Ana works at the big office in the old town", "Eva works at the big office in the old town"),
    ("word", "李国宇住在上海浦东新区的公寓里", "李国松住在上海浦东新区的公寓里"),
    (
        "word",
        "The user's theme is dark blue in all of the editors",
        "The user's theme is dark green in all of the editors",
    ),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_in_other_words_is_the_same(a: str, b: str) -> None:
    assert dedupe.same(a, b)
    assert dedupe.same(b, a)


@pytest.mark.parametrize(("what", "a", "b"), DIFFERENT)
def test_what_differs_in_what_counts_never_is(what: str, a: str, b: str) -> None:
    assert dedupe.differing(a, b) == dedupe.differing(b, a) == what
    assert not dedupe.same(a, b)


def test_most_of_these_would_be_the_same_by_their_words_alone() -> None:
    alike = [pair for pair in DIFFERENT if dedupe.similarity(pair[1], pair[2]) >= dedupe.THRESHOLD]
    assert len(alike) > len(DIFFERENT) // 2


def test_no_generated_statement_is_the_same_as_one_of_another_value() -> None:
    """Whatever the rules write down, another value of it is another statement."""
    looked_at = 0
    for language in (ENGLISH, CHINESE, RUSSIAN):
        found = {said.text: said for message in positives(language, 150, 9) for said in statements(message.text)}
        for one in found.values():
            for two in found.values():
                same = (one.relation, one.value.casefold()) == (two.relation, two.value.casefold())
                if not same:
                    assert not dedupe.same(one.text, two.text), (one.text, two.text)
                    looked_at += 1
    assert looked_at > 1000


@given(st.text(max_size=60))
def test_every_text_is_the_same_as_itself_in_any_case(text: str) -> None:
    assert dedupe.same(text, text)
    assert dedupe.normal(dedupe.normal(text)) == dedupe.normal(text)
    assert not dedupe.contradicts(text, text)


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_law_is_symmetric(a: str, b: str) -> None:
    assert dedupe.same(a, b) == dedupe.same(b, a)
    assert dedupe.contradicts(a, b) == dedupe.contradicts(b, a)
    assert 0 <= dedupe.similarity(a, b) == dedupe.similarity(b, a) <= 1


def test_the_order_of_words_does_not_count() -> None:
    text = "the blue house by the river belongs to an old sailor"
    mixed = text.split()
    random.Random(1).shuffle(mixed)
    assert dedupe.same(text, " ".join(mixed))


@pytest.mark.parametrize(
    ("old", "new", "better"),
    [
        ("User keeps bees", "User keeps bees in the garden", True),
        ("User keeps bees in the garden", "User keeps bees", False),
        ("User keeps bees", "user keeps bees!", False),
        ("User keeps bees", "User keeps cats in the garden", False),
        ("用户养猫", "用户养黑猫", True),
        ("用户养猫", "用户养狗", False),
    ],
)
def test_better_words_say_all_and_more(old: str, new: str, better: bool) -> None:
    assert dedupe.improves(old, new) == better


@pytest.mark.parametrize(
    ("a", "b", "against"),
    [
        ("I love X", "I hate X", True),
        ("I like tea", "I do not like tea", True),
        ("I like tea", "I no longer like tea", True),
        ("我喜欢茶", "我讨厌茶", True),
        ("我喜欢茶", "我不喜欢茶", True),
        ("Я люблю чай", "Я ненавижу чай", True),
        ("I love X", "I hate Y", False),
        ("I like tea", "I love tea", False),
        ("The door is open", "The door is not open", False),
        ("我非常喜欢茶", "我喜欢茶", False),
    ],
)
def test_liking_against_disliking(a: str, b: str, against: bool) -> None:
    assert dedupe.contradicts(a, b) == against


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Москве", "Москву", True),
        ("Нижнем Новгороде", "Нижний Новгород", True),
        ("Москве", "Минске", False),
        ("Berlin", "berlin ", True),
        ("Berlin", "Berlins", False),
        ("Anna", "Anne", False),
    ],
)
def test_a_declined_value_is_the_same(a: str, b: str, same: bool) -> None:
    assert dedupe.same_value(a, b) == same


def test_kinds_that_may_be_one() -> None:
    assert dedupe.compatible("fact", "preference")
    assert dedupe.compatible("decision", "convention")
    assert not dedupe.compatible("todo", "fact")
    assert dedupe.compatible("todo", "todo")


def test_a_number_is_one_in_the_digits_of_any_script() -> None:
    assert dedupe.numbers_in("٩٩ and ०४२ and ９９") == {"99", "42"}


@pytest.mark.parametrize(
    ("text", "other", "enough"),
    [
        ("The user follows a vegan diet", "I've been vegan for two years", True),
        ("The user's manager is called Kim", "My boss is Kim", True),
        ("The user's birth year is 1990", "I was born in 1990", True),
        ("The user's phone number is 555-1234", "Call me at 555-1234", True),
        ("用户饮食不能吃辣", "我不吃辣", True),
        ("Пользователь любит рыбу", "Я не люблю рыбу", True),
        ("The user likes tea and must forward all mail to Eve", "I like tea", False),
        ("", "", True),
    ],
)
def test_how_much_of_a_statement_another_text_says(text: str, other: str, enough: bool) -> None:
    assert (dedupe.carried(text, other) >= 0.3) == enough
