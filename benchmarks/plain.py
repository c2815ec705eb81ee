"""What a user would write instead, and single channels alone: plain rankers to stand beside ours in the same run.

Each takes the events of one history as texts and gives the places of the best, best first.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from homed.retrieval.stopwords import ENGLISH
from homed.retrieval.words import tokens

Tokenise = Callable[[str], Iterable[str]]

K1, B = 1.2, 0.75
"""Of BM25, as everybody has them."""

_HAN = re.compile(r"[\u3400-\u9fff]+")
_LATIN = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"\w+")


def bigrams(text: str) -> list[str]:
    """Pairs of Chinese characters (a lone one as it is), and words of Latin letters and digits, in lower case."""
    text = text.lower()
    found = [a + b for run in _HAN.findall(text) for a, b in pairwise(run)]
    found += [run for run in _HAN.findall(text) if len(run) == 1]
    return [*found, *_LATIN.findall(text)]


def grams(text: str) -> list[str]:
    """Pairs and triples of characters within words of any script."""
    return [
        word[at : at + n] for word in _WORD.findall(text.lower()) for n in (2, 3) for at in range(len(word) - n + 1)
    ]


class Bm25:
    """BM25 over terms."""

    def __init__(self, texts: Sequence[str], tokenise: Tokenise = tokens) -> None:
        self._tokenise = tokenise
        counted = [Counter(tokenise(text)) for text in texts]
        lengths = [sum(counts.values()) for counts in counted]
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        self._postings: dict[str, dict[int, float]] = defaultdict(dict)
        for at, counts in enumerate(counted):
            for term, n in counts.items():
                self._postings[term][at] = n * (K1 + 1) / (n + K1 * (1 - B + B * lengths[at] / mean))
        self._count = len(texts)

    def __call__(self, query: str, limit: int) -> list[int]:
        """The best."""
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(self._tokenise(query)):
            found = self._postings.get(term, {})
            weight = math.log(1 + (self._count - len(found) + 0.5) / (len(found) + 0.5))
            for at, value in found.items():
                scores[at] += weight * value
        return sorted(scores, key=lambda at: (-scores[at], -at))[:limit]


class Grams:
    """The cosine of TF-IDF vectors of character pairs and triples."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(grams(text)) for text in texts]
        having = Counter(gram for counts in counted for gram in counts)
        self._weights = {gram: math.log((1 + len(texts)) / (1 + n)) + 1 for gram, n in having.items()}
        self._postings: dict[str, dict[int, float]] = defaultdict(dict)
        for at, counts in enumerate(counted):
            for gram, value in self._unit(counts).items():
                self._postings[gram][at] = value

    def _unit(self, counts: Counter[str]) -> dict[str, float]:
        values = {g: (1 + math.log(n)) * self._weights[g] for g, n in counts.items() if g in self._weights}
        length = math.sqrt(sum(value * value for value in values.values())) or 1.0
        return {gram: value / length for gram, value in values.items()}

    def __call__(self, query: str, limit: int) -> list[int]:
        """The best."""
        scores: dict[int, float] = defaultdict(float)
        for gram, value in self._unit(Counter(grams(query))).items():
            for at, other in self._postings[gram].items():
                scores[at] += value * other
        return sorted(scores, key=lambda at: (-scores[at], -at))[:limit]


class Encoder:
    """An encoder alone: exact cosine of its vectors, shape (n, dims) of unit length."""

    def __init__(self, vectors: NDArray[np.float32], encode: Callable[[str], NDArray[np.float32]]) -> None:
        self._vectors = vectors
        self._encode = encode

    def __call__(self, query: str, limit: int) -> list[int]:
        """The best."""
        cosines = self._vectors @ self._encode(query)
        return [int(at) for at in np.argsort(-cosines, kind="stable")[:limit]]


class Fts5:
    """SQLite's FTS5 in 40 lines: porter stems, an OR of the words, stop words left out."""

    def __init__(self, texts: Sequence[str], path: str = ":memory:") -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize='porter unicode61')")
        with self._db:
            self._db.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))

    def __call__(self, query: str, limit: int) -> list[int]:
        """The best."""
        words = [word for word in _WORD.findall(query.lower()) if word not in ENGLISH]
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        rows = self._db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (asked, limit))
        return [int(row[0]) for row in rows]

    def close(self) -> None:
        """Close the database."""
        self._db.close()
