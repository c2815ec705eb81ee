"""Settings and changes of them, as people are told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from homed.config.definitions import Definition

MASK = "••••••••"
"""Shown in place of a password that is set."""


class Applied(StrEnum):
    """When a change takes effect."""

    NOW = "now"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting for people.  A password's ``value`` is masked; ``source``: default, stored, file, env or flag.

    ``place``: where it is given from outside.
    """

    key: str
    value: object
    source: str
    definition: Definition
    place: str = ""

    @property
    def masked(self) -> bool:
        """True when ``value`` is not the real one."""
        return self.definition.secret
