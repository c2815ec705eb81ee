"""An embedder for tests: vectors of hashed words, made at once, and every kind of trouble on command."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from homed.memory.ports import Space
from homed.retrieval.embed.failed import EmbedFailed

if TYPE_CHECKING:
    from homed.memory.ports import Vectors

_WORDS = re.compile(r"[^\W\d_\u3000-\u9fff\uac00-\ud7af]+|\d+|[\u3000-\u9fff\uac00-\ud7af]")


class FakeEmbedder:
    """Two texts are near each other by the words they share (characters, in Chinese); ``synonyms`` are one word.

    ``hang``: nothing is answered any more until it is false and ``release`` is called.  ``failure``: raised instead of
    an answer.  ``asked`` and ``embedded`` remember the texts.  ``space`` may be replaced at any time.
    """

    def __init__(self, name: str = "fake", dims: int = 64, *, media: bool = False, baseline: float = 0.0) -> None:
        self.space = Space(name, dims, baseline, media)
        self.synonyms: dict[str, str] = {}
        self.hang = False
        self.failure: EmbedFailed | None = None
        self.asked: list[str] = []
        self.embedded: list[str] = []
        self._released = trio.Event()

    def change(self, name: str, dims: int = 64) -> None:
        """Be another model from now on."""
        self.space = Space(name, dims, self.space.baseline, self.space.media)

    def release(self) -> None:
        """Let everybody go on who hangs."""
        self.hang = False
        self._released.set()
        self._released = trio.Event()

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """See ``Embedder``."""
        (self.asked if query else self.embedded).extend(texts)
        await self._trouble()
        return self._unit([self._row(text) for text in texts])

    async def embed_images(self, images: Sequence[bytes]) -> Vectors:
        """A picture is what its bytes say, as text."""
        if not self.space.media:
            raise EmbedFailed("This embedder reads no pictures.", lasting=True)
        await self._trouble()
        return self._unit([self._row(image.decode("utf-8", "replace")) for image in images])

    def vector(self, text: str) -> Vectors:
        """Of one text, shape (dims,), without waiting."""
        row: Vectors = self._unit([self._row(text)])[0]
        return row

    async def _trouble(self) -> None:
        await trio.lowlevel.checkpoint()
        while self.hang:
            await self._released.wait()
        if self.failure is not None:
            raise self.failure

    def _row(self, text: str) -> list[float]:
        row = [0.0] * self.space.dims
        for word in _WORDS.findall(text.lower()):
            word = self.synonyms.get(word, word)
            seed = hashlib.blake2b(f"{self.space.fingerprint} {word}".encode(), digest_size=8).digest()
            for at in range(0, 8, 2):  # four places, of either sign, so that strangers are near 0
                place = int.from_bytes(seed[at : at + 2], "little")
                row[place % self.space.dims] += 1.0 if place & 0x8000 else -1.0
        return row

    def _unit(self, rows: list[list[float]]) -> Vectors:
        import numpy as np

        made = np.array(rows, dtype=np.float32).reshape(len(rows), self.space.dims)
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        unit: Vectors = (made / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return unit
