"""Writes a change of settings: passwords and keys in their file, the rest in one transaction."""

from __future__ import annotations

import logging
import secrets as random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import trio

from homed.clock import WallClock
from homed.config.definitions import LLM_SOURCES, Definition
from homed.errors import StorageError, TimedOut
from homed.settings import rows
from homed.settings.apart import HEADER, SECRETS, apart, live, slots_in
from homed.settings.history import History
from homed.settings.ports import SecretStore
from homed.store.rows import Storage, Tx

_log = logging.getLogger(__name__)

TIDY_LIMIT = 10.0
"""Seconds, shielded, that the file of the secrets may take to be brought to what holds."""

COMMIT_LIMIT = 10.0
"""Seconds that a change may take once begun; it is not interrupted, so that memory and database agree."""
SECRET_NAME = "setting."
"""Before a password setting's key in the secrets file."""


class Commit:
    """Used by ``Settings``, inside its one change at a time."""

    def __init__(self, store: Storage, secrets: SecretStore, history: History, wall: WallClock) -> None:
        self._store = store
        self._secrets = secrets
        self._history = history
        self._wall = wall
        self.unsure = False
        """Whether a change took too long, and may yet have been made."""

    @contextmanager
    def limited(self) -> Iterator[None]:
        """The time that a change may take, shielded; ``trio.TooSlowError`` beyond it."""
        try:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                yield
        except trio.TooSlowError:
            self.unsure = True
            raise

    async def run(
        self,
        stored: Mapping[str, object],
        changes: Sequence[tuple[Definition, object]],
        keys: Mapping[str, str | None],
        *,
        forget: bool,
        also: Callable[[Tx, float], None],
    ) -> dict[str, object]:
        """Write them, all or none (None takes one out); what of them now stands in the database.  ``also``: what goes
        along in the same transaction, given the time.

        The secrets are to be adopted when this returns.  Not interrupted once begun; ``TimedOut`` when it takes too
        long: whether it was made is found out before the next one.
        """
        private = {d.key: value for d, value in changes if d.secret and not d.hashed}
        open_ = {d.key: value for d, value in changes if d.key not in private}
        secrets = {SECRET_NAME + key: str(value or "") or None for key, value in private.items()}
        if LLM_SOURCES in open_:
            open_[LLM_SOURCES], headers = self._apart(open_[LLM_SOURCES])
            secrets |= headers
        try:
            with self.limited():
                turned = await self._history.before(stored, open_, {**secrets, **keys}, forget=forget)
                now = self._wall()

                def rest(tx: Tx) -> None:
                    turned.keep(tx)
                    rows.store(tx, open_, now)
                    also(tx, now)

                await self.write(turned.secrets, rest)
        except trio.TooSlowError:
            names = ", ".join([*open_, *private]) or "the keys"
            raise TimedOut(
                f"Storing {names} took longer than {COMMIT_LIMIT:g} s; it may still be stored later.",
                hint="Look at it again after a restart; is the disk busy or full?",
            ) from None
        return open_

    def _apart(self, sources: object) -> tuple[object, dict[str, str | None]]:
        """Model sources without the values of their headers, and those; None for each header that is no more."""
        masked, given = apart(sources)
        named = {live(slot) for slot in slots_in(masked)}
        gone = [
            name for name in self._secrets.names()
            if name.startswith(SECRETS) and HEADER in name and "@" not in name and name not in named
        ]  # fmt: skip
        new = {name: value for name, value in given.items() if value != self._secrets.get(name)}
        return masked, {**dict.fromkeys(gone), **new}

    async def move_headers(self, stored: Mapping[str, object]) -> dict[str, object]:
        """Bring values of headers to the secrets that an earlier homed has left in the database: what stands there now.

        Empty where there are none, and where it cannot be done now: they do where they are.
        """
        masked, secrets = self._apart(stored.get(LLM_SOURCES))
        if masked == stored.get(LLM_SOURCES):
            return {}
        now = self._wall()
        try:
            with self.limited():
                await self.write(secrets, lambda tx: rows.store(tx, {LLM_SOURCES: masked}, now))
        except (StorageError, trio.TooSlowError) as error:
            _log.warning("headers of model sources stay in the database for now: %s", error)
            return {}
        self._secrets.adopt()
        await self.tidy()
        return {LLM_SOURCES: masked}

    async def write(self, secrets: Mapping[str, str | None], rest: Callable[[Tx], None]) -> None:
        """Have ``rest`` stored, and ``secrets`` staged for it: they are to be adopted when this returns.

        The database decides: the file says what is to become of the secrets with the change that is called so, and only
        once the change stands in the database is it made.  Whatever ends homed in between, it is whole or not there.
        """
        if not secrets:
            await self._store.write(rest)
            return
        change = random.token_hex(8)

        def write(tx: Tx) -> None:
            rest(tx)
            rows.note_last(tx, change, self._wall())

        await trio.to_thread.run_sync(self._secrets.stage, change, secrets)
        try:
            await self._store.write(write)
        except Exception:  # but not where it took too long: then it may yet be stored
            self._secrets.drop()
            with trio.move_on_after(TIDY_LIMIT, shield=True):
                await self.tidy()
            raise

    def decide(self, last: str) -> None:
        """Make staged secrets hold, or not, by the ``last`` change that stands in the database, read anew."""
        self.unsure = False
        if self._secrets.staged() == last:
            self._secrets.adopt()
        else:
            self._secrets.drop()

    async def tidy(self) -> None:
        """Bring the file of the secrets to what holds.  One that cannot be written says the same, and is later."""
        with trio.move_on_after(TIDY_LIMIT, shield=True):
            try:
                await trio.to_thread.run_sync(self._secrets.tidy)
            except StorageError as error:
                _log.warning("what was replaced is still in it: %s", error.message)
