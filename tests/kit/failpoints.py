"""Failpoints that do something: end the process, raise, or write down what was reached."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from homed.failpoints import NAMES


def _known(name: str) -> None:
    if name not in NAMES:
        raise ValueError(f"there is no failpoint {name!r}")


@dataclass
class Recorder:
    """Writes down every name in ``reached``, in order."""

    reached: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        """Write it down."""
        _known(name)
        self.reached.append(name)


@dataclass
class KillAt:
    """SIGKILLs this very process the ``nth`` time ``name`` is reached (1 is the first)."""

    name: str
    nth: int = 1

    def __post_init__(self) -> None:
        _known(self.name)

    def reach(self, name: str) -> None:
        """Kill, if this is the one."""
        _known(name)
        if name == self.name:
            self.nth -= 1
            if self.nth == 0:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class RaiseAt:
    """Raises ``error`` the ``nth`` time ``name`` is reached (1 is the first)."""

    name: str
    error: Exception
    nth: int = 1

    def __post_init__(self) -> None:
        _known(self.name)

    def reach(self, name: str) -> None:
        """Raise, if this is the one."""
        _known(name)
        if name == self.name:
            self.nth -= 1
            if self.nth == 0:
                raise self.error
