"""Listens while the plugin runs, and hands every notice of the kernel to the clients."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import trio

from homed import sdk
from homed.sdk.clients import Clients

from .door import listening
from .service import serve


def socket_of(kernel: sdk.Kernel) -> Path:
    """Where to listen: the setting ``socket``, which homed fills in; without it, in the plugin's own folder."""
    path = kernel.settings.get("socket")
    return Path(path) if isinstance(path, str) and path else kernel.data_dir / "cli.sock"


class Cli:
    """The running plugin: at most one listener, and its clients."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._listener: trio.SocketListener | None = None
        self._clients: Clients | None = None

    async def start(self, kernel: sdk.Kernel) -> None:
        """Listen, so that whoever sees this plugin ready can connect.  Raises ConfigError with what to do."""
        self._listener = self._open.enter_context(listening(socket_of(kernel)))

    async def run(self, kernel: sdk.Kernel) -> None:
        """Serve until the plugin stops; the socket's file is gone afterwards."""
        with self._open:
            assert self._listener is not None  # the plugin starts before it runs
            self._clients = Clients(kernel)
            self._clients.begin(await kernel.subscribe())
            await kernel.announce("socket", str(socket_of(kernel)))
            await serve(self._clients, self._listener)

    async def hear(self, notice: sdk.Notice) -> None:
        """Pass a notice on.  Async, so that it runs beside the clients' tasks and not in a thread."""
        if self._clients is not None:
            self._clients.offer(asdict(notice))

    async def lose(self, count: int) -> None:
        """Pass on that notices were lost."""
        if self._clients is not None:
            self._clients.lose(count)

    async def passed(self, seq: int) -> None:
        """Pass on how far the notices went that did not come."""
        if self._clients is not None:
            self._clients.reach(seq)


def build() -> sdk.Plugin:
    """The plugin, with a state of its own."""
    made, cli = sdk.Plugin("cli"), Cli()
    made.input("cli")
    made.on_start(cli.start)
    made.main(cli.run)
    made.on("event")(cli.hear)
    made.on("lost")(cli.lose)
    made.on("passed")(cli.passed)
    return made


plugin = build()
