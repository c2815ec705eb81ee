"""Who says it, and whether it asks."""

from __future__ import annotations

import time

import pytest

from homed.retrieval.saying import asking, of_oneself, speaker


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Where is it?", 1.0),
        ("在哪里？", 1.0),
        ("It is in the hall.", 0.0),
        ("", 0.0),
        ("???", 0.0),
        ("a" * 3000 + "?", 0.0),
    ],
)
def test_the_share_that_asks(text: str, share: float) -> None:
    assert asking(text) == share


def test_of_a_text_that_tells_and_asks_the_longer_part_weighs_more() -> None:
    assert asking("I moved to a new flat near the river last week. You?") < 0.2
    assert asking("Hm. And what did the doctor say about your knee?") > 0.8


@pytest.mark.parametrize(
    "text",
    [
        "Anton Petrov won a prize for fencing, can you believe it?", "Boris: By the way, I moved to Bern, right?",
        "We all leave at nine, don't we?",
        "Guess who got hired by Castell? Rebecca Stone.", "By the way, guess what I bought?",
        "王小明去了杭州，对不对？", "昨天李华拿了一等奖，你敢信吗？", "你猜谁来了？是张伟。", "知道吗？我搬到成都了。",
        "Я переехал в Берн, представляешь?", "Угадай, кто приехал? Ида.",
    ],
)  # fmt: skip
def test_what_states_something_and_has_a_tag_or_only_announces_asks_nothing(text: str) -> None:
    assert asking(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "What did you do, Anna?", "Hey Anna, did you have fun at the parade?", "So, where did you go, Anna?",
        "If you had a day off, what would you do?", "When you were in Paris, did you like it?", "你昨天去了哪里？",
        "王明，你吃了吗？", "最近天气怎么样，要不要带伞？", "昨天的会开完了，你去了吗？",
        "After all this time, did you like it?", "So in the end, who won?",
        "Как дела, Ида?", "Has it rained, or snowed?",
        "I was in Bern last week, which of its museums did you say was the one to see?",
    ],
)  # fmt: skip
def test_a_question_with_commas_in_it_asks(text: str) -> None:
    assert asking(text) == 1.0


def test_no_text_keeps_it_busy() -> None:
    begun = time.thread_time()
    for text in ("a, " * 600 + "?", ",?" * 900, "guess " * 300 + "?", "，" * 1900 + "？", "a:" * 900 + "?"):
        asking(text)
    assert time.thread_time() - begun < 10


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna: I like tea", "Anna"),
        ("[Dr. Anna Lee]: hello", "Dr. Anna Lee"),
        ("李明：好的", ""),
        ("李明： 好的", "李明"),
        ("10:30: lunch", ""),
        ("https://example.org", ""),
        ("note to self : buy tea", ""),
        ("one two three four: five", ""),
        ("tea", ""),
    ],
)
def test_a_name_and_a_colon_at_the_beginning_is_a_speaker(text: str, name: str) -> None:
    assert speaker(text) == name


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("What colour is my bike?", True), ("Do I like coriander?", True), ("我女儿几岁了？", True),
        ("Где мой ключ?", True),
        ("How do I start a garden?", False), ("How can I make my own soap?", False), ("请给我讲讲丝绸之路。", False),
        ("What is a leap second?", False),
    ],
)  # fmt: skip
def test_who_asks_of_what_is_his_own_speaks_of_himself(text: str, own: bool) -> None:
    assert of_oneself(text) is own
