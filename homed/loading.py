"""Modules that are loaded when they are first needed, so that a start need not wait for them."""

from __future__ import annotations

import sys
from importlib import import_module

import trio


async def load(module: str) -> None:
    """Have a module loaded, in a thread: it may take a tenth of a second that nobody else should wait for.

    One that is there already costs no thread.  Raises what importing it raises; a cancellation waits for the thread.
    """
    there = sys.modules.get(module)
    if there is None or getattr(there.__spec__, "_initializing", False):  # somebody else may be in the middle of it
        await trio.to_thread.run_sync(import_module, module)
