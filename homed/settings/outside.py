"""Values given from outside the database: they are stronger than what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homed.config.definitions import Definition
from homed.config.environment import Override, unknown_key
from homed.errors import Conflict


class Outside:
    """Overrides by key, and the checked values of those whose definition is known."""

    def __init__(self) -> None:
        self._overrides: dict[str, Override] = {}
        self._values: dict[str, object] = {}
        self._live: set[str] = set()

    def begin(self, overrides: Mapping[str, Override]) -> None:
        """What was given at start."""
        self._overrides = dict(overrides)

    def fitting(self, definitions: Mapping[str, Definition]) -> dict[str, object]:
        """Values for these definitions; ``ConfigError`` naming the place of one that does not fit."""
        return {key: self._overrides[key].checked(definitions[key]) for key in definitions if key in self._overrides}

    def take(self, values: Mapping[str, object]) -> None:
        """They hold from now on."""
        self._values.update(values)

    def drop(self, key: str) -> None:
        """Its definition is gone."""
        self._values.pop(key, None)

    def holds(self, key: str) -> bool:
        """Whether it decides the value of a key."""
        return key in self._values

    def value(self, key: str) -> object:
        """The value of a key that it decides."""
        return self._values[key]

    def values(self) -> Iterable[tuple[str, object]]:
        """Every value that holds."""
        return list(self._values.items())

    def source(self, key: str) -> str:
        """file, env or flag."""
        return self._overrides[key].source

    def place(self, key: str) -> str:
        """Where it is given; empty where it is not."""
        return self._overrides[key].place if key in self._values else ""

    def refuse(self, key: str) -> None:
        """``Conflict`` if the key is given from outside, so that no stored value counts."""
        if key in self._overrides:
            raise Conflict(
                f"{key} is given by {self._overrides[key].place}, which is stronger than a stored value.",
                hint="Change it there, or remove it there first.",
            )

    def unclaimed(self, known: Mapping[str, Definition]) -> list[str]:
        """One sentence for each override that nothing defines."""
        return [str(unknown_key(override, known)) for key, override in self._overrides.items() if key not in known]

    def give(self, override: Override, definition: Definition) -> bool:
        """Take one on while it runs, or another value of one; False if what was given at start is stronger."""
        key = override.key
        if key in self._overrides and key not in self._live:
            return False
        self._values[key] = override.checked(definition)
        self._overrides[key] = override
        self._live.add(key)
        return True

    def withdraw(self, key: str) -> bool:
        """What `give` took on is there no more; False if there was nothing."""
        if key not in self._live:
            return False
        self._live.discard(key)
        del self._overrides[key], self._values[key]
        return True
