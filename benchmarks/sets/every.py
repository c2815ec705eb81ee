"""All sets by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.sets import chinese
from benchmarks.sets.rows import Set


def _chinese_words() -> Set:
    talk = chinese.chinese()
    return Set(talk.events, chinese.words(talk))


SETS: dict[str, Callable[[], Set]] = {
    "chinese": chinese.chinese,
    "chinese-words": _chinese_words,
}
"""What makes each of them."""
