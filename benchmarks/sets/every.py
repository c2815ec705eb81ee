"""All sets by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.sets import bilingual, chinese, english, exact, latest, long, typos, unrelated
from benchmarks.sets.rows import Set


def _chinese_words() -> Set:
    talk = chinese.chinese()
    return Set(talk.events, chinese.words(talk))


SETS: dict[str, Callable[[], Set]] = {
    "chinese": chinese.chinese,
    "chinese-words": _chinese_words,
    "english": english.english,
    "zh-en": bilingual.chinese_to_english,
    "en-zh": bilingual.english_to_chinese,
    "typos": typos.typos,
    "exact": exact.exact,
    "latest": latest.latest,
    "long": long.long,
    "unrelated": unrelated.unrelated,
}
"""What makes each of them."""
