"""``sdk.run``: from a bare process to a plugin at work."""

from __future__ import annotations

import fcntl
import io
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping

import trio

from homed.errors import ConfigError
from homed.sdk.areas import Areas, take_areas
from homed.sdk.guard import Guard
from homed.sdk.plugin import Plugin
from homed.sdk.process import own_mark
from homed.sdk.ring import RingFds, take_rings
from homed.sdk.runtime import serve

_PRIVATE = 10
"""The wires move to file descriptors from here on, out of the way of whatever counts on low ones."""

DESCRIBE = "--describe"
"""The argument that makes a plugin print what its decorators declare (as JSON) instead of running."""


def run(plugin: Plugin) -> None:
    """Run the plugin until the kernel stops it or goes; the last line of ``__main__.py``.

    First the wires on stdin and stdout become private, so that neither a ``print`` nor a program started here can speak
    on them; both go to stderr, the plugin's log.
    """
    if sys.argv[1:] == [DESCRIBE]:
        _describe(plugin)
        return
    if os.isatty(0):
        sys.stderr.write(f"This is {plugin.name}, a plugin: homed starts it.  See `python -m homed.sdk --help`.\n")
        raise SystemExit(2)
    source, sink = take_wires()
    rings, areas = take_rings(os.environ), take_areas(os.environ)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    guard = Guard(own_mark())
    guard.watch_parent()
    try:
        trio.run(_main, plugin, (source, sink), rings, areas, guard)
    finally:
        guard.sweep()


def _describe(plugin: Plugin) -> None:
    from homed.sdk.pack import describe_json  # no running plugin needs it

    try:
        sys.stdout.write(describe_json(plugin))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(1) from None


def take_wires() -> tuple[int, int]:
    """Move stdin and stdout to private close-on-exec descriptors; leave /dev/null and stderr in their places."""
    source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _PRIVATE)
    sink = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _PRIVATE)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if null != 0:
        os.close(null)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # what is printed stands in the log at once, whatever started the process and how
        sys.stdout.reconfigure(line_buffering=True)
    return source, sink


async def _main(
    plugin: Plugin, wires: tuple[int, int], rings: Mapping[str, RingFds], areas: Areas, guard: Guard
) -> None:
    receive, send = _Wire(wires[0], guard.arm), trio.lowlevel.FdStream(wires[1])
    async with trio.open_nursery() as nursery:
        await nursery.start(_leave_on_sigterm, nursery.cancel_scope, guard)
        await serve(plugin, receive, send, rings, areas)
        nursery.cancel_scope.cancel()


async def _leave_on_sigterm(
    everything: trio.CancelScope, guard: Guard, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            guard.arm()
            everything.cancel()


class _Wire(trio.abc.ReceiveStream):
    """Stdin, which says at once when the kernel has closed it."""

    def __init__(self, fd: int, on_end: Callable[[], None]) -> None:
        self._stream = trio.lowlevel.FdStream(fd)
        self._on_end = on_end

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = bytes(await self._stream.receive_some(max_bytes))
        if not data:
            self._on_end()
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()
