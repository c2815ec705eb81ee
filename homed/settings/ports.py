"""What the settings need of the rooms around them."""

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


class SecretStore(Protocol):
    """``homed.config.secrets.Secrets``, as far as it is used here.  Blocking: the writing ones are run in a thread."""

    def get(self, name: str) -> str | None:
        """The secret, or None."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store one."""
        ...

    def delete(self, name: str) -> bool:
        """Forget one; False if there was none."""
        ...
