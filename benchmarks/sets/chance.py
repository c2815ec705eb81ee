"""Chance that is the same on every machine and in every release of Python: committed sets can be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Numbers drawn from a seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._count = 0

    def below(self, limit: int) -> int:
        """A number from 0, below ``limit``."""
        self._count += 1
        drawn = hashlib.blake2b(self._seed + self._count.to_bytes(8, "big"), digest_size=8).digest()
        return int.from_bytes(drawn, "big") % limit

    def share(self, of_hundred: int) -> bool:
        """True in so many cases of a hundred."""
        return self.below(100) < of_hundred

    def one(self, of: Sequence[T]) -> T:
        """One of these."""
        return of[self.below(len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """``count`` different ones of these (all, if there are no more), in any order."""
        left = list(of)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def mixed(self, of: Sequence[T]) -> list[T]:
        """All of these in another order."""
        return self.some(of, len(of))
