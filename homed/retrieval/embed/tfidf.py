"""Vectors without a model: the words of a text, hashed to places.  In the daemon itself, some 0.2 ms a text.

There is no corpus behind it, so that a vector never changes and means the same for ever; how much a word says is
guessed from what it is: stop words are left out, exact symbols say much, a long word more than a short one.
"""

from __future__ import annotations

import math
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import trio

from homed.memory.ports import Space
from homed.retrieval import words
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.hashing import fingerprint

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

DIMS = 1024
"""Places.  A message has some 60 features: with fewer, strangers meet in them; with more, rows grow for nothing."""

BASELINE = 0.01
"""Median cosine of a question and a text that has nothing to do with it: chance and shared letters."""

RELEASE = 1
"""Of the features and their weights; another number is another space."""

GRAM = 3
GRAM_SHARE = 0.35
"""Weight of one of a word's character n-grams against the word itself: enough to find it misspelt or inflected in a
way that stems do not know, too little to make two words with one ending alike."""

EXACT = 2.0
PLAIN = 1.0

AT_ONCE = 16
"""Texts for which no thread is asked."""


class TfidfEmbedder:
    """See ``homed.memory.ports.Embedder``."""

    def __init__(self, baseline: float | None = None) -> None:
        name = fingerprint("tfidf", str(RELEASE), words_release(), str(DIMS))
        self.space = Space(name, DIMS, BASELINE if baseline is None else baseline)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Shape (n, dims).  Never fails.  Cancelled, a thread may finish what it is at."""
        if query or len(texts) <= AT_ONCE:
            await trio.lowlevel.checkpoint()
            return rows(texts)
        return await trio.to_thread.run_sync(rows, list(texts), abandon_on_cancel=True)

    async def embed_images(self, images: Sequence[bytes]) -> Vectors:  # noqa: ARG002
        """It reads no pictures: `EmbedFailed`."""
        await trio.lowlevel.checkpoint()
        raise EmbedFailed("Without a model no pictures can be compared.", lasting=True)


def words_release() -> str:
    """Of what makes terms of a text."""
    return unicodedata.unidata_version


def rows(texts: Sequence[str]) -> Vectors:
    """The vectors, shape (n, DIMS), each of length 1 or, without any word, zero."""
    import numpy as np

    maker = words.Words()
    made = np.zeros((len(texts), DIMS), np.float32)
    for row, text in zip(made, texts, strict=True):
        for feature, weight in _features(Counter(maker.tokens(text))):
            place = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            row[place % DIMS] += weight if place & 0x80000000 else -weight
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    made /= np.where(lengths > 0, lengths, 1)
    return made


def _features(terms: Counter[str]) -> Iterator[tuple[str, float]]:
    for term, times in terms.items():
        weight = (1 + math.log(times)) * _says(term)
        yield term, weight
        if len(term) > GRAM and term.isalpha() and not words.is_pair(term):
            marked = f"^{term}$"
            grams = [marked[at : at + GRAM] for at in range(len(marked) - GRAM + 1)]
            share = weight * GRAM_SHARE / math.sqrt(len(grams))
            for gram in grams:
                yield f"~{gram}", share


def _says(term: str) -> float:
    """How much a term says by its looks."""
    if words.is_exact(term):
        return EXACT
    if words.is_pair(term):
        return PLAIN / 2 if words.says_little(term) else PLAIN
    if len(term) == 1:
        return PLAIN / 3
    return PLAIN * min(1.6, 0.6 + 0.12 * len(term)) if term.isascii() else PLAIN
