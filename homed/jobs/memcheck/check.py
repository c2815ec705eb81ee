"""What a check is, and the kind most of them are of: rows of a table, and what must hold of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.jobs.memcheck import findings
from homed.jobs.memcheck.findings import Status, said
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Found, Rows, walk
from homed.store.rows import Row, Tx

PORTION = 100
"""Rows mended with one transaction."""

ROUNDS = 1_000
"""Times that a repair looks again at the most: each mends up to ``rows.MOST``."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a check saw.  ``keys``: what its own ``mend`` needs to find the rows again."""

    status: Status
    evidence: str
    fix: str = ""
    read: int = 0
    wrong: int = 0
    ids: tuple[str, ...] = ()
    keys: Sequence[tuple[int | str, ...]] = ()


class Check(Protocol):
    """One check of the registry."""

    @property
    def id(self) -> str:
        """Its id, for good: pages and tests know it."""
        ...

    @property
    def name(self) -> str:
        """What it is about, in English."""
        ...

    @property
    def deep(self) -> bool:
        """Only a deep look makes it."""
        ...

    @property
    def repairable(self) -> bool:
        """Whether ``mend`` does anything."""
        ...

    async def look(self, room: Room) -> Look:
        """Read, and say what is found.  Raises HomedError where it cannot be made.  Changes nothing."""
        ...

    async def mend(self, room: Room, look: Look) -> int:
        """Put right what can be put right without losing what a person said; how many."""
        ...


@dataclass(frozen=True, slots=True)
class Unmended:
    """What a check has that nothing mends: what it finds, a person decides."""

    deep: bool = False
    repairable: bool = False

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        del room, look
        await trio.lowlevel.checkpoint()
        return 0


Fix = Callable[[Tx, Sequence[Row], Room], int]
"""Mends these rows (``Rows.columns``), wrong as this transaction sees them; how many.  One transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """``what`` the rows are and the ``fault`` of a wrong one, as words of ours; ``cure``: mends some.

    ``rows``: also a function of the room, where they depend on the time or on what is in use.
    """

    id: str
    name: str
    what: str
    fault: str
    fix: str
    rows: Rows | Callable[[Room], Rows]
    status: Status = Status.FAIL
    cure: Fix | None = None
    deep: bool = False

    @property
    def repairable(self) -> bool:
        """See ``Check``."""
        return self.cure is not None

    def meant(self, room: Room) -> Rows:
        """The rows."""
        return self.rows if isinstance(self.rows, Rows) else self.rows(room)

    async def look(self, room: Room) -> Look:
        """See ``Check``."""
        return judged(await walk(room, self.meant(room)), self.what, self.fault, self.fix, self.status)

    async def mend(self, room: Room, look: Look) -> int:
        """See ``Check``."""
        cure, count, rows = self.cure, 0, self.meant(room)
        assert cure is not None
        for start in range(0, len(look.keys), PORTION):
            some = look.keys[start : start + PORTION]
            count += await written(room, lambda tx, some=some: cure(tx, rows.again(tx, some), room))  # type: ignore[misc]
        return count


async def written(room: Room, work: Callable[[Tx], int]) -> int:
    """Mend something in a transaction of its own: whole, or not at all."""

    def write(tx: Tx) -> int:
        count = work(tx)
        room.failpoints.reach("doctor.mending")
        return count

    count = await room.store.write(write)
    room.failpoints.reach("doctor.mended")
    return count


def judged(found: Found, what: str, fault: str, fix: str, status: Status = Status.FAIL) -> Look:
    """What to say of rows that were walked through."""
    if not found.read:
        return Look(Status.PASS, said(findings.EMPTY, what=what))
    some = found.read < found.all
    if not found.wrong:
        template = findings.PASSED_SOME if some else findings.PASSED
        return Look(Status.PASS, said(template, n=found.read, all=found.all, what=what), read=found.read)
    template = findings.WRONG_SOME if some else findings.WRONG
    evidence = said(template, n=found.read, all=found.all, what=what, count=found.wrong, fault=fault)
    ids = tuple(dict.fromkeys(found.ids))
    return Look(status, evidence, fix, found.read, found.wrong, ids, found.keys)
