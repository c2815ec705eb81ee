"""Logging in to the web page: a link that works once, a password, and the session either gives."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import trio

from homed.clock import WallClock, system_wall_clock
from homed.config.definitions import FREE_TRIES, SESSION_LIFETIME, WEB_PASSWORD
from homed.errors import Denied
from homed.identity.passwords import verify_password
from homed.identity.ports import LoginSettings
from homed.identity.sessions import Login, LoginRows
from homed.store.rows import Storage

PROVIDES = ("identity",)
NEEDS = ("store", "settings")

LINK_SECONDS = 300.0
OWNER_PEER = "webui:owner"

LONGEST_WAIT = 60.0
MAX_PASSWORD = 1024

_LINK = "link"
_SESSION = "session"


@dataclass(frozen=True, slots=True)
class Session:
    """A login.  ``secret`` is the cookie's value, known to the browser alone; ``expires_at`` is UTC seconds."""

    secret: str
    peer: str
    expires_at: float


class Logins:
    """Links, passwords and sessions.  Only hashes of the secrets are stored.

    Links and sessions are 256 random bits, so guessing needs no limit; passwords are tried one at a time, and after
    some failures (a setting) each further try has to wait, up to a minute.
    """

    def __init__(
        self,
        store: Storage,
        settings: LoginSettings,
        wall: WallClock = system_wall_clock,
        *,
        clock: Callable[[], float] = trio.current_time,
    ) -> None:
        self._rows = LoginRows(store)
        self._settings = settings
        self._wall = wall
        self._clock = clock
        self._one_at_a_time = trio.CapacityLimiter(1)
        self._failures = 0
        self._blocked_until = -float("inf")

    @property
    def password_set(self) -> bool:
        """True if there is a password to log in with."""
        return bool(self._settings.str(WEB_PASSWORD))

    async def make_link(self) -> tuple[str, float]:
        """A secret that logs in once, and the UTC second at which it is too late."""
        return await self._issue(_LINK, LINK_SECONDS)

    async def redeem(self, secret: str) -> Session:
        """Turn a link's secret into a session.  ``Denied`` if it was used, is too old or never was."""
        now = self._wall()
        if not await self._rows.take(_digest(secret), _LINK, now):
            raise Denied(
                "This login link is not valid: it works once and for five minutes.",
                hint="Make a fresh one with `homed link`.",
            )
        return await self._open_session()

    async def login(self, password: str) -> Session:
        """Open a session with the password.  ``Denied`` when it is wrong, none is set, or too many tries failed."""
        if not self.password_set:
            raise Denied("No password is set.", hint="Log in with `homed link`; a password can be set on the page.")
        self._refuse_if_blocked()
        if len(password) > MAX_PASSWORD or not await self._matches(password):
            raise Denied("The password is wrong.", hint="`homed link` logs in without one.")
        return await self._open_session()

    async def check(self, secret: str) -> Session:
        """The session this secret belongs to; ``Denied`` if there is none or it is over."""
        found = await self._rows.find(_digest(secret), _SESSION)
        if found is None or found.expires_at <= self._wall():
            raise Denied("You are not logged in.", hint="Log in with `homed link` or the password.")
        return Session(secret, found.peer, found.expires_at)

    async def logout(self, secret: str) -> None:
        """End a session; one that is over already is no error."""
        await self._rows.remove(_digest(secret))

    async def end_all(self) -> None:
        """End every session and link, as after a change of the password."""
        await self._rows.clear()

    async def _matches(self, password: str) -> bool:
        async with self._one_at_a_time:  # a flood of tries queues up here; it cannot take the memory or both cores
            self._refuse_if_blocked()
            stored = self._settings.str(WEB_PASSWORD)
            matches = await trio.to_thread.run_sync(verify_password, password, stored)
            # changed meanwhile: sessions of the old one have just been ended, and this must not be a new one
            matches = matches and stored == self._settings.str(WEB_PASSWORD)
            self._failures = 0 if matches else self._failures + 1
            if (beyond := self._failures - self._settings.int(FREE_TRIES)) >= 0:
                wait = min(LONGEST_WAIT, 2.0 ** min(beyond, 30))
                self._blocked_until = self._clock() + wait
            return matches

    def _refuse_if_blocked(self) -> None:
        wait = self._blocked_until - self._clock()
        if wait > 0:
            raise Denied(
                "Too many wrong passwords.",
                hint=f"Try again in {wait:.0f} s, or log in with `homed link`.",
                detail={"retry_after": round(wait, 1)},
            )

    async def _open_session(self) -> Session:
        secret, expires_at = await self._issue(_SESSION, self._settings.float(SESSION_LIFETIME))
        return Session(secret, OWNER_PEER, expires_at)

    async def _issue(self, kind: str, seconds: float) -> tuple[str, float]:
        secret = secrets.token_urlsafe(32)
        now = self._wall()
        await self._rows.add(Login(_digest(secret), kind, OWNER_PEER, now, now + seconds))
        return secret, now + seconds


def _digest(secret: str) -> str:
    """What is stored: the secrets are random and long, so one round of SHA-256 is enough (no password goes here)."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
