"""Settings by their type, for those who read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

# the methods below are named after the types, which hides these names in the signatures of the class
_Int = int
_Float = float
_Str = str
_Bool = bool


class Typed(ABC):
    """What has values by key, and says so where one is not of the type that is asked for."""

    @abstractmethod
    def get(self, key: _Str) -> Any:
        """The value in force.  ``NotFound`` for a key that nothing defines."""
        ...

    def int(self, key: _Str) -> _Int:
        """The value of a whole-number setting."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} is not a whole number")
        return value

    def float(self, key: _Str) -> _Float:
        """The value of a number or duration setting, durations in seconds."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is not a number")
        return float(value)

    def str(self, key: _Str) -> _Str:
        """The value of a text setting."""
        value = self.get(key)
        if not isinstance(value, str):
            raise TypeError(f"{key} is not a text")
        return value

    def bool(self, key: _Str) -> _Bool:
        """The value of a yes-or-no setting."""
        value = self.get(key)
        if not isinstance(value, bool):
            raise TypeError(f"{key} is not yes or no")
        return value
