"""The one law of when two statements are the same.  Pure.

The same words in another order, case or punctuation are; so are texts that share most of their words.  But what
differs in a number, a date, a name, a negation, or in one word put in the place of another, is a correction or a second
fact, however much else they share: to lose a new value costs more than to keep a statement twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import chain

from homed.memory import numbers
from homed.memory.lawwords import (
    CHINESE_TIME,
    DAYS,
    ENDINGS,
    FUNCTION_CHARACTERS,
    FUNCTION_WORDS,
    HATING,
    HATING_ZH,
    IDLE,
    LIKING,
    LIKING_ZH,
    NO_NEGATION_ZH,
    NOT,
    NOT_ZH,
    RUSSIAN_TIME,
    TIMES,
)  # fmt: skip
from homed.memory.normal import UNSPACED, bag, folded, is_run, jaccard, key, normal, tokens

__all__ = [
    "THRESHOLD",
    "carried",
    "compatible",
    "contradicts",
    "covers",
    "denies",
    "differing",
    "improves",
    "key",
    "normal",
    "numbers_in",
    "same",
    "same_value",
    "similarity",
    "stance",
    "topic",
]

THRESHOLD = 0.72
"""Jaccard index of the words from which on two statements are one, if nothing that counts differs."""

_GENERAL = frozenset({"fact", "entity", "correction"})
_CHOICES = frozenset({"preference", "convention", "decision"})

_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"[.!?。！？…:;\n\"“”«»()]\s*$")
_NAME = re.compile(rf"(?:(?![{UNSPACED}])[^\W_])+(?:['’-](?:(?![{UNSPACED}])[^\W_])+)*")


def similarity(a: str, b: str) -> float:
    """Share of the words of the two that both have, 0..1; Chinese by pairs of characters."""
    return jaccard(bag(a), bag(b))


def same(a: str, b: str) -> bool:
    """True when the two state the same thing."""
    if normal(a) == normal(b):
        return True
    return similarity(a, b) >= THRESHOLD and not differing(a, b)


def compatible(a: str, b: str) -> bool:
    """True for kinds of facts that may be one: equal ones, general ones with any but a to-do, choices with choices."""
    if a == b:
        return True
    if "todo" in (a, b):
        return False
    return a in _GENERAL or b in _GENERAL or {a, b} <= _CHOICES


def differing(a: str, b: str) -> str:
    """What keeps two like texts apart: ``number``, ``date``, ``negation``, ``liking``, ``name``, ``word``; else ''.

    ``word``: each has a word that says something and the other lacks (blue and green, 宇 and 松), inflection apart.
    """
    one, two = _Signs(a), _Signs(b)
    for what in ("number", "date", "negation", "liking"):
        if getattr(one, what) != getattr(two, what):
            return what
    if one.names - two.words or two.names - one.words:
        return "name"
    return "word" if _substituted(one, two) else ""


def improves(old: str, new: str) -> bool:
    """True when ``new`` says all that ``old`` says, and more."""
    before, after = _Signs(old), _Signs(new)
    said = {word for word in before.content if not any(_inflected(word, other) for other in after.content)}
    lost = +(before.characters - after.characters)
    more = len(after.content) > len(before.content) or sum(after.characters.values()) > sum(before.characters.values())
    return more and not said and not lost


def contradicts(a: str, b: str) -> bool:
    """True when one likes what the other dislikes, and nothing else differs ("I love X", "I do not like X")."""
    one, two = _Signs(a), _Signs(b)
    if one.stance * two.stance != -1 or one.number != two.number:
        return False
    return one.topic == two.topic and bool(one.topic)


def denies(text: str) -> bool:
    """True when a text says that something is not so; of two denials one takes the other back."""
    return bool(_Signs(text).negation % 2)


def covers(text: str, other: str) -> bool:
    """True when every word of ``text`` that says something, denials aside, stands in ``other`` in some form."""
    one, two = _Signs(text), _Signs(other)
    left = Counter({sign: n for sign, n in one.characters.items() if not NOT_ZH.fullmatch(sign)}) - two.characters
    return not left and all(any(_inflected(word, said) for said in two.content) for word in one.content)


def carried(text: str, other: str) -> float:
    """Share of what ``text`` says, in words, numbers and single Chinese characters, that stands in ``other`` in some
    form, 0..1; 1 of what says nothing."""
    one, two = _Signs(text), _Signs(other)
    mine = numbers_in(text)
    words = sum(any(_inflected(word, said) for said in two.words) for word in one.content)
    signs = (one.characters & two.characters).total()
    whole = len(one.content) + len(mine) + one.characters.total()
    return (words + signs + len(mine & numbers_in(other))) / whole if whole else 1.0


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, in digits or in words, each group of digits by itself (10:30 is 10 and 30)."""
    parts = tokens(text)
    said = numbers.of_words([part for part in parts if not is_run(part)])
    runs = "".join(part if is_run(part) else " " for part in parts)
    found = ("".join(str(unicodedata.digit(one)) for one in group) for group in _DIGITS.findall(folded(text)))
    written = (group.lstrip("0") or "0" for group in found)
    return frozenset([*written, *(str(one) for one in [*said, *numbers.in_chinese(runs)] if one is not None)])


