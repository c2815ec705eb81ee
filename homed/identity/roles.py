"""Who somebody is to us, and whose memory they share.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a peer may do here; see ``permissions``."""

    OWNER = "owner"
    TRUSTED = "trusted"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class Identity:
    """A peer as one message or call meets it.  ``scope`` is the only memory it may touch; ``plugin`` is its channel."""

    peer: str
    plugin: str
    name: str
    role: Role
    scope: str


def scope_of(peer: str, role: Role, *, plugin: str = "", group: str = "") -> str:
    """The scope a peer speaks in.

    In a group everybody, the owner too, speaks in the group's: what is said there is seen by all, so nothing private
    may flow in.  Alone, the owner has one world over all channels; anybody else has one of their own.
    """
    if group:
        return f"group:{plugin}:{group}"
    return "owner" if role is Role.OWNER else f"{role.value}:{peer}"


def in_group(identity: Identity) -> bool:
    """True for somebody who speaks in a group."""
    return identity.scope.startswith("group:")


def visible_scopes(identity: Identity) -> frozenset[str]:
    """The scopes whose threads and memory this identity may see: its own and no other.

    A hard filter before anything is ranked.  Being the owner does not open the threads of guests and groups.
    """
    return frozenset({identity.scope})


def intersection(roles: Iterable[Role]) -> Role:
    """The role of a message merged from several people: the least of them; of nobody's, guest."""
    ranks = (Role.GUEST, Role.TRUSTED, Role.OWNER)
    return min(roles, key=ranks.index, default=Role.GUEST)
