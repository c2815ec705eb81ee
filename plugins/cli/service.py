"""The socket's side of serving clients: who they are is what the operating system says."""

from __future__ import annotations

from contextlib import suppress

import trio

from homed.errors import Unavailable
from homed.sdk.clients import Clients, Person

from .peers import OWNER, peer_of, uid_of


def person_of(stream: trio.SocketStream) -> Person:
    """Who is at the other end of a connection."""
    peer = peer_of(uid_of(stream.socket))
    return Person(peer, owner=peer == OWNER)


async def serve(clients: Clients, listener: trio.SocketListener) -> None:
    """Serve everybody who connects, for ever; one client too many is hung up on."""

    async def serve_one(stream: trio.SocketStream) -> None:
        with suppress(Unavailable), clients.join(person_of(stream)) as client:
            await client.converse(stream)

    await trio.serve_listeners(serve_one, [listener])
