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

    def stage(self, change: str, secrets: Mapping[str, str | None]) -> None:
        """Write down what is to become of several when ``change`` turns out to be made; none is changed yet."""
        ...

    def staged(self) -> str:
        """The change that they wait for; "" if none do."""
        ...

    def adopt(self) -> None:
        """That change was made: they hold from now on.  Does not block."""
        ...

    def drop(self) -> None:
        """It was not.  Does not block."""
        ...

    def tidy(self) -> None:
        """Bring the file to what holds."""
        ...

    def names(self) -> Sequence[str]:
        """Every name there is."""
        ...
