"""Facilities: what the kernel offers once it is up, and who waits for which.

A facility is a one-shot event: it is coming, then up or failed; one that no room of this homed provides is absent.  The
order in which they come up is found at build time (``homed.facilities``); here nothing is sorted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import trio

from homed.wire.facilities import FACILITIES

_log = logging.getLogger(__name__)

_NOBODY = "this homed has none"
"""Why a plugin that needs an absent facility is blocked."""


class Standing(StrEnum):
    """Where a facility stands."""

    COMING = "coming"
    UP = "up"
    FAILED = "failed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Provider:
    """A facility, the kernel module that provides it, and the facilities which that needs first.

    A ``slow`` one comes up beside the others, in a task of its own.
    """

    facility: str
    module: str
    needs: tuple[str, ...] = ()
    slow: bool = False


class Facilities:
    """The facilities of one run.  Sync but for ``wait``; ``up`` and ``fail`` are the composition root's to call."""

    def __init__(self, order: Sequence[Provider]) -> None:
        self._needs = {provider.facility: provider.needs for provider in order}
        self._standing = {name: Standing.COMING for name in self._needs}
        self._reasons: dict[str, str] = {}
        self._ups: list[str] = []
        self._changed = trio.Event()

    @classmethod
    def standing(cls, names: Iterable[str] = FACILITIES) -> Self:
        """All of these up from the beginning: for whoever hosts plugins without a kernel."""
        made = cls([Provider(name, "") for name in sorted(names)])
        for name in sorted(names):
            made.up(name)
        return made

    def up(self, name: str) -> None:
        """It is up: whoever waits for it goes on.  Its first word counts: after a failure this does nothing."""
        if self._standing[name] is not Standing.COMING:
            return
        self._standing[name] = Standing.UP
        self._ups.append(name)
        self._wake()

    def fail(self, name: str, reason: str) -> None:
        """It will not come up, and so neither will what needs it.  ``reason`` is a clause without a full stop."""
        if self._standing[name] is not Standing.COMING:
            return
        _log.error("%s is not available: %s", name, reason)
        self._fail(name, f"{name}: {reason}")
        self._wake()

    def state(self, name: str) -> Standing:
        """Where it stands; a name that nobody provides is absent."""
        return self._standing.get(name, Standing.ABSENT)

    def waiting(self, names: Iterable[str]) -> list[str]:
        """Those of ``names`` that are still coming, in the order given."""
        return [name for name in names if self.state(name) is Standing.COMING]

    def blocked(self, names: Iterable[str]) -> str:
        """``blocked on X: reason`` with the first of ``names`` that will not come up, else ''.

        X is where it began: a plugin that needs ``tools``, which needs ``store``, is blocked on store.
        """
        for name in names:
            if (state := self.state(name)) is Standing.ABSENT:
                return f"blocked on {name}: {_NOBODY}"
            if state is Standing.FAILED:
                return f"blocked on {self._reasons[name]}"
        return ""

    async def wait(self, names: Sequence[str]) -> str:
        """Wait until all are up: ''.  The moment one of them will not come up, the words of `blocked`."""
        await trio.lowlevel.checkpoint()
        while not (why := self.blocked(names)) and self.waiting(names):
            await self._changed.wait()
        return why

    @property
    def ups(self) -> tuple[str, ...]:
        """What came up, in the order it did."""
        return tuple(self._ups)

    def _fail(self, name: str, reason: str) -> None:
        self._standing[name] = Standing.FAILED
        self._reasons[name] = reason
        for other, needs in self._needs.items():
            if name in needs and self._standing[other] is Standing.COMING:
                self._fail(other, reason)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
