"""``admin.*``: status, plugins and login links, for owners."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.door import PAGE
from homed.api.method import Method, PeerCall, PeerParams, administrative
from homed.errors import Unavailable


class Named(PeerParams):
    """A method on one plugin."""

    name: str = Field(min_length=1, max_length=128)


class Logs(Named):
    """``admin.plugin_logs``"""

    limit: int = Field(default=200, ge=1, le=2000)


async def status(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """How the daemon is doing."""
    return await call.ports.status.status()


class Told(PeerParams):
    """``admin.interrupt``"""

    text: str = Field(min_length=1, max_length=64 * 1024)


def threads(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """What runs, stands still and waits in every conversation."""
    return call.ports.conversations.dump()


async def interrupt(call: PeerCall[Told]) -> Mapping[str, object]:
    """A word of the owner's to everything that works now."""
    return {"threads": await call.ports.conversations.signal_all(call.params.text)}


def plugins(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Every plugin and its state."""
    return {"plugins": [one.wire() for one in call.ports.host.statuses()]}


async def plugin_start(call: PeerCall[Named]) -> Mapping[str, object]:
    """Start a plugin; its history of crashes is forgotten."""
    return (await call.ports.host.start(call.params.name)).wire()


async def plugin_stop(call: PeerCall[Named]) -> Mapping[str, object]:
    """Stop a plugin until a person starts it."""
    return (await call.ports.host.stop(call.params.name)).wire()


def plugin_logs(call: PeerCall[Logs]) -> Mapping[str, object]:
    """The last lines a plugin wrote."""
    return {"lines": list(call.ports.host.logs(call.params.name, call.params.limit))}


async def link(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """A fresh login link: the secret stands in the fragment, which no browser sends."""
    kind, address = call.ports.host.addresses.get(PAGE, ("", ""))
    if kind != "url":
        raise Unavailable(
            "The web page is not up, so there is nothing to log in to.",
            hint=f"`homed plugin list` says why; `homed plugin start {PAGE}` starts it.",
        )
    secret, expires_at = await call.ports.logins.make_link()
    return {"secret": secret, "url": f"{address.rstrip('/')}/login#{secret}", "expires_at": expires_at}


METHODS: dict[str, Method] = {
    "admin.status": administrative(PeerParams, status),
    "admin.threads": administrative(PeerParams, threads),
    "admin.interrupt": administrative(Told, interrupt),
    "admin.plugins": administrative(PeerParams, plugins),
    "admin.plugin_start": administrative(Named, plugin_start),
    "admin.plugin_stop": administrative(Named, plugin_stop),
    "admin.plugin_logs": administrative(Logs, plugin_logs),
    "admin.link": administrative(PeerParams, link),
}
