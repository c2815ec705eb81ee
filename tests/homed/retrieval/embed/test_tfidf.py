"""Hashed words: the same for ever, near by what is shared, also misspelt or in Chinese."""

from __future__ import annotations

import numpy as np
import pytest

from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.tfidf import AT_ONCE, BASELINE, DIMS, TfidfEmbedder, rows

TEXTS = [
    "The gearbox of the old tractor needs new bearings.",
    "We booked a ferry to the islands for August.",
    "我们八月订了去海岛的渡轮。",
    "服务器的端口改成了 8443。",
]


def nearest(question: str) -> int:
    return int(np.argmax(rows(TEXTS) @ rows([question])[0]))


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("Which tractor part is broken?", 0),
        ("gaerbox bearing", 0),
        ("the feries", 1),
        ("去海岛的船什么时候", 2),
        ("哪个端口 8443", 3),
    ],
)
def test_what_shares_words_or_most_of_their_letters_is_near(question: str, at: int) -> None:
    assert nearest(question) == at


async def test_rows_are_of_length_one_and_the_same_alone_or_together() -> None:
    embedder = TfidfEmbedder()
    many = [f"{text} {number}" for number in range(AT_ONCE) for text in TEXTS]
    together = await embedder.embed([*many, " ", "the of and"])
    assert together.shape == (len(many) + 2, DIMS)
    assert together.dtype == np.float32
    lengths = np.linalg.norm(together, axis=1)
    assert np.allclose(lengths[:-2], 1, atol=1e-5)
    assert lengths[-2:].tolist() == [0, 0]
    assert np.array_equal(await embedder.embed([many[7]], query=True), together[7:8])


async def test_the_space_is_named_by_what_makes_terms() -> None:
    assert TfidfEmbedder().space == TfidfEmbedder().space
    assert TfidfEmbedder().space.baseline == BASELINE
    assert TfidfEmbedder(0.3).space.baseline == 0.3
    assert TfidfEmbedder().space.fingerprint.startswith("tfidf-")
    with pytest.raises(EmbedFailed):
        await TfidfEmbedder().embed_images([b""])


def test_strangers_are_near_nothing() -> None:
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice(list("abcdefghijklmnopqrstuvw"), 7)) for _ in range(2000)]
    texts = [" ".join(generator.choice(words, 12)) for _ in range(200)]
    cosines = rows(texts) @ rows(texts).T
    off = np.abs(cosines[~np.eye(len(texts), dtype=bool)])
    assert np.median(off) < 0.05
    assert np.quantile(off, 0.99) < 0.25
