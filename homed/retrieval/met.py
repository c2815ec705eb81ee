"""Which entities an input names: by their names where they stand in it, and by the nearest vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from homed.memory.normal import is_run, normal
from homed.retrieval.asking import Question
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

_CYRILLIC = re.compile("[а-яё]{3,}")
_LAST = "я" * 6
"""Behind every ending."""


def entities(tx: Tx, ranker: Ranker, scope: str, question: Question) -> list[str]:
    """Ids of the entities of this scope that the question is about: those it names, longest names first, then those
    that are near."""
    words = _words(cleaned(question.text))
    rows = tx.all(
        "SELECT entity, length(key) FROM entity_names WHERE scope = ? AND key IN (SELECT value FROM json_each(?))"
        " AND substr(key, 1, 1) <> '@'",
        (scope, dumps(sorted(set(_names(words))))),
    )
    named = [entity for entity, _ in sorted(rows, key=lambda row: (-row[1], row[0]))]
    named += _inflected(tx, scope, words)
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


def _names(words: Sequence[str]) -> Iterator[str]:
    """Every piece of the text that could be a name."""
    for first in range(len(words)):
        unspaced = bool(words[first]) and is_run(words[first])
        for last in range(first + 1, min(len(words), first + (RUN if unspaced else WORDS)) + 1):
            piece = words[first:last]
            if "" in piece:
                break
            yield ("" if unspaced and all(map(is_run, piece)) else " ").join(piece)


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
