"""What was asked, supposed or wished was not said to be so."""

from __future__ import annotations

import pytest

from homed.memory.distil.asserted import denies, joined, parts, says_so
from homed.memory.evidence import locate

TOLD = ("The user moved to Berlin.", "The user lives in Berlin.")
TOLD_ZH = ("用户搬到柏林了。", "用户住在柏林。")


def so(text: str, said: str, quote: str = "") -> bool:
    """As ``says_so``, of the whole message or a part of it."""
    return says_so(text, said, locate(said, quote or said))


@pytest.mark.parametrize(
    "said",
    [
        "Did I move to Berlin?", "Have I moved to Berlin?", "Should I move to Berlin?", "I moved to Berlin?",
        "I moved to Berlin, didn't I?", "I moved to Berlin, right?", "When should I move to Berlin?",
        "Do you think I should move to Berlin?", "I don't know whether I moved to Berlin.",
        "If I moved to Berlin, I would be happy.", "What if I moved to Berlin?", "Suppose I moved to Berlin.",
        "Had I moved to Berlin, I would be happy.", "Pretend that I moved to Berlin.",
        "I wish I had moved to Berlin.", "I would like to move to Berlin.", "I am thinking of moving to Berlin.",
        "I might have moved to Berlin by then.", "I dreamt that I moved to Berlin.", "Perhaps I moved to Berlin.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", TOLD)
def test_english(said: str, text: str) -> None:
    assert not so(text, said)
    assert not says_so(text, said, None), "without a quote"


@pytest.mark.parametrize(
    "said",
    [
        "我搬到柏林了吗？", "我是不是搬到柏林了？", "我该不该搬到柏林？", "我搬到柏林了？", "要是我搬到柏林就好了。",
        "要是我搬到柏林，就把车卖了。", "如果我搬到柏林，我会卖车。", "假如我搬到柏林",
        "我想搬到柏林。", "我可能搬到柏林。",
        "我打算搬到柏林。",
        "我希望搬到柏林", "我梦见我搬到柏林了",
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", [*TOLD_ZH, "The user lives in Berlin."])
def test_chinese(said: str, text: str) -> None:
    assert not so(text, said, "搬到柏林")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I moved to Berlin, what should I see first?", TOLD[0]),
        ("I moved to Berlin. Did you know?", TOLD[0]),
        ("If you need me, I live in Berlin.", TOLD[1]),
        ("I want to move to Berlin.", "The user wants to move to Berlin."),
        ("Did I move to Berlin?", "The user asked whether they moved to Berlin."),
        ("If I drink coffee after lunch, I sleep badly.", "The user sleeps badly when drinking coffee after lunch."),
        ("Could you book a table for my wife Anna's birthday on 14 May?", "Anna's birthday is on 14 May."),
        ("Is my sister Clara ill?", "The user's sister is called Clara."),
        ("Can you help me with my boat, a wooden yawl?", "The boat is a wooden yawl."),
        ("Since I am allergic to peanuts, what can I cook?", "The user is allergic to peanuts."),
        ("I would like you to answer in German.", "The assistant answers in German."),
        ("我搬到柏林了，你知道哪里有好面包吗？", TOLD_ZH[0]),
        ("我们每周三上书法课，你还记得吗？", "用户每周三上书法课。"),
        ("我想搬到柏林。", "用户想搬到柏林。"),
        ("Я живу в Берлине.", "Пользователь живет в Берлине."),
    ],
)
def test_what_is_said_beside_a_question_or_told_as_one_stands(said: str, text: str) -> None:
    assert so(text, said)


def test_what_a_question_takes_for_granted_is_not_what_it_asks() -> None:
    assert not so("The user's sister Clara is ill.", "Is my sister Clara ill?")
    assert not so("The user lives in Berlin.", "I live in Bern. Should I move to Berlin?", "move to Berlin")
    assert so("The user lives in Bern.", "I live in Bern. Should I move to Berlin?", "I live in Bern")
    assert so("The user moved to Berlin.", "Did I tell you? I moved to Berlin. If I moved to Bern", "I moved to B")


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("I do not, however, eat fish.", "I do not eat fish."),
        ("I do not — honestly — eat fish, but I love bread.", "I do not eat fish, but I love bread."),
        ("I am not, and never was, a vegetarian.", "I am not a vegetarian."),
        ("我从不，说实话，喝咖啡。", "我从不 喝咖啡。"),
        ("I do not, I prefer coffee.", "I do not, I prefer coffee."),
        ("Not here, there.", "Not here, there."),
        ("I live here, not there.", "I live here, not there."),
    ],
)
def test_a_denial_goes_on_behind_what_is_put_between(said: str, plain: str) -> None:
    assert joined(said) == plain


@pytest.mark.parametrize(
    ("said", "of", "denied"),
    [
        ("I quit smoking", "The user smokes", True),
        ("I gave up sugar", "The user eats sugar", True),
        ("I avoid fish", "The user eats fish", True),
        ("I never quit smoking", "The user smokes", False),
        ("Since I quit smoking I run", "The user runs", False),
        ("我戒烟了", "用户抽烟", True),
        ("Я бросил курить", "Пользователь курит", True),
    ],
)
def test_what_ended_or_is_avoided_is_denied_of_that_alone(said: str, of: str, denied: bool) -> None:
    assert denies(said, of) is denied


def test_every_clause_has_its_place() -> None:
    said = "I live in Bern, at no. 4.5. If I moved, I would cry! 好吗？"
    for part in parts(said):
        assert said[part.first : part.last] == part.text
    assert parts("") == parts(" \n") == []
