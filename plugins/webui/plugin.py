"""The plugin: opens its socket at start, serves the page while it runs, and passes every notice to the hub."""

from __future__ import annotations

import socket
from dataclasses import asdict

import trio

from homed import sdk
from homed.sdk.clients import Clients

from .context import Site
from .guard import Guard
from .hub import Hub
from .listen import Address, Certificate, certificate, check, open_socket, parse
from .server import serve_until_cancelled
from .web import create_app


class Page:
    """One run of the page."""

    def __init__(self) -> None:
        self._hub = Hub()
        self._address = Address("127.0.0.1", 0)
        self._socket: socket.socket | None = None
        self._certificate: Certificate | None = None
        self._clients: Clients | None = None

    async def start(self, kernel: sdk.Kernel) -> None:
        """Open the socket.  Raises ConfigError, which a person sees as the reason why this plugin does not run."""
        address = parse(str(kernel.settings["listen"]))
        if not address.loopback:  # a page for this machine alone need not wait for the kernel to be loaded
            state = await kernel.call("auth.state", {})
            check(address, password_set=bool(state["password_set"]))
        settings = kernel.settings
        self._certificate = certificate(str(settings.get("tls_cert") or ""), str(settings.get("tls_key") or ""))
        self._socket = open_socket(address)
        self._address = Address(address.host, self._socket.getsockname()[1])

    def close(self) -> None:
        """Close the socket of a page that was started and never served."""
        if self._socket is not None:
            self._socket.close()

    async def serve(self, kernel: sdk.Kernel) -> None:
        """Serve until cancelled."""
        if self._socket is None:
            raise RuntimeError("served before it was started")
        hosts = kernel.settings.get("hosts") or []
        names = [str(name) for name in hosts] if isinstance(hosts, list | tuple) else []
        guard = Guard.of(wide=not self._address.loopback, names=[*names, self._address.host])
        site = Site.build(kernel, self._hub, guard, port=self._address.port, folder=kernel.data_dir / "packages")
        self._clients = Clients(kernel)
        app = create_app(site, self._clients)
        seq = await kernel.subscribe(content=True)
        self._hub.begin(seq)
        self._clients.begin(seq)
        await kernel.announce("url", self._address.url(encrypted=self._certificate is not None))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(site.schemas.asked)  # slow to load: beside the first page, before the first answer
            await serve_until_cancelled(app, self._hub, self._socket, self._certificate)

    async def notice(self, notice: sdk.Notice) -> None:
        """Pass a notice on."""
        self._hub.publish(notice)
        if self._clients is not None:
            self._clients.offer(asdict(notice))

    async def lost(self, count: int) -> None:
        """The kernel dropped notices that this process was too slow for."""
        if count:
            self._hub.lost(count)
            if self._clients is not None:
                self._clients.lose(count)

    async def passed(self, seq: int) -> None:
        """Nothing more comes up to this notice."""
        if self._clients is not None:
            self._clients.reach(seq)


def build() -> sdk.Plugin:
    """The plugin with a page of its own."""
    made, page = sdk.Plugin("webui"), Page()
    made.input("webui")
    made.on_start(page.start)
    made.main(page.serve)
    made.on("event")(page.notice)
    made.on("lost")(page.lost)
    made.on("passed")(page.passed)
    return made


plugin = build()
