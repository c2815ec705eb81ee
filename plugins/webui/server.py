"""Serving the application on a socket until told to close."""

from __future__ import annotations

import socket

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from quart_trio import QuartTrio

from .hub import Hub
from .listen import Certificate
from .websocket import LARGEST, PING

GRACE = 1.0
"""Seconds that requests under way get at the end."""
CLOSING = 3.0
"""Seconds after which the server is cancelled all the same; below the five that a plugin has to leave by itself."""


HANDSHAKE_SECONDS = 10.0
"""A TLS handshake has to be over by then."""
IDLE_SECONDS = 30
"""How long a connection may say nothing between requests, or take over the head of one."""


def _config(listening: socket.socket, certificate: Certificate | None) -> Config:
    config = Config()
    config.bind = [f"fd://{listening.detach()}"]  # Hypercorn owns it from here
    config.loglevel = "WARNING"
    config.graceful_timeout = GRACE
    config.keep_alive_timeout = IDLE_SECONDS
    config.ssl_handshake_timeout = HANDSHAKE_SECONDS
    config.websocket_max_message_size = LARGEST
    config.websocket_ping_interval = PING
    config.include_server_header = False
    if certificate is not None:
        config.certfile, config.keyfile = certificate.cert, certificate.key
    return config


async def serve_until_cancelled(
    app: QuartTrio, hub: Hub, listening: socket.socket, certificate: Certificate | None = None
) -> None:
    """Serve until cancelled; then end the streams, let requests finish for a moment, and go.

    Hypercorn ends well by its trigger only, so it is shielded from the cancellation, which pulls the trigger; the
    shield lasts `CLOSING` seconds at most.
    """
    closing = trio.Event()

    async def run() -> None:
        with trio.CancelScope(shield=True) as scope:

            async def told_to_close() -> None:
                await closing.wait()
                scope.deadline = trio.current_time() + CLOSING
                hub.close()

            await serve(app, _config(listening, certificate), shutdown_trigger=told_to_close)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        try:
            await trio.sleep_forever()
        finally:
            closing.set()
