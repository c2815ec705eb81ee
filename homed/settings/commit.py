"""Writes a change of settings: passwords and keys in their file, the rest in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import trio

from homed.clock import WallClock
from homed.config.definitions import Definition
from homed.errors import StorageError, TimedOut
from homed.settings import rows
from homed.settings.history import History, Turned
from homed.settings.ports import SecretStore
from homed.store.rows import Storage, Tx

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

        The secrets come first; if the rest cannot be stored, they are put back.  Not interrupted once begun;
        ``TimedOut`` when it takes too long.  A kill between the two leaves the secrets changed and the rest not.
        """
        private = {d.key: value for d, value in changes if d.secret and not d.hashed}
        open_ = {d.key: value for d, value in changes if d.key not in private}
        secrets = {SECRET_NAME + key: str(value or "") or None for key, value in private.items()}
        try:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                turned = await self._history.before(stored, open_, {**secrets, **keys}, forget=forget)
                await self._write(turned, open_)
        except trio.TooSlowError:
            names = ", ".join([*open_, *private]) or "the keys"
            raise TimedOut(
                f"Storing {names} took longer than {COMMIT_LIMIT:g} s; it may still be stored later.",
                hint="Look at it again after a restart; is the disk busy or full?",
            ) from None
        return open_

    async def _write(self, turned: Turned, changes: Mapping[str, object]) -> None:
        before = {name: self._secrets.get(name) for name in turned.secrets if not self._secrets.given(name)}
        now = self._wall()

        def write(tx: Tx) -> None:
            turned.keep(tx)
            rows.store(tx, changes, now)

        await trio.to_thread.run_sync(self._secrets.update, turned.secrets)
        try:
            await self._store.write(write)
        except StorageError:
            await trio.to_thread.run_sync(self._secrets.update, before)
            raise