def stance(text: str) -> int:
    """1 when something is liked, -1 when it is disliked or not liked, 0 when neither or both are said."""
    return _Signs(text).stance


def topic(text: str) -> frozenset[str]:
    """What of a text says what is liked or disliked: small words, and single Chinese characters; "ё" is "е"."""
    return _Signs(text).topic


class _Signs:
    """What of a text counts when it is held against another."""

    __slots__ = (
        "characters", "content", "date", "liking", "names", "negation", "number", "stance", "topic", "words",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        parts = tokens(text)
        spaced = [part.replace("ё", "е") for part in parts if not is_run(part)]
        runs = "".join(part if is_run(part) else " " for part in parts)
        self.words = frozenset(spaced)
        self.number = _numbers(spaced, runs)
        self.date = _dates(spaced, runs)
        denials = sum(word in NOT for word in spaced) + len(NOT_ZH.findall(NO_NEGATION_ZH.sub(" ", runs)))
        self.negation = denials
        # a denied liking is a dislike: the two are compared by their stance, not twice
        hating = sum(word in HATING for word in spaced) + len(HATING_ZH.findall(runs))
        liking = sum(word in LIKING for word in spaced) + len(LIKING_ZH.findall(HATING_ZH.sub(" ", runs)))
        self.liking = (bool(liking), bool(hating))
        side = bool(liking) - bool(hating)
        self.stance = -side if denials % 2 else side
        self.names = _names(text)
        about = frozenset(word for word in spaced if not any(one.isdigit() for one in word)) - FUNCTION_WORDS
        self.content = about - NOT - LIKING - HATING - numbers.WORDS.keys()
        plain = LIKING_ZH.sub("", HATING_ZH.sub("", NOT_ZH.sub("", runs)))
        kept = [one for one in plain if one != " " and one not in FUNCTION_CHARACTERS]
        self.characters = Counter(one for one in runs if one != " " and one not in FUNCTION_CHARACTERS)
        self.topic = frozenset(chain(self.content - IDLE, kept))


def _numbers(words: list[str], runs: str) -> tuple[str, ...]:
    said = [str(number) for number in numbers.of_words(words) if number is not None]
    written = [word for word in words if any(one.isdigit() for one in word)]
    return tuple(sorted([*said, *written, *map(str, numbers.in_chinese(CHINESE_TIME.sub(" ", runs)))]))


def _dates(words: list[str], runs: str) -> frozenset[str]:
    found: set[str] = set()
    for word in words:
        if word in DAYS:
            found.add(f"day {DAYS[word]}")
        elif word in TIMES:
            found.add(word)
        elif russian := RUSSIAN_TIME.fullmatch(word):
            found.add(str(russian.lastgroup))
    found.update(match.group() for match in CHINESE_TIME.finditer(runs))
    return frozenset(found)


def _names(text: str) -> frozenset[str]:
    """Words with a capital that no beginning of a sentence explains."""
    plain = unicodedata.normalize("NFKC", text)
    found = set()
    for match in _NAME.finditer(plain):
        word, before = match.group(), plain[: match.start()]
        if word[0].isupper() and word != "I" and before.strip() and not _SENTENCE.search(before):
            found.add(folded(word).replace("ё", "е").removesuffix("'s"))
    return frozenset(found) - FUNCTION_WORDS - DAYS.keys() - TIMES


def _substituted(one: _Signs, two: _Signs) -> bool:
    if (one.characters - two.characters) and (two.characters - one.characters):
        return True
    alone, other = one.content - two.content, two.content - one.content
    left = {word for word in alone if not any(_inflected(word, second) for second in other)}
    right = {word for word in other if not any(_inflected(word, first) for first in alone)}
    return bool(left and right)


def same_value(a: str, b: str) -> bool:
    """True for two ways to write one value: equal but for case and signs, or its words declined (Москве, Москву)."""
    if normal(a) == normal(b):
        return True
    one, two = tokens(a), tokens(b)
    return len(one) == len(two) and all(
        x == y or (_cyrillic(x + y) and _inflected(x, y)) for x, y in zip(one, two, strict=True)
    )


def _cyrillic(text: str) -> bool:
    return all("а" <= one <= "ё" for one in text)


def _inflected(a: str, b: str) -> bool:
    """True for two forms of a word: what they begin with is most of them, and what follows are endings."""
    if a == b:
        return True
    shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if shared < 3 or shared < 0.5 * max(len(a), len(b)):
        return False
    return any(a[shared:] in endings and b[shared:] in endings for endings in ENDINGS)
