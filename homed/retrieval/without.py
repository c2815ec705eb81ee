"""Ranking where there are no vectors: by words alone."""

from __future__ import annotations

from collections.abc import Mapping

from homed.memory.ports import Near
from homed.retrieval.rank import Ranker


class NoVectors:
    """A ``Dense`` that has none."""

    def nearest(self, *_: object, **__: object) -> list[Near]:
        """Nothing."""
        return []

    def cosines(self, *_: object, **__: object) -> Mapping[int, float]:
        """Nothing."""
        return {}


def words_only() -> Ranker:
    """A ranker whose questions never have a vector."""
    return Ranker(lambda: None, NoVectors())
