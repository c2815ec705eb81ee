"""What a record still rests on once some of what it came from is gone."""

from __future__ import annotations

import pytest

from homed.memory.rests import kept, supported


@pytest.mark.parametrize(
    ("text", "lost", "left", "stays"),
    [
        ("Anna lives in Berlin.", "I am Anna, from Berlin", "Anna here, back in Berlin", True),
        ("Anna lives in Berlin.", "I am Anna, from Berlin", "Anna here again", False),
        ("The port is 8080.", "use port 8080", "use the port", False),
        ("The port is 8080.", "use port 8080", "port 8080 it is", True),
        ("He is the one.", "the one is he", "something else", False),
        ("It is for the user.", "it is for the user", "something else", True),
        ("用户住在里斯本。", "我住在里斯本", "我在里斯本住了三年", False),
        ("用户喜欢西瓜。", "我喜欢西瓜", "西瓜我喜欢西瓜", True),
        ("用户喜欢西瓜。", "I like watermelon", "watermelon again", True),
        ("Мария живёт в Риге.", "Мария из Риги, живёт в Риге", "Мария снова тут", False),
    ],
)
def test_a_fact_stays_if_what_is_left_says_all_of_it(text: str, lost: str, left: str, stays: bool) -> None:
    assert supported(text, [lost], [left]) is stays


def test_of_a_capsule_the_sentences_that_stand() -> None:
    text = "Anna lives in Berlin. She keeps bees!\n她喜欢西瓜。 The rest is quiet."
    assert kept(text, ["bees, she keeps bees"], ["Anna in Berlin"]) == (
        "Anna lives in Berlin. 她喜欢西瓜。 The rest is quiet."
    )
    assert kept(text, ["我喜欢西瓜"], ["bees"]) == "Anna lives in Berlin. She keeps bees!\nThe rest is quiet."
    assert kept("Only bees.", ["bees"], []) == ""
