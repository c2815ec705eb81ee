"""What is only polite round a question."""

from __future__ import annotations

import time

import pytest

from homed.retrieval.courtesy import without


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("我女儿几岁了?请告诉我。", "我女儿几岁了?"),
        ("麻烦告诉我，我女儿几岁了？谢谢！", "我女儿几岁了？"),
        ("你好，请问我女儿几岁了？", "我女儿几岁了？"),
        ("我女儿几岁你还记得吗", "我女儿几岁"),
        ("Please tell me how old my daughter is.", "how old my daughter is."),
        ("Can you remind me how old my daughter is?", "how old my daughter is?"),
        ("How old is my daughter? Please tell me.", "How old is my daughter?"),
        ("Hi, I was wondering, could you please tell me where Anna lives? Thanks!", "where Anna lives?"),
        ("Напомни, пожалуйста, сколько лет моей дочери? Спасибо!", "сколько лет моей дочери?"),
    ],
)
def test_politeness_is_no_part_of_what_is_asked(text: str, left: str) -> None:
    assert without(text) == left


@pytest.mark.parametrize(
    "text",
    ["请告诉我", "你还记得吗？", "谢谢", "Do you remember?", "Who can tell me the time?", "请陈伟吃螃蟹可以吗？",
     "Highway 66 is long", "please " * 100, ""],
)  # fmt: skip
def test_what_says_nothing_else_or_is_long_stays(text: str) -> None:
    assert without(text) == text


def test_no_text_takes_long() -> None:
    begun = time.thread_time()
    for text in ("a " * 200, "请" * 400, ", " * 200, "please " * 57, "!" * 400, "\n" * 400):
        without(text)
    assert time.thread_time() - begun < 5
