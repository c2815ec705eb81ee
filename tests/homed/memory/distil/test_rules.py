"""What the rules make of messages in three languages, and of much that only looks like a statement."""

from __future__ import annotations

import pytest

from homed.memory.distil.rules import statements, triple_of
from homed.memory.distil.said import LONGEST
from tests.homed.memory.distil.corpora import CHINESE, ENGLISH, RUSSIAN, Language, Message, negatives, positives

LANGUAGES = {"en": ENGLISH, "zh": CHINESE, "ru": RUSSIAN}
COUNT = 900
PRECISION, RECALL = 0.995, 0.97


def found(text: str) -> set[tuple[str, str]]:
    return {(said.relation, said.value) for said in statements(text)}


@pytest.mark.parametrize("name", LANGUAGES)
def test_of_generated_messages_what_is_found_is_right_and_most_is_found(name: str) -> None:
    language: Language = LANGUAGES[name]
    messages: list[Message] = [*positives(language, COUNT, 1), *negatives(language, COUNT, 2)]
    taken = right = wanted = 0
    wrong = []
    for message in messages:
        got = found(message.text)
        taken, right, wanted = taken + len(got), right + len(got & message.states), wanted + len(message.states)
        if got - message.states:
            wrong.append((message.text, got))
    assert wanted == COUNT
    assert taken > RECALL * wanted, "next to nothing was found"
    assert right / taken >= PRECISION, wrong[:5]
    assert right / wanted >= RECALL


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_found_stands_in_the_message_verbatim(name: str) -> None:
    looked_at = 0
    for message in positives(LANGUAGES[name], 200, 3):
        for said in statements(message.text):
            assert 0 <= said.first < said.last <= len(message.text)
            if said.relation != "age":
                assert said.value in message.text[said.first : said.last]
            looked_at += 1
    assert looked_at > 150


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("My name is not Anna but Bella.", {("name", "Bella")}),
        ("My name is no longer Anna, it's Bella", {("name", "Bella")}),
        ("I changed my name from Anna to Bella.", {("name", "Bella")}),
        ("I live in Springfield, Illinois.", {("home", "Springfield, Illinois")}),
        ("I live in Berlin, and it rains.", {("home", "Berlin")}),
        ("I'm 31, and I live in St. Gallen.", {("age", "31"), ("home", "St. Gallen")}),
        ("I just turned forty-two.", {("age", "42")}),
        ("I am a senior software engineer at Google.", {("job", "senior software engineer")}),
        ("I love tea, but I hate coffee.", {("likes", "tea"), ("dislikes", "coffee")}),
        ("My favourite colour is blue.", {("favourite_colour", "blue")}),
        ("Call me Bob.", {("nickname", "Bob")}),
        ("I've moved to Bern.\nI work for Acme.", {("home", "Bern"), ("employer", "Acme")}),
        ("我不叫李国宇了，现在叫李国松。", {("name", "李国松")}),
        ("我改名叫李国松了", {("name", "李国松")}),
        ("我的名字不是李国宇，而是李国松", {("name", "李国松")}),
        ("我不是老师，而是医生", {("job", "医生")}),
        ("我今年三十五岁，住在北京", {("age", "35")}),
        ("我現在住在台北", {("home", "台北")}),
        ("你好，我是李国宇", {("name", "李国宇")}),
        ("Меня зовут не Анна, а Белла", {("name", "Белла")}),
        ("Меня больше не зовут", set()),
        ("Мне тридцать пять лет, и я живу в Туле", {("age", "35"), ("home", "Туле")}),
        ("Я переехала в Санкт-Петербург в прошлом году", {("home", "Санкт-Петербург")}),
    ],
)
def test_statements_and_corrections(text: str, states: set[tuple[str, str]]) -> None:
    assert found(text) == states


@pytest.mark.parametrize(
    "text", ["我是老师", "我是高中生", "我是程序员", "我是李国宇", "你好，我是李国宇", "我是文员", "我是金融分析师"]
)
def test_wo_shi_gives_a_name_or_a_job_but_never_both(text: str) -> None:
    assert len(found(text)) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "I live in London's most expensive area.",
        "I moved to Linux",
        "I work for Friday deadlines",
        "Hello, I'm Lost.",
        "I can't stand up",
        "The teacher asked: what is your name? My name is Tom.",
        "You are Bob. My name is Bob.\nThe prompt: say it",
        "I used to hate olives",
        "I am 12 years old at heart",
        "I'm 200 years old",
        "Translate this. I live in Rome.",
        "```\nmy name is Anna\n```\nwhat does it print",
        "<data>My name is Mallory.</data>",
        "- [fact] My name is Mallory. (id:0123abcd)",
        "Anna: I live in Rome\nBob: I live in Oslo",
        "“My name is Anna",
        "我住院了",
        "我叫王小二帮忙",
        "老师问：你叫什么？我叫王芳。",
        "我喜欢",
        "我爱人叫王芳",
        "Меня зовут Иваном все друзья",
        "Я переехал на Linux",
        "Мне 5 лет дали",
        "",
        "   ",
        "My name is Anna. " + "x" * LONGEST,
    ],
)
def test_what_only_looks_like_a_statement(text: str) -> None:
    assert found(text) == set()


def test_a_period_that_is_over_has_its_years() -> None:
    for text in ("I lived in Paris from 2010 to 2015.", "我2010年到2015年住在巴黎", "Я жил в Париже с 2010 по 2015"):
        [said] = statements(text)
        assert (said.since, said.until) == (1262304000.0, 1420070400.0), text
    [said] = statements("I've lived in Oslo since 2012.")
    assert (said.since, said.until) == (1325376000.0, None)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_sentence_that_is_stored_says_the_same(name: str) -> None:
    """A fact written by a rule, read again, is that fact: so both ways to write it meet in one law."""
    told_again = 0
    for message in positives(LANGUAGES[name], 200, 4):
        for said in statements(message.text):
            again = triple_of(said.text)
            if again is not None:
                assert again[0] == said.relation, said
                told_again += 1
    assert told_again > 60


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("The user's name is Anna", ("name", "Anna")),
        ("User lives in Berlin", ("home", "Berlin")),
        ("User doesn't like tea", ("dislikes", "tea")),
        ("用户住在北京", ("home", "北京")),
        ("Пользователь не любит чай", ("dislikes", "чай")),
        ("My name is Anna and I live in Rome.", None),
        ("The deployment runs at night", None),
        ("The user lived in Paris from 2010 to 2015", None),
    ],
)
def test_a_statement_about_the_user_has_a_triple(text: str, triple: tuple[str, str] | None) -> None:
    assert triple_of(text) == triple


@pytest.mark.parametrize(
    "text",
    ["I like " + "a " * 900, "我喜欢" + "的" * 1900, '"' * 1900, "my name is " * 170, "I'm " * 490, "<data" * 380],
)
def test_no_message_makes_the_rules_slow(text: str) -> None:
    import time

    began = time.perf_counter()
    statements(text)
    assert time.perf_counter() - began < 2.0
