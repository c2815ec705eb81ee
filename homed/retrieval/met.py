"""Which entities an input names: by their names where they stand in it, by words of them, and by the nearest vectors.

Chinese has no blanks, so a name may seem to stand where two words meet (北京 in 东北京剧).  Where its words are known
(`homed.retrieval.keywords`), what neither begins nor ends with one is no name; what does only one of both comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from homed.memory.normal import is_run, normal
from homed.retrieval.asking import Question
from homed.retrieval.keywords import Keywords
from homed.retrieval.rank import Ranker
from homed.retrieval.words import cleaned, tokens
from homed.store.rows import Tx, dumps

WORDS = 5
"""Words of a name at the most."""

RUN = 8
"""Characters of a name in a script without blanks at the most."""

LOOKED_AT = 300
"""Words of an input, half of them at its beginning; a character of a script without blanks counts as one."""

INFLECTED = 24
"""Different Cyrillic words of an input whose other forms are looked for: a name seldom stands as it is kept."""

NEAREST = 5
"""Entities whose vectors are nearest to the input."""

NEAR = 0.45
"""Calibrated cosine from which a name is near: a name is short and a question long, so the two are never very close,
while two names that have nothing to do with each other stay below."""

MOST = 12
"""Entities of one input."""

KEYWORDS = 6
"""Words of a Chinese input that are looked for inside of names: 图书馆 may be how 上海图书馆 is spoken of."""

HOLDING = 3
"""Names that such a word may stand in; one that more have says nothing about which is meant."""

_CYRILLIC = re.compile("[а-яё]{3,}")
_LAST = "я" * 6
"""Behind every ending."""


def entities(tx: Tx, ranker: Ranker, scope: str, question: Question) -> list[str]:
    """Ids of the entities of this scope that the question is about: those it names, longest names first, then those
    that are near."""
    text = cleaned(question.text)
    words = _words(text)
    fits = _fitting(words, ranker.keywords)
    rows = tx.all(
        "SELECT key, entity FROM entity_names WHERE scope = ? AND key IN (SELECT value FROM json_each(?))"
        " AND substr(key, 1, 1) <> '@'",
        (scope, dumps(sorted(fits))),
    )
    named = [entity for key, entity in sorted(rows, key=lambda row: (-fits[row[0]], -len(row[0]), row[1]))]
    named += _inflected(tx, scope, words)
    told = {key for key, _ in rows}
    named += _holding(tx, scope, [word for word in ranker.keywords.top(text, KEYWORDS) if normal(word) not in told])
    near = [one.id for one in ranker.entities(tx, scope=scope, query=question, limit=NEAREST) if one.score >= NEAR]
    return list(dict.fromkeys([*named, *near]))[:MOST]


def _words(text: str) -> list[str]:
    """The words of the text in their normal form, characters alone where there are no blanks; '' where some are left
    out."""
    words: list[str] = []
    for word in normal(text).split(" "):
        words.extend(word if is_run(word) else [word.removesuffix("'s").removesuffix("'")])
    if len(words) > LOOKED_AT:
        words = [*words[: LOOKED_AT // 2], "", *words[-LOOKED_AT // 2 :]]
    return words


def _names(words: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Every piece of the text that could be a name, and which words it begins with and ends before."""
    for first in range(len(words)):
        unspaced = any(word and is_run(word) for word in words[first : first + 2])  # 手机, also that of iPhone手机
        key, before = "", ""
        for last in range(first + 1, min(len(words), first + (RUN if unspaced else WORDS)) + 1):
            word = words[last - 1]
            if not word:
                break
            key += word if not before or (is_run(before) and is_run(word)) else f" {word}"  # as ``normal`` has it
            before = word
            yield key, first, last


def _fitting(words: Sequence[str], keywords: Keywords) -> dict[str, int]:
    """The pieces that could be names, with how many of their two ends are ends of words; those with none are none."""
    starts, text = [0], ""
    for word in words:
        text += word if is_run(word) else f" {word} "
        starts.append(len(text))
    borders = keywords.borders(text)
    fits: dict[str, int] = {}
    for key, first, last in _names(words):
        fit = 2 if borders is None else (starts[first] in borders) + (starts[last] in borders)
        if fit:
            fits[key] = max(fit, fits.get(key, 0))
    return fits


def _holding(tx: Tx, scope: str, words: Iterable[str]) -> list[str]:
    """Entities whose names hold one of these words, where few do."""
    found: list[str] = []
    for word in words:
        rows = tx.all(
            "SELECT DISTINCT entity FROM entity_names WHERE scope = ? AND instr(key, ?) > 0"
            " AND substr(key, 1, 1) <> '@' LIMIT ?",
            (scope, normal(word), HOLDING + 1),
        )
        found += [entity for (entity,) in rows] if len(rows) <= HOLDING else []
    return found


def _inflected(tx: Tx, scope: str, words: Iterable[str]) -> list[str]:
    """Entities whose name is another form of one of the Cyrillic words: of the same stem."""
    wanted = [word for word in dict.fromkeys(words) if _CYRILLIC.fullmatch(word)][:INFLECTED]
    found: list[str] = []
    for stem in dict.fromkeys(stem for word in wanted for stem in tokens(word)):
        rows = tx.all(
            "SELECT key, entity FROM entity_names WHERE scope = ? AND key BETWEEN ? AND ? LIMIT ?",
            (scope, stem, stem + _LAST, MOST),
        )
        found += [entity for key, entity in rows if tokens(key) == [stem]]
    return found
