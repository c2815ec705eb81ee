"""What the methods about settings need of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from homed.settings.history import SnapshotView
from homed.settings.thresholds import NOT_SAID, Because, ThresholdView
from homed.settings.views import Applied, SettingView


class SettingsPort(Protocol):
    """``homed.settings.Settings``."""

    def get(self, key: str) -> object:
        """The value in force."""
        ...

    def view(self, key: str) -> SettingView:
        """As it may be shown."""
        ...

    def list_(self, prefix: str = "", *, hidden: bool = False) -> Sequence[SettingView]:
        """Those whose key begins with ``prefix``."""
        ...

    async def set(self, key: str, value: object) -> Applied:
        """Check and store."""
        ...

    async def change(self, changes: Mapping[str, object], *, why: Because = NOT_SAID) -> Applied:
        """The same for several, all or none; None takes a value out.  ``why``: thresholds need it."""
        ...

    async def thresholds(self) -> Sequence[ThresholdView]:
        """Each threshold: its value, the failure it prevents, and how it came to be what it is."""
        ...

    async def refresh(self) -> None:
        """Look again at what people may have edited beside the database."""
        ...

    async def snapshots(self) -> Sequence[SnapshotView]:
        """What the settings of the models were before each change, newest first."""
        ...

    async def rollback(self, id_: int) -> Sequence[str]:
        """Bring them back as they were; what could not be; NotFound."""
        ...
