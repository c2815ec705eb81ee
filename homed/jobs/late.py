"""Jobs that are there from the start, and loaded for the first run that has something to do.

What makes memories is a megabyte and more of code, which a daemon that nobody has talked to since its start can do
without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import trio

from homed.events import TURN, Notice
from homed.jobs.due import Interval
from homed.jobs.job import Job, Run
from homed.loading import load
from homed.store.rows import Storage

SETTLE = 1.0
"""Seconds after the end of a turn: what follows an answer comes first, and turns that end together are read in one
run."""


def wakes(notice: Notice) -> float | None:
    """The seconds after which a notice has the pass begin; None for one that is nothing to it."""
    return SETTLE if notice.type == TURN and notice.data.get("phase") == "end" else None


@dataclass(frozen=True, slots=True)
class Late:
    """A job as it is planned: the same as the job itself says, once it is loaded.

    ``every``: seconds.  ``owed``: SQL, 0 while there is certainly nothing for it to do; quick however much there is.
    """

    name: str
    every: float
    owed: str
    heavy: bool = True
    wakes: Callable[[Notice], float | None] | None = None


PASS = Late("pass", 3600.0, "SELECT EXISTS (SELECT 1 FROM passes)", wakes=wakes)
DISTIL = Late(
    "distil", 3600.0, "SELECT EXISTS (SELECT 1 FROM events INDEXED BY events_cooling WHERE layer = 'cold')"
)  # fmt: skip
RULES = Late(
    "rules", 600.0,
    "SELECT EXISTS (SELECT 1 FROM events INDEXED BY events_uncovered"
    " WHERE pass = '' AND no_memory = 0 AND kind = 'user')",
    heavy=False,
)  # fmt: skip
MERGE = Late("merge", 7200.0, "SELECT EXISTS (SELECT 1 FROM records WHERE record = 'fact')")
SEE = Late("see", 300.0, "SELECT EXISTS (SELECT 1 FROM blocks WHERE seen = 'waiting')")

MEMORY = (PASS, DISTIL, RULES, MERGE)
"""Those that make memories and tidy them."""


class Shelf:
    """Jobs that are made together of one ``module``, by ``make``, when the first of them has something to do."""

    def __init__(self, store: Storage, module: str, make: Callable[[], Mapping[str, Job]]) -> None:
        self._store = store
        self._module = module
        self._make = make
        self._made: Mapping[str, Job] | None = None
        self._making = trio.Lock()

    def job(self, late: Late) -> Job:
        """The job, as long as it is planned; its work is that of the job itself."""
        return Job(
            late.name, lambda: Interval(late.every), lambda run: self._work(late, run), heavy=late.heavy,
            wakes=late.wakes,
        )  # fmt: skip

    async def _work(self, late: Late, run: Run) -> None:
        if self._made is None and not await self._store.read(lambda tx: tx.value(late.owed)):
            return
        async with self._making:
            if self._made is None:
                await load(self._module)
                self._made = self._make()
        await self._made[late.name].work(run)
