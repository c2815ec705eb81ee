"""Many items as messages of a bearable size.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: Callable[[T], int], most: int, room: int) -> Iterator[list[T]]:
    """The items in their order, in lists of at most ``most``, each within ``room`` unless one item alone is more."""
    batch: list[T] = []
    used = 0
    for item in items:
        if batch and (len(batch) >= most or used + size(item) > room):
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += size(item)
    if batch:
        yield batch
