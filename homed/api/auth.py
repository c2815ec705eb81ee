"""``auth.*``: logging in to the web page, and API keys."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import Method, Params, PorchCall, early
from homed.identity.logins import Session


class OfSecret(Params):
    """``auth.redeem``"""

    secret: str = Field(min_length=1, max_length=256)


class OfPassword(Params):
    """``auth.login``"""

    password: str = Field(min_length=1, max_length=1024)


class OfSession(Params):
    """``auth.check``, ``auth.logout``"""

    session: str = Field(min_length=1, max_length=256)


class OfKey(Params):
    """``auth.key``"""

    key: str = Field(min_length=1, max_length=256)


def state(call: PorchCall[Params]) -> Mapping[str, object]:
    """Whether a password can be used at all."""
    return {"password_set": call.ports.logins.password_set}


async def redeem(call: PorchCall[OfSecret]) -> Mapping[str, object]:
    """A session for the secret of a login link."""
    return _session(await call.ports.logins.redeem(call.params.secret))


async def login(call: PorchCall[OfPassword]) -> Mapping[str, object]:
    """A session for the password."""
    return _session(await call.ports.logins.login(call.params.password))


async def check(call: PorchCall[OfSession]) -> Mapping[str, object]:
    """Whose session this is.  The role is looked up each time: a session does not keep one that was taken away."""
    session = await call.ports.logins.check(call.params.session)
    who = await call.ports.directory.identify(session.peer.partition(":")[0], session.peer)
    return {"peer": who.peer, "role": who.role.value, "expires_at": session.expires_at}


async def key(call: PorchCall[OfKey]) -> Mapping[str, object]:
    """Whose API key this is, and what it is for.  The role is looked up each time, as for a session."""
    found = await call.ports.keys.check(call.params.key)
    who = await call.ports.directory.identify(found.peer.partition(":")[0], found.peer)
    return {"peer": who.peer, "role": who.role.value, "name": found.name, "scopes": list(found.scopes)}


async def logout(call: PorchCall[OfSession]) -> Mapping[str, object]:
    """End a session."""
    await call.ports.logins.logout(call.params.session)
    return {}


def _session(session: Session) -> dict[str, object]:
    return {"session": session.secret, "peer": session.peer, "expires_at": session.expires_at}


METHODS: dict[str, Method] = {
    "auth.state": early(Params, state),
    "auth.redeem": early(OfSecret, redeem),
    "auth.login": early(OfPassword, login),
    "auth.check": early(OfSession, check),
    "auth.key": early(OfKey, key),
    "auth.logout": early(OfSession, logout),
}
