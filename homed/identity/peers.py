"""The directory of peers: everybody who ever spoke, and the role the owner gave them."""

from __future__ import annotations

import logging
import unicodedata

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, Denied, InvalidInput, NotFound, StorageError
from homed.identity.roles import Identity, Role, scope_of
from homed.store.rows import Damaged, ReadOnly, Storage, Tx

log = logging.getLogger(__name__)

SEEDED_OWNERS = frozenset({"webui:owner", "cli:owner", "timer:owner"})
"""Peers of packaged plugins that stand for the person whose machine this is."""

MAX_ID = 256
MAX_NAME = 128
SEEN_EVERY = 60.0
"""Seconds between two updates of ``seen_at``: a busy channel must not cost a commit a message."""


_Known = tuple[str, Role, float, str]
"""The name its channel gives, the role, when it was seen, and how the owner calls it."""


class Directory:
    """Maps a plugin's peer ids to identities."""

    def __init__(self, store: Storage, wall: WallClock = system_wall_clock) -> None:
        self._store = store
        self._wall = wall

    async def identify(self, plugin: str, peer_id: str, *, name: str = "", group: str = "") -> Identity:
        """Who ``peer_id`` is when ``plugin`` says so; somebody new becomes a guest.

        Raises ``Denied`` for an id outside the plugin's own namespace and ``InvalidInput`` for one that is no id.
        Cancelled, it leaves at most the new peer's row.
        """
        check_namespace(plugin, peer_id)
        _check_id("peer", peer_id)
        if group:
            _check_id("group", group)
        shown = _clean(name)
        known = await self._known(peer_id)
        now = self._wall()
        if known is None or (shown and shown != known[0]) or abs(now - known[2]) > SEEN_EVERY:
            known = await self._meet(plugin, peer_id, shown, known)
        kept, role, _, called = known
        return Identity(peer_id, plugin, called or kept, role, scope_of(peer_id, role, plugin=plugin, group=group))

    async def _known(self, peer: str) -> _Known | None:
        try:
            return await self._store.read(lambda tx: _find(tx, peer))
        except Damaged:
            return None  # as if met for the first time: a guest, unless it is the owner of this machine

    async def _meet(self, plugin: str, peer: str, name: str, known: _Known | None) -> _Known:
        """Note that somebody was seen; if nothing can be stored, go on without the note.

        On a full disk, too: whoever is known can still read, and ask what is wrong.
        """
        now = self._wall()
        try:
            return await self._store.write(lambda tx: _saw(tx, plugin, peer, name, now))
        except StorageError as error:
            if known is None and not isinstance(error, ReadOnly) and peer not in SEEDED_OWNERS:
                raise
            log.debug("when %s was seen is not stored: %s", peer, error.message)
            return known or (name, _first_role(peer), now, "")

    async def set_role(self, peer: str, role: Role) -> None:
        """Give a known peer a role.  Raises ``NotFound``, or ``Conflict`` if no owner would be left."""
        await self._store.write(lambda tx: _set_role(tx, peer, role))

    async def set_name(self, peer: str, name: str) -> str:
        """Call a known peer so, whatever its channel says; empty: as the channel says.  Returns the name as stored.

        Raises ``NotFound``.
        """
        called = _clean(name)
        await self._store.write(lambda tx: _set_name(tx, peer, called))
        return called


def check_namespace(plugin: str, peer_id: str) -> None:
    """Raise ``Denied`` unless ``peer_id`` is ``plugin:SOMETHING``."""
    if not peer_id.startswith(f"{plugin}:") or len(peer_id) == len(plugin) + 1:
        raise Denied(
            f"The plugin {plugin} may not speak for the peer {peer_id[:MAX_ID]!r}.",
            hint=f"A plugin's peers are named {plugin}:ID.",
            detail={"plugin": plugin},
        )


def _check_id(what: str, value: str) -> None:
    if len(value) > MAX_ID or not value.isprintable():
        raise InvalidInput(f"A {what}'s id must be printable, {MAX_ID} characters at most.")


def _clean(name: str) -> str:
    """A name fit to be shown: one line, no control or direction-changing characters, no more than ``MAX_NAME``."""
    kept = "".join(c if c == " " or unicodedata.category(c)[0] not in "CZ" else " " for c in name)
    return " ".join(kept.split())[:MAX_NAME]


def _first_role(peer: str) -> Role:
    return Role.OWNER if peer in SEEDED_OWNERS else Role.GUEST


def _find(tx: Tx, peer: str) -> _Known | None:
    row = tx.one("SELECT name, role, seen_at, called FROM peers WHERE id = ?", (peer,))
    return (row[0], Role(row[1]), row[2], row[3]) if row else None


def _saw(tx: Tx, plugin: str, peer: str, name: str, now: float) -> _Known:
    role = _first_role(peer)
    tx.execute(
        "INSERT INTO peers (id, plugin, name, role, created_at, seen_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at,"
        " name = CASE WHEN excluded.name = '' THEN name ELSE excluded.name END",
        (peer, plugin, name, role.value, now, now),
    )
    found = _find(tx, peer)
    assert found is not None
    return found


def _set_role(tx: Tx, peer: str, role: Role) -> None:
    found = _find(tx, peer)
    if found is None:
        raise NotFound(f"Nobody called {peer!r} has spoken here.")
    others = tx.value("SELECT count(*) FROM peers WHERE role = ? AND id <> ?", (Role.OWNER.value, peer))
    if found[1] is Role.OWNER and role is not Role.OWNER and not others:
        raise Conflict("The last owner cannot be made something else.", hint="Make somebody else an owner first.")
    tx.execute("UPDATE peers SET role = ? WHERE id = ?", (role.value, peer))


def _set_name(tx: Tx, peer: str, called: str) -> None:
    tx.execute("UPDATE peers SET called = ? WHERE id = ?", (called, peer))
    if not tx.changes():
        raise NotFound(f"Nobody called {peer!r} has spoken here.")
