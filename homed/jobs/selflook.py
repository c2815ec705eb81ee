"""A running daemon's own look at itself: `doctor` with what only the daemon knows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import trio

from homed.errors import NotFound
from homed.loading import load

if TYPE_CHECKING:  # what looks is loaded when somebody asks
    from homed.jobs.checks import Check
    from homed.jobs.memcheck.ondemand import MemoryDoctor
    from homed.paths import Paths
    from homed.providers.registry import Sources
    from homed.redact import Redactor
    from homed.settings.registry import Settings
    from homed.store.db import Store


class Plugins(Protocol):
    """``homed.host.Host``, as far as it is used here."""

    @property
    def addresses(self) -> Mapping[str, tuple[str, str]]:
        """Plugin → (kind, address) that it announced."""
        ...

    def statuses(self) -> Sequence[Status]:
        """Every plugin."""
        ...


class Status(Protocol):
    """``homed.host.states.PluginStatus``."""

    def wire(self) -> dict[str, object]:
        """As ``admin.plugins`` shows it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfLook:
    """Answers ``admin.doctor``."""

    paths: Paths
    store: Store
    settings: Settings
    sources: Sources
    host: Plugins
    redactor: Redactor
    memory: MemoryDoctor
    one_deep: trio.Lock = field(default_factory=trio.Lock)

    async def examine(self, *, deep: bool = False) -> list[Check]:
        """Every check; see ``homed.jobs.doctor``.  Of deep looks one at a time: each reads all there is."""
        if not deep:
            return await self._examine(deep=False)
        async with self.one_deep:
            return await self._examine(deep=True)

    async def _examine(self, *, deep: bool) -> list[Check]:
        await load("homed.jobs.doctor")
        from homed.jobs import doctor
        from homed.jobs.checks import ok
        from homed.jobs.doctor import Patient
        from homed.settings.exposed import everywhere

        damage = self.store.damage
        patient = Patient(
            paths=self.paths, disk=self.store.disk, redact=self.redactor.redact, read=self.store.read,
            setting=self._setting, unclaimed=self.settings.unclaimed(), exposed=await everywhere(self.settings),
            plugins=[status.wire() for status in self.host.statuses()], damage=damage.message if damage else "",
            source=self.sources.current(), trial=self.sources.test,
            memory=self.memory.examine, running=True, daemon=[ok("daemon", f"pid {os.getpid()}"), self._socket()],
        )  # fmt: skip
        return await doctor.examine(patient, deep=deep)

    def _setting(self, key: str) -> object:
        try:
            return self.settings.get(key)
        except NotFound:
            return None

    def _socket(self) -> Check:
        from homed.jobs.checks import ok, warn

        places = [address for kind, address in self.host.addresses.values() if kind == "socket"]
        if not places:
            return warn("socket", "nobody listens for terminals", "Start the cli plugin: `homed plugin start cli`.")
        return ok("socket", ", ".join(places))
