"""What identity needs of the rooms around it."""

from __future__ import annotations

from typing import Protocol

# the methods hide the names of the types in the signatures of the class
_Str = str
_Int = int
_Float = float


class LoginSettings(Protocol):
    """``homed.settings.Settings``, as far as it is used here."""

    def str(self, key: _Str) -> _Str:
        """The value of a text setting."""
        ...

    def int(self, key: _Str) -> _Int:
        """The value of a whole-number setting."""
        ...

    def float(self, key: _Str) -> _Float:
        """The value of a number or duration setting, durations in seconds."""
        ...
