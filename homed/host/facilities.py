"""Facilities: what the kernel offers once it is up, and who waits for which.

A facility is a one-shot event: it is coming, then up for good.  Until then it may fail, and be mended; one that no room
of this homed provides is absent.  The order in which they come up is found at build time (``homed.facilities``); here
nothing is sorted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import trio

from homed.errors import HomedError
from homed.failpoints import Failpoints, NoFailpoints
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
    """The facilities of one run.  Sync but for ``wait`` and ``mended``; ``up`` and ``fail`` are for who makes them."""

    def __init__(self, order: Sequence[Provider], failpoints: Failpoints | None = None) -> None:
        self._needs = {provider.facility: provider.needs for provider in order}
        self._failpoints = failpoints or NoFailpoints()
        self._reasons: dict[str, str] = {}
        self._ups: dict[str, None] = {}
        self._changed = trio.Event()

    @classmethod
    def standing(cls, names: Iterable[str] = FACILITIES) -> Self:
        """All of these up from the beginning: for whoever hosts plugins without a kernel."""
        made = cls([Provider(name, "") for name in names])
        made._ups = dict.fromkeys(made._needs)
        return made

    def up(self, *names: str) -> None:
        """They are up, for good, whatever was said before: whoever waits for them goes on."""
        for name in names:
            self._up(name)

    def _up(self, name: str) -> None:
        self._known(name)
        try:
            self._failpoints.reach(f"facility.{name}")
        except HomedError as error:
            self.fail(name, error.message)
            return
        self._reasons.pop(name, None)
        self._ups[name] = None
        self._wake()

    def fail(self, name: str, reason: str) -> None:
        """It does not come up, and so neither does what needs it; one that is up already stays so."""
        self._known(name)
        if name in self._ups:
            return
        _log.error("%s is not available: %s", name, reason)
        self._reasons[name] = reason.rstrip(".")
        self._wake()

    def state(self, name: str) -> Standing:
        """Where it stands; a name that nobody provides is absent."""
        if name not in self._needs:
            return Standing.ABSENT
        if self._culprit(name):
            return Standing.FAILED
        return Standing.UP if name in self._ups else Standing.COMING

    def waiting(self, names: Iterable[str]) -> list[str]:
        """Those of ``names`` that are still coming, in the order given."""
        return [name for name in names if self.state(name) is Standing.COMING]

    def blocked(self, names: Iterable[str]) -> str:
        """``blocked on X: reason`` with the first of ``names`` that is absent or failed, else ''.

        X is where it began: a plugin that needs ``tools``, which needs ``store``, is blocked on store.
        """
        for name in names:
            if name not in self._needs:
                return f"blocked on {name}: {_NOBODY}"
            if culprit := self._culprit(name):
                return f"blocked on {culprit}: {self._reasons[culprit]}"
        return ""

    async def wait(self, names: Sequence[str]) -> str:
        """Wait until all are up: ''.  The moment one of them is absent or failed, the words of `blocked`."""
        await trio.lowlevel.checkpoint()
        while not (why := self.blocked(names)) and self.waiting(names):
            await self._changed.wait()
        return why

    async def mended(self, names: Sequence[str]) -> None:
        """Wait until none of ``names`` is failed any more; for an absent one that is never."""
        await trio.lowlevel.checkpoint()
        while self.blocked(names):
            await self._changed.wait()

    @property
    def ups(self) -> tuple[str, ...]:
        """What came up, in the order it did."""
        return tuple(self._ups)

    def _culprit(self, name: str) -> str:
        """The failed one that keeps ``name`` down, itself or one it needs; '' if there is none."""
        if name in self._reasons:
            return name
        return next(filter(None, map(self._culprit, self._needs.get(name, ()))), "")

    def _known(self, name: str) -> None:
        if name not in self._needs:
            raise ValueError(f"{name} is no facility of this run")

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
