"""What the model sources need from the rooms below: their settings and their keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class SettingsPort(Protocol):
    """What is read and written of the settings."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...

    def changeable(self, key: str) -> None:
        """Raises Conflict for a key that is given from outside."""
        ...

    async def set(self, key: str, value: object) -> object:
        """Check, store and announce a value."""
        ...

    async def change(self, changes: Mapping[str, object], *, keys: Mapping[str, str | None]) -> object:
        """The same for several, with the secrets that go with them (None: out), all or none."""
        ...

    def watch(self, prefix: str = "") -> AbstractContextManager[AsyncIterator[object]]:
        """Follow changes of keys that begin with ``prefix``."""
        ...


class SecretsPort(Protocol):
    """What is read of the secrets; usable from any thread."""

    def get(self, name: str) -> str | None:
        """The secret, or None."""
        ...
