"""What the settings need of the rooms around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class SecretStore(Protocol):
    """``homed.config.secrets.Secrets``, as far as it is used here.  Blocking: the writing ones are run in a thread."""

    def get(self, name: str) -> str | None:
        """The secret, or None."""
        ...

    def given(self, name: str) -> bool:
        """True if the environment gives it."""
        ...

    def update(self, changes: Mapping[str, str | None]) -> None:
        """Store several at once, all or none; None forgets one."""
        ...

    def names(self) -> Sequence[str]:
        """Every name there is."""
        ...
