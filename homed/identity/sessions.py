"""Where logins are kept: in the database, and in memory when that is damaged, so that the owner can still see it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from homed.store.rows import Damaged, ReadOnly, Storage, Tx

KEPT_IN_MEMORY = 64
"""Logins without a database: only the people of this machine, until it is mended; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Login:
    """A link or a session.  ``digest`` is the hash of its secret; times are UTC seconds."""

    digest: str
    kind: str
    peer: str
    created_at: float
    expires_at: float


class LoginRows:
    """Logins by the hash of their secret.

    While nothing can be stored, new ones live in memory and end with the process; old ones are still known, but a link
    from before is not taken, because that it was used could not be noted.
    """

    def __init__(self, store: Storage) -> None:
        self._store = store
        self._memory: dict[str, Login] = {}
        self._ended: dict[str, None] = {}
        self._all_ended = False

    async def add(self, login: Login) -> None:
        """Keep one, and let those go that are over."""
        try:
            await self._store.write(lambda tx: _insert(tx, login))
        except ReadOnly:
            while len(self._memory) >= KEPT_IN_MEMORY:
                del self._memory[next(iter(self._memory))]
            self._memory[login.digest] = login

    async def take(self, digest: str, kind: str, now: float) -> bool:
        """Use one up: True for exactly one of those who try, and only while it is not over."""
        known = self._memory.get(digest)
        if known is not None and known.kind == kind:
            del self._memory[digest]
            return known.expires_at > now
        with suppress(ReadOnly):
            return await self._store.write(lambda tx: _take(tx, digest, kind, now))
        return False

    async def find(self, digest: str, kind: str) -> Login | None:
        """The one of this hash, also if it is over."""
        known = self._memory.get(digest)
        if known is not None:
            return known if known.kind == kind else None
        if self._all_ended or digest in self._ended:
            return None
        try:
            return await self._store.read(lambda tx: _find(tx, digest, kind))
        except Damaged:
            return None  # its page is lost: log in again

    async def remove(self, digest: str) -> None:
        """End one; one that is not there is no error."""
        if self._memory.pop(digest, None) is not None:
            return
        try:
            await self._store.write(lambda tx: tx.execute("DELETE FROM logins WHERE hash = ?", (digest,)))
        except ReadOnly:
            while len(self._ended) >= KEPT_IN_MEMORY:
                del self._ended[next(iter(self._ended))]
            self._ended[digest] = None

    async def clear(self) -> None:
        """End all, also where that cannot be stored: then until this process ends."""
        self._memory.clear()
        try:
            await self._store.write(lambda tx: tx.execute("DELETE FROM logins"))
        except ReadOnly:
            self._all_ended = True


def _insert(tx: Tx, login: Login) -> None:
    tx.execute("DELETE FROM logins WHERE expires_at <= ?", (login.created_at,))
    tx.execute(
        "INSERT INTO logins (hash, kind, peer, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
        (login.digest, login.kind, login.peer, login.created_at, login.expires_at),
    )


def _find(tx: Tx, digest: str, kind: str) -> Login | None:
    row = tx.one(
        "SELECT hash, kind, peer, created_at, expires_at FROM logins WHERE hash = ? AND kind = ?", (digest, kind)
    )
    return Login(*row) if row else None


def _take(tx: Tx, digest: str, kind: str, now: float) -> bool:
    """Delete first and look afterwards, so that no two can both have it."""
    row = tx.one("SELECT expires_at FROM logins WHERE hash = ? AND kind = ?", (digest, kind))
    tx.execute("DELETE FROM logins WHERE hash = ? AND kind = ?", (digest, kind))
    return row is not None and row[0] > now
