"""``admin.keys_*``: API keys, for owners."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import Method, PeerCall, PeerParams, administrative
from homed.identity.keys import SCOPES, ApiKey
from homed.identity.logins import OWNER_PEER


class OfName(PeerParams):
    """``admin.keys_remove``"""

    name: str = Field(min_length=1, max_length=64)


class KeyAdd(OfName):
    """``admin.keys_add``"""

    scopes: list[str] = Field(min_length=1, max_length=len(SCOPES))
    acts_as: str = Field(default=OWNER_PEER, max_length=80)


async def keys_list(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The keys there are; never a key itself."""
    return {"keys": [key_to_wire(key) for key in await call.ports.keys.list_()]}


async def keys_add(call: PeerCall[KeyAdd]) -> Mapping[str, object]:
    """Make a key and tell it, this once."""
    secret, made = await call.ports.keys.add(call.params.name, call.params.scopes, call.params.acts_as)
    return {"name": made.name, "key": secret, "scopes": list(made.scopes)}


async def keys_remove(call: PeerCall[OfName]) -> Mapping[str, object]:
    """Remove a key; it is refused from now on."""
    await call.ports.keys.remove(call.params.name)
    return {}


def key_to_wire(key: ApiKey) -> dict[str, object]:
    """A key as ``admin.keys_list`` shows it."""
    return {
        "name": key.name,
        "peer": key.peer,
        "scopes": list(key.scopes),
        "created_at": key.created_at,
        "used_at": key.used_at,
    }


METHODS: dict[str, Method] = {
    "admin.keys_list": administrative(PeerParams, keys_list),
    # a tool that runs for a model could otherwise let itself, or anybody, in
    "admin.keys_add": administrative(KeyAdd, keys_add, in_person=True),
    "admin.keys_remove": administrative(OfName, keys_remove, in_person=True),
}
