"""Ask → bounded wait → SIGTERM → bounded wait → SIGKILL: the one way to end a child."""

from __future__ import annotations

import logging
import signal
from collections.abc import Awaitable, Callable

import trio

from homed.errors import HomedError
from homed.proc.spawn import Child, Exit

_log = logging.getLogger(__name__)

GRACE = 5.0
TERM = 2.0


async def stop_ladder(
    child: Child, *, ask: Callable[[], Awaitable[None]], grace: float = GRACE, term: float = TERM
) -> Exit:
    """End ``child`` and return how it ended.

    ``ask`` says please in the child's own way (and closes its stdin); it has ``grace`` seconds in all, ``term`` more
    after SIGTERM to its group, then SIGKILL.  Keep draining its pipes meanwhile, or it may block on a full one.  When
    cancelled the child is still there, and ``spawn`` kills it on leaving.
    """
    with trio.move_on_after(grace):
        await _ask(ask)
        return await child.wait()
    child.signal_group(signal.SIGTERM)
    with trio.move_on_after(term):
        return await child.wait()
    child.signal_group(signal.SIGKILL)
    return await child.wait()


async def _ask(ask: Callable[[], Awaitable[None]]) -> None:
    """A child that cannot even be asked (broken pipe, protocol) still gets its time: it may be leaving already."""
    try:
        await ask()
    except (HomedError, trio.BrokenResourceError, trio.ClosedResourceError, OSError) as error:
        _log.debug("child could not be asked to stop: %s", error)
