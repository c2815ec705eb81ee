"""Changes of plugins go on in a task of the host's own, whatever becomes of whoever asked."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from homed.errors import HomedError

_log = logging.getLogger(__name__)


async def apart(nursery: trio.Nursery, change: Callable[[], Awaitable[None]]) -> None:
    """Run ``change`` in ``nursery`` and wait for its end; cancelled, it goes on there.

    What it raises is raised here and never in the nursery, where every plugin lives.
    """
    done, failures = trio.Event(), list[Exception]()

    async def run() -> None:
        try:
            await change()
        except Exception as error:  # noqa: BLE001 - raised below, where it was asked for
            if not isinstance(error, HomedError):
                _log.exception("a change of plugins failed")
            failures.append(error)
        finally:
            done.set()

    nursery.start_soon(run)
    await done.wait()
    if failures:
        raise failures[0]
