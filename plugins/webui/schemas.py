"""The models of what is asked and answered, brought in when first needed: slow to load, and no page needs them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import trio

ASKED = f"{__package__}.asked"
OTHERS = (f"{__package__}.asked_memory", f"{__package__}.asked_v1")
DOCUMENT = f"{__package__}.openapi"


class Schemas:
    """Loads the modules in a thread, so that the page goes on answering."""

    def __init__(self) -> None:
        self._lock = trio.Lock()
        self._document: Any = None

    async def asked(self) -> ModuleType:
        """The module of what may be asked (``asked.py``).  Cancellation waits for the loading."""
        return await self._module(ASKED)

    async def model(self, name: str) -> Any:
        """A model of what may be asked, by its name."""
        found = getattr(await self.asked(), name, None)
        for module in OTHERS:
            found = found or getattr(await self._module(module), name, None)
        if found is None:
            raise LookupError(name)
        return found

    async def document(self) -> Any:
        """The OpenAPI document, made once."""
        module = await self._module(DOCUMENT)
        async with self._lock:
            if self._document is None:
                self._document = await trio.to_thread.run_sync(module.document)
        return self._document

    async def _module(self, name: str) -> ModuleType:
        if name in sys.modules and not self._lock.locked():
            return sys.modules[name]
        async with self._lock:
            return await trio.to_thread.run_sync(importlib.import_module, name)
