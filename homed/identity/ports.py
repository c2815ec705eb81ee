"""What identity needs of the rooms around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from homed.store.rows import Tx

T = TypeVar("T")


class Storage(Protocol):
    """``homed.store.Store``, as far as it is used here."""

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a transaction; returns after COMMIT."""
        ...

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on a reading connection."""
        ...


class TextSettings(Protocol):
    """``homed.settings.Settings``, as far as it is used here."""

    def str(self, key: str) -> str:
        """The value of a text setting."""
        ...
