"""What memory needs of the rooms above it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homed.store.rows import Tx

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    """Shape (n, dims), each row of length 1."""


@dataclass(frozen=True, slots=True)
class Space:
    """What vectors can be compared in.

    ``fingerprint``: of model, release and preparation; vectors of two are never compared.  ``baseline``: the cosine of
    two texts that have nothing to do with each other.  ``media``: images have vectors in it too.
    """

    fingerprint: str
    dims: int
    baseline: float
    media: bool = False


class Embedder(Protocol):
    """Makes vectors of texts, and of images where its space has them."""

    @property
    def space(self) -> Space:
        """Of all its vectors."""
        ...

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """One vector a text.  ``query``: somebody waits for it, and it goes before all others.

        Raises ``EmbedFailed``.  Cancelled: the work is abandoned.
        """
        ...

    async def embed_images(self, images: Sequence[bytes]) -> Vectors:
        """One vector an image file; only where ``space.media``."""
        ...


@dataclass(frozen=True, slots=True)
class Near:
    """Something whose vector is near: ``kind`` and ``item`` as in the table, ``cosine`` of its nearest part."""

    kind: str
    item: int
    cosine: float


class Dense(Protocol):
    """The vectors of everything remembered, as the ranker asks them; called in reading transactions, on any thread."""

    def nearest(
        self, tx: Tx, *, scope: str, vector: Vectors, space: str, kinds: Collection[str], limit: int
    ) -> list[Near]:
        """The nearest of one scope, best first, each item once; nothing of a deleted one, all that is committed.

        ``vector`` has shape (dims,); ``space`` is its fingerprint.
        """
        ...

    def cosines(
        self, tx: Tx, *, scope: str, vector: Vectors, space: str, kind: str, items: Collection[int]
    ) -> Mapping[int, float]:
        """The cosine of each of these items that has a vector in this space."""
        ...
