"""Writes a change of settings: passwords and keys in their file, the rest in one transaction."""

from __future__ import annotations

import logging
import secrets as random
from collections.abc import Callable, Mapping, Sequence

import trio

from homed.clock import WallClock
from homed.config.definitions import Definition
from homed.errors import StorageError, TimedOut
from homed.settings import rows
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

    async def run(
        self,
        stored: Mapping[str, object],
        changes: Sequence[tuple[Definition, object]],
        keys: Mapping[str, str | None],
        *,
        forget: bool,
    ) -> dict[str, object]:
        """Write them, all or none (None takes one out); what of them now stands in the database.

        The secrets are to be adopted when this returns.  Not interrupted once begun; ``TimedOut`` when it takes too
        long: whether it was made is found out before the next one.
        """
        private = {d.key: value for d, value in changes if d.secret and not d.hashed}
        open_ = {d.key: value for d, value in changes if d.key not in private}
        secrets = {SECRET_NAME + key: str(value or "") or None for key, value in private.items()}
        try:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                turned = await self._history.before(stored, open_, {**secrets, **keys}, forget=forget)
                now = self._wall()

                def rest(tx: Tx) -> None:
                    turned.keep(tx)
                    rows.store(tx, open_, now)

                await self.write(turned.secrets, rest)
        except trio.TooSlowError:
            names = ", ".join([*open_, *private]) or "the keys"
            raise TimedOut(
                f"Storing {names} took longer than {COMMIT_LIMIT:g} s; it may still be stored later.",
                hint="Look at it again after a restart; is the disk busy or full?",
            ) from None
        return open_

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
        """Make staged secrets hold, or not, by the ``last`` change that stands in the database."""
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
