"""What identity needs of the rooms around it."""

from __future__ import annotations

from typing import Protocol


class TextSettings(Protocol):
    """``homed.settings.Settings``, as far as it is used here."""

    def str(self, key: str) -> str:
        """The value of a text setting."""
        ...
