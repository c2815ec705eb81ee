"""The reports, loaded when somebody looks: most days nobody does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from homed.spend.gate import Gate
    from homed.spend.records import Whence
    from homed.spend.report import Reports, SettingsPort
    from homed.store.rows import Storage


@dataclass(frozen=True, slots=True)
class UsageOnDemand:
    """``report.Reports`` of what these hold; ``sources`` lists the sources there are."""

    gate: Gate
    store: Storage
    settings: SettingsPort
    sources: Callable[[], Sequence[Whence]]
    _one_change: trio.Lock = field(default_factory=trio.Lock, init=False)
    """All prices are one setting: two that are given at once are both kept."""

    def _reports(self) -> Reports:
        from homed.spend.report import Reports

        return Reports(self.gate, self.store, self.settings, self.sources)

    async def usage(self, days: int) -> Mapping[str, object]:
        """See ``Reports.usage``."""
        return await self._reports().usage(days)

    async def set_price(self, entry: Mapping[str, object]) -> None:
        """See ``Reports.set_price``."""
        async with self._one_change:
            await self._reports().set_price(entry)

    async def remove_price(self, source: str, model: str) -> None:
        """See ``Reports.remove_price``."""
        async with self._one_change:
            await self._reports().remove_price(source, model)
