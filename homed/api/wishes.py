"""What ``core.*`` needs of the host about the plugin that calls, so that a test can stand in for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class WishesPort(Protocol):
    """``homed.host.wishes.Wishes``."""

    def restart(self, plugin: str) -> None:
        """Stop it and start it again; Conflict when it wants that too often."""
        ...

    def busy(self, plugin: str, lease: str, held: bool) -> None:
        """Not to be stopped as idle while it holds a lease."""
        ...

    async def set_tools(self, plugin: str, listed: Sequence[object]) -> list[str]:
        """Its dynamic tools; the names that it has now."""
        ...

    async def schedule(self, plugin: str, name: str, *, at: float | None, every: float | None) -> float:
        """Have it woken; when it is due."""
        ...

    async def unschedule(self, plugin: str, name: str) -> None:
        """No longer; NotFound."""
        ...
