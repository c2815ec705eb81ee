"""Whether what a record says still rests on something, once some of what it came from is gone.  Pure.

A word that stands in the record and in what is gone, and in nothing that is left, came from what is gone.  Words of the
record that stand in neither (it may be told in another language than it was said in) speak for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.normal import UNSPACED, bag

_SENTENCES = re.compile(r"[^.!?;。！？；\n]+[.!?;。！？；]*\s*|\n+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def supported(text: str, lost: Iterable[str], left: Iterable[str]) -> bool:
    """True when the text says nothing that only ``lost`` says."""
    return not _only_lost(text, _bags(lost), _bags(left))


def kept(text: str, lost: Iterable[str], left: Iterable[str]) -> str:
    """The text without those of its sentences that say something which only ``lost`` says; '' when none is left."""
    gone, there = _bags(lost), _bags(left)
    said = [sentence for sentence in sentences(text) if not _only_lost(sentence, gone, there)]
    return "".join(said).strip()


def sentences(text: str) -> list[str]:
    """The text in sentences, each with the blanks behind it."""
    return _SENTENCES.findall(text)


def _only_lost(text: str, lost: frozenset[str], left: frozenset[str]) -> set[str]:
    return {word for word in (bag(text) & lost) - left if _counts(word)}


def _counts(word: str) -> bool:
    """Whether a word says something: not "the", nor one letter, nor a single sign; any number and any pair do."""
    if any(one.isdigit() for one in word) or _UNSPACED.match(word):
        return len(word) > 1 or word.isdigit()
    return len(word) > 2 and word not in FUNCTION_WORDS


def _bags(texts: Iterable[str]) -> frozenset[str]:
    found: Sequence[frozenset[str]] = [bag(text) for text in texts]
    return frozenset().union(*found)
