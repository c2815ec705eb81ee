"""Which entities an input names: by their names where they stand in it, and by the nearest vectors."""

from __future__ import annotations

from collections.abc import Iterator

from homed.memory.normal import is_run, normal
from homed.retrieval.asking import Question
from homed.retrieval.rank import Ranker
from homed.retrieval.words import cleaned
from homed.store.rows import Tx, dumps

WORDS = 5
"""Words of a name at the most."""

RUN = 8
"""Characters of a name in a script without blanks at the most."""

LOOKED_AT = 300
"""Words of an input, half of them at its beginning; runs count a character as one."""

NEAREST = 5
"""Entities whose vectors are nearest to the input."""

NEAR = 0.45
"""Calibrated cosine from which a name is near: a name is short and a question long, so the two are never very close,
while two names that have nothing to do with each other stay below."""

MOST = 12
"""Entities of one input."""


def entities(tx: Tx, ranker: Ranker, scope: str, question: Question) -> list[str]:
    """Ids of the entities of this scope that the question is about: those it names, longest names first, then those
    that are near."""
    text = cleaned(question.text)
    rows = tx.all(
        "SELECT entity, length(key) FROM entity_names WHERE scope = ? AND key IN (SELECT value FROM json_each(?))"
        " AND substr(key, 1, 1) <> '@'",
        (scope, dumps(sorted(set(_names(text))))),
    )
    named = [entity for entity, _ in sorted(rows, key=lambda row: (-row[1], row[0]))]
    near = [one.id for one in ranker.entities(tx, scope=scope, query=question, limit=NEAREST) if one.score >= NEAR]
    return list(dict.fromkeys([*named, *near]))[:MOST]


def _names(text: str) -> Iterator[str]:
    """Every piece of the text that could be a name, in its normal form."""
    words: list[str] = []
    for word in normal(text).split(" "):
        words.extend(word if is_run(word) else [word])
    if len(words) > LOOKED_AT:
        words = [*words[: LOOKED_AT // 2], "", *words[-LOOKED_AT // 2 :]]
    for first in range(len(words)):
        unspaced = bool(words[first]) and is_run(words[first])
        for last in range(first + 1, min(len(words), first + (RUN if unspaced else WORDS)) + 1):
            piece = words[first:last]
            if "" in piece:
                break
            yield ("" if unspaced and all(map(is_run, piece)) else " ").join(piece)
