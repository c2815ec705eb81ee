"""The console as one thing, made at its first use."""

from __future__ import annotations

from homed.jobs.console.changing import Changing
from homed.jobs.console.embedding import Embedding
from homed.jobs.console.ports import ConsolePorts
from homed.jobs.console.reading import Reading
from homed.jobs.console.stats import Stats


class Console:
    """What it is made of, by what it is used for."""

    def __init__(self, ports: ConsolePorts) -> None:
        self.reading = Reading(ports)
        self.changing = Changing(ports)
        self.stats = Stats(ports)
        self.embedding = Embedding(ports)
