"""Where logins are kept: in the database, and in memory when that takes nothing, so that the owner still gets in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from homed.store.rows import Damaged, Full, ReadOnly, Storage, Tx

T = TypeVar("T")

UNSTORED = (ReadOnly, Full)
"""Nothing can be stored, and it is not the login's fault."""
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
    from before is not taken, because that it was used could not be noted.  What ended meanwhile is taken out of the
    database with the next thing that can be stored.
    """

    def __init__(self, store: Storage) -> None:
        self._store = store
        self._memory: dict[str, Login] = {}
        self._ended: dict[str, None] = {}
        self._all_ended: object | None = None

    async def add(self, login: Login) -> None:
        """Keep one, and let those go that are over."""
        try:
            await self._write(lambda tx: _insert(tx, login))
        except UNSTORED:
            while len(self._memory) >= KEPT_IN_MEMORY:
                del self._memory[next(iter(self._memory))]
            self._memory[login.digest] = login

    async def take(self, digest: str, kind: str, now: float) -> bool:
        """Use one up: True for exactly one of those who try, and only while it is not over."""
        known = self._memory.get(digest)
        if known is not None and known.kind == kind:
            del self._memory[digest]
            return known.expires_at > now
        with suppress(*UNSTORED):
            return await self._write(lambda tx: _take(tx, digest, kind, now))
        return False

    async def find(self, digest: str, kind: str) -> Login | None:
        """The one of this hash, also if it is over."""
        known = self._memory.get(digest)
        if known is not None:
            return known if known.kind == kind else None
        if self._all_ended is not None or digest in self._ended:
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
            await self._write(lambda tx: tx.execute("DELETE FROM logins WHERE hash = ?", (digest,)))
        except UNSTORED:
            while len(self._ended) >= KEPT_IN_MEMORY:
                del self._ended[next(iter(self._ended))]
            self._ended[digest] = None

    async def clear(self) -> None:
        """End all, also where that cannot be stored: then until it can, or this process ends."""
        self._memory.clear()
        try:
            await self._write(lambda tx: tx.execute("DELETE FROM logins"))
        except UNSTORED:
            self._all_ended = object()

    async def _write(self, fn: Callable[[Tx], T]) -> T:
        """Store, after what ended while that was not possible."""
        every, some = self._all_ended, list(self._ended)

        def write(tx: Tx) -> T:
            if every is not None:
                tx.execute("DELETE FROM logins")
            tx.many("DELETE FROM logins WHERE hash = ?", [(digest,) for digest in some])
            return fn(tx)

        done = await self._store.write(write)
        if self._all_ended is every:  # not ended once more meanwhile
            self._all_ended = None
        for digest in some:
            self._ended.pop(digest, None)
        return done


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
