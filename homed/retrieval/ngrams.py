"""Words that are nearly the same: what somebody mistyped, by the pieces of a word that are still right.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

SHORTEST = 4
"""Letters of a word that may be mistyped: of shorter ones too many are alike."""

LONG = 8
"""Letters from which on a word may have two mistakes."""

MOST = 3
"""Words that one may be meant for."""


def nearly(word: str, others: Iterable[str]) -> dict[str, float]:
    """Those of ``others`` that ``word`` may be mistyped for, with how much of it is right, 0..1; the likest few.

    A mistake is a letter too many, too few, another, or two in the wrong order.
    """
    mistakes = allowed(word)
    if not mistakes:
        return {}
    pieces, letters = _pieces(word, 2 * mistakes + 1), set(word)
    found: dict[str, float] = {}
    for other in others:
        # each mistake spoils two pieces at the most and one letter, so one piece is whole in what was meant
        if abs(len(other) - len(word)) > mistakes or len(letters.difference(other)) > mistakes:
            continue
        if not any(piece in other for piece in pieces) or len(set(other) - letters) > mistakes:
            continue
        distance = _distance(word, other, mistakes)
        if 0 < distance <= mistakes:
            found[other] = 1 - distance / max(len(word), len(other))
    likest = sorted(found, key=lambda other: (-found[other], other))[:MOST]
    return {other: found[other] for other in likest}


def allowed(word: str) -> int:
    """How many mistakes a word may have; 0 for what is no word of letters or too short."""
    if not word.isalpha() or len(word) < SHORTEST:
        return 0
    return 2 if len(word) >= LONG else 1


def _pieces(word: str, count: int) -> list[str]:
    """So many pieces of it, as long as each other."""
    borders = [len(word) * n // count for n in range(count + 1)]
    return [word[first:last] for first, last in pairwise(borders)]


def _distance(first: str, second: str, most: int) -> int:
    """Optimal string alignment; ``most`` + 1 for anything above."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, one in enumerate(first, 1):
        older, before, row = before, row, [at]
        for to, other in enumerate(second, 1):
            value = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (one != other))
            if at > 1 and to > 1 and one == second[to - 2] and first[at - 2] == other:
                value = min(value, older[to - 2] + 1)
            row.append(value)
        if min(row) > most:
            return most + 1
    return row[-1]
