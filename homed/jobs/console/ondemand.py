"""The console, loaded when memory is looked at: most starts never do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homed.jobs.console.console import Console
    from homed.jobs.console.ports import ConsolePorts


@dataclass(slots=True)
class ConsoleOnDemand:
    """Makes the ``Console`` at its first use."""

    ports: Callable[[], ConsolePorts]
    made: Console | None = None

    def __call__(self) -> Console:
        """The one there is."""
        if self.made is None:
            from homed.jobs.console.console import Console

            self.made = Console(self.ports())
        return self.made
