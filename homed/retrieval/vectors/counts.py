"""How much of memory has a vector that can be compared, and how much has not."""

from __future__ import annotations

from dataclasses import dataclass

from homed.retrieval.vectors.rows import space_of
from homed.store.rows import Tx

GIVE_UP = 5
"""Failures after which an item is left without a vector, until a person or another embedder has it tried again."""


@dataclass(frozen=True, slots=True)
class Counts:
    """For the health check.

    ``have``: vectors of the space asked for; ``foreign``: of all other spaces, never compared with it; ``waiting``:
    items that are still to get theirs; ``failed``: items that were given up.
    """

    have: int
    foreign: int
    waiting: int
    failed: int


def counts(tx: Tx, space: str) -> Counts:
    """For the space of this fingerprint ('' when there is no embedder: all vectors are foreign).  100 000: 5 ms."""
    known = space_of(tx, space)
    number = -1 if known is None else known[0]
    have = int(tx.value("SELECT count(*) FROM vectors WHERE space = ?", (number,)))
    total = int(tx.value("SELECT count(*) FROM vectors"))
    failed = int(tx.value("SELECT count(*) FROM vector_todo WHERE failures >= ?", (GIVE_UP,)))
    waiting = int(tx.value("SELECT count(*) FROM vector_todo"))
    return Counts(have, total - have, waiting - failed, failed)
