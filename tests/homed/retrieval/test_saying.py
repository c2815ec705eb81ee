"""Who says it, and whether it asks."""

from __future__ import annotations

import pytest

from homed.retrieval.saying import asking, speaker


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
