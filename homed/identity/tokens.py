"""Call tokens: while a plugin works for a turn, it may act with that turn's identity, and no longer."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from homed.errors import Denied
from homed.identity.roles import Identity


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """Whom and what an invocation runs for.  ``within``: the tool call it is of; empty for stages and outputs."""

    identity: Identity
    turn: str
    thread: str
    channel: str
    within: str = ""


class CallTokens:
    """The tokens that are alive.  In memory only: a token ends with its invocation, so none outlives the daemon."""

    def __init__(self) -> None:
        self._alive: dict[str, tuple[str, CallIdentity]] = {}

    def mint(self, plugin: str, identity: Identity, *, turn: str, thread: str, channel: str, within: str = "") -> str:
        """A new token for one invocation of ``plugin``; whoever mints it revokes it."""
        token = secrets.token_urlsafe(24)
        self._alive[token] = (plugin, CallIdentity(identity, turn, thread, channel, within))
        return token

    def resolve(self, plugin: str, token: str) -> CallIdentity:
        """What ``token`` stands for.  ``Denied`` if it is over, was never, or is another plugin's (not told apart)."""
        owner, found = self._alive.get(token, ("", None))
        if found is None or owner != plugin:
            raise Denied(
                f"The plugin {plugin} presented a call token that is not valid for it.",
                hint="A token lives as long as the invocation it came with.",
            )
        return found

    def revoke(self, token: str) -> None:
        """End a token; one that has ended already is no error."""
        self._alive.pop(token, None)

    @contextmanager
    def lent(
        self, plugin: str, identity: Identity, *, turn: str, thread: str, channel: str, within: str = ""
    ) -> Iterator[str]:
        """A token for the length of the block."""
        token = self.mint(plugin, identity, turn=turn, thread=thread, channel=channel, within=within)
        try:
            yield token
        finally:
            self.revoke(token)

    def __len__(self) -> int:
        return len(self._alive)
