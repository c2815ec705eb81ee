"""API keys: for scripts and clients that cannot log in.  A key acts as the owner, or as the peer it was made for,
within the scopes it was given."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import trio

from homed.clock import WallClock, system_wall_clock
from homed.errors import Conflict, Denied, InvalidInput, NotFound, StorageError
from homed.identity.logins import LONGEST_WAIT, OWNER_PEER
from homed.store.rows import Row, Storage, Tx, dumps, loads

log = logging.getLogger(__name__)

SCOPES = ("chat", "memory", "admin")
"""What a key may be for; whoever takes requests with it (the page) checks them."""

MOST = 50
"""Keys there may be: one for each program, and no program needs a hundred."""

USED_EVERY = 60.0
"""Seconds between two updates of ``used_at``: a busy client must not cost a commit a request."""

FREE_TRIES = 5
"""Wrong keys in a row after which each further try has to wait."""

PREFIX = "hk_"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,63}")
_PEER = re.compile(r"webui:[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is shown: everything but the key.  Times are UTC seconds; ``used_at`` is right to the minute."""

    name: str
    peer: str
    scopes: tuple[str, ...]
    created_at: float
    used_at: float | None = None


class ApiKeys:
    """Makes, checks and removes keys.

    At rest there is the sha256 of a key: 32 random bytes cannot be guessed or tried through, so no slow hash is needed,
    and looking one up by its hash tells nothing about it.  A wrong key costs a wait that grows as for passwords; a good
    one is let in all the while, so that nobody is locked out by somebody else's tries.
    """

    def __init__(
        self,
        store: Storage,
        know: Callable[[Iterable[str]], None],
        wall: WallClock = system_wall_clock,
        *,
        clock: Callable[[], float] = trio.current_time,
    ) -> None:
        """``know`` hears of every new key, so that it is taken out of logs and texts."""
        self._store = store
        self._know = know
        self._wall = wall
        self._clock = clock
        self._failures = 0
        self._blocked_until = -float("inf")

    async def list_(self) -> list[ApiKey]:
        """Every key, oldest first."""
        return await self._store.read(
            lambda tx: [
                _key(row)
                for row in tx.all(
                    "SELECT name, peer, scopes, created_at, used_at FROM api_keys ORDER BY created_at, name"
                )
            ]
        )

    async def add(self, name: str, scopes: Sequence[str], peer: str = OWNER_PEER) -> tuple[str, ApiKey]:
        """A new key, which is told this once, and how it is shown.  ``peer``: of the page; one that it does not know
        yet is a guest from its first request on.

        Raises InvalidInput for a name, scope or peer that cannot be, Conflict for a taken name or too many keys.
        """
        if not _NAME.fullmatch(name) or name != name.strip():
            raise InvalidInput(
                f"{name[:80]!r} cannot be the name of a key.", hint="Up to 64 letters, digits, dots, dashes and spaces."
            )
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            what = f"There is no scope {', '.join(unknown)}." if unknown else "A key needs a scope."
            raise InvalidInput(what, hint=f"There are {', '.join(SCOPES)}.")
        if not _PEER.fullmatch(peer):
            raise InvalidInput(
                f"{peer[:80]!r} cannot be the peer of a key.",
                hint=f"webui: and up to 64 letters, digits, dots, dashes and '_'; {OWNER_PEER} is you.",
            )
        kept = tuple(scope for scope in SCOPES if scope in scopes)
        secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
        self._know([secret])
        made = ApiKey(name, peer, kept, self._wall())
        await self._store.write(lambda tx: _insert(tx, _digest(secret), made))
        log.info("the API key %s of %s was made, for %s", name, peer, ", ".join(kept))
        return secret, made

    async def remove(self, name: str) -> None:
        """Remove a key: the next request with it is refused.  Raises NotFound."""

        def write(tx: Tx) -> int:
            tx.execute("DELETE FROM api_keys WHERE name = ?", (name,))
            return tx.changes()

        if not await self._store.write(write):
            raise NotFound(f"There is no API key {name[:80]!r}.", hint="`homed keys list` shows them.")
        log.info("the API key %s was removed", name)

    async def check(self, secret: str) -> ApiKey:
        """The key this is; Denied if it is none."""
        digest = _digest(secret)
        # what cannot be a key is not looked for
        row = await self._store.read(lambda tx: _find(tx, digest)) if _KEY.fullmatch(secret) else None
        if row is None or not hmac.compare_digest(str(row[0]), digest):
            raise self._failed()
        self._failures = 0
        found = _key(row[1:])
        now = self._wall()
        if found.used_at is None or abs(now - found.used_at) >= USED_EVERY:
            try:
                await self._store.write(lambda tx: _used(tx, digest, now))
            except StorageError as error:  # a damaged database can still be read, with a key too
                log.warning("when the API key %s was used is not stored: %s", found.name, error.message)
        return found

    def _failed(self) -> Denied:
        wait = self._blocked_until - self._clock()
        if wait <= 0:
            self._failures += 1
            if self._failures >= FREE_TRIES:
                wait = min(LONGEST_WAIT, 2.0 ** (self._failures - FREE_TRIES))
                self._blocked_until = self._clock() + wait
                log.warning("%d requests came with wrong API keys", self._failures)
        if wait > 0:
            return Denied(
                "Too many wrong API keys.",
                hint=f"Try again in {wait:.0f} s with a good one; `homed keys list` shows which there are.",
                detail={"retry_after": round(wait, 1)},
            )
        return Denied("The API key is not valid.", hint="`homed keys list` shows which there are.")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _insert(tx: Tx, digest: str, key: ApiKey) -> None:
    if tx.value("SELECT 1 FROM api_keys WHERE name = ?", (key.name,)):
        raise Conflict(f"There is an API key {key.name!r} already.", hint="Remove it first, or take another name.")
    if tx.value("SELECT count(*) FROM api_keys") >= MOST:
        raise Conflict(f"There are {MOST} API keys already.", hint="Remove some first.")
    tx.execute(
        "INSERT INTO api_keys (hash, name, peer, scopes, created_at) VALUES (?, ?, ?, ?, ?)",
        (digest, key.name, key.peer, dumps(list(key.scopes)), key.created_at),
    )


def _find(tx: Tx, digest: str) -> Row | None:
    return tx.one("SELECT hash, name, peer, scopes, created_at, used_at FROM api_keys WHERE hash = ?", (digest,))


def _used(tx: Tx, digest: str, at: float) -> None:
    tx.execute("UPDATE api_keys SET used_at = ? WHERE hash = ?", (at, digest))


def _key(row: Row) -> ApiKey:
    name, peer, scopes, created_at, used_at = row
    return ApiKey(name, peer, tuple(loads(scopes)), created_at, used_at)
