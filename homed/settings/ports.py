"""What the settings need of the rooms around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


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

    def names(self) -> Sequence[str]:
        """Every name there is."""
        ...
