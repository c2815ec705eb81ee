"""The adapter scripts of a data folder, before anybody needs them: nothing of this room is loaded until then."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from homed.errors import HomedError, Unavailable
from homed.providers.local.models import LocalPorts

if TYPE_CHECKING:
    from homed.providers.lua.scripts import Scripts

log = logging.getLogger(__name__)

FOLDER = "adapters"
"""Where they are in the data folder."""


class LazyScripts:
    """``start`` runs a task for as long as the sources are open.  Without ``local`` there is no data folder."""

    def __init__(self, local: LocalPorts | None, start: Callable[[Callable[[], Any]], None]) -> None:
        self._local = local
        self._start = start
        self._scripts: Scripts | None = None

    def get(self) -> Scripts:
        """The scripts; raises Unavailable where there is no data folder."""
        local = self.needed()
        if self._scripts is None:
            from homed.providers.lua.scripts import LuaPorts, Scripts

            data, run = local.data, local.run.with_name("adapters")
            self._scripts = Scripts(LuaPorts(data / FOLDER, run, local.env, _family(data)), self._start)
        return self._scripts

    def needed(self) -> LocalPorts:
        """Where they are; raises Unavailable where there is no data folder.  Loads nothing."""
        if self._local is None:
            raise Unavailable("Adapter scripts run only inside homed.")
        return self._local

    async def put_in_place(self, hold: Callable[[], Awaitable[None]]) -> None:
        """Once ``hold`` returns, put the scripts that come along into the data folder, where people look for them."""
        from homed.providers.lua.shelf import Shelf

        assert self._local is not None
        await hold()
        try:
            await trio.to_thread.run_sync(Shelf(self._local.data / FOLDER).refresh)
        except HomedError as error:  # whoever uses one will be told; nothing else needs them
            log.warning("%s", error)


def _family(data: Path) -> str:
    return f"{hashlib.sha256(str(data.resolve()).encode()).hexdigest()[:8]}-adapter"
