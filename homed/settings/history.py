"""Keeps what the model settings were before each change, and the keys that were replaced."""

from __future__ import annotations

import secrets as random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import trio

from homed.clock import WallClock
from homed.errors import NotFound
from homed.settings import rows, snapshots
from homed.settings.apart import SECRETS, slot_of
from homed.settings.ports import SecretStore
from homed.settings.snapshots import Difference, KeyRing, Plan, Snapshot
from homed.store.rows import Storage, Tx


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """A snapshot for people: what a roll back to it would change today."""

    snapshot: Snapshot
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Turned:
    """A change with what goes along: secrets to set or delete, and what else the transaction stores."""

    secrets: Mapping[str, str | None]
    keep: Callable[[Tx], None]


def _nothing(_: Tx) -> None:
    """Where no model setting is changed, no snapshot is kept."""


class History:
    """Used by ``Settings``, inside its one change at a time."""

    def __init__(self, store: Storage, secrets: SecretStore, wall: WallClock, most: Callable[[], int]) -> None:
        """``most``: snapshots that are kept; the oldest goes."""
        self._store = store
        self._most = most
        self._secrets = secrets
        self._wall = wall

    async def before(
        self,
        stored: Mapping[str, object],
        changes: Mapping[str, object],
        private: Mapping[str, str | None],
        *,
        forget: bool = True,
    ) -> Turned:
        """What a change of ``stored`` and of the secrets ``private`` (None: out) needs to be one that can be undone.

        ``forget``: a key that is taken out is gone, and those it replaced with it.
        """
        touched = [key for key in changes if key.startswith(snapshots.PREFIX)]
        slots = [slot for name in private if (slot := slot_of(name)) is not None]
        if not touched and not slots:
            return Turned(private, _nothing)
        ring = await self._ring(new=True)
        changed = [*touched, *map(snapshots.label, slots)]
        now = snapshots.take(stored, ring, at=self._wall(), changed=changed)
        later = {key: value for key, value in {**stored, **changes}.items() if value is not None}
        held = {name: value for name, value in {**ring.secrets, **private}.items() if value}
        if now.same(snapshots.take(later, replace(ring, secrets=held), at=now.at, changed=changed)):
            return Turned(private, _nothing)
        older = await self._store.read(rows.snapshots)
        most = self._most() - 1
        kept, dropped = older[:most], [one.id for one in older[most:]]
        turned = snapshots.keeping(private, ring, forget=forget)
        gone = dict.fromkeys(snapshots.unneeded([*ring.secrets, *turned], [now, *kept]))
        return Turned({**turned, **gone}, lambda tx: rows.keep_snapshot(tx, now, dropped))

    async def list_(self, stored: Mapping[str, object]) -> list[SnapshotView]:
        """Every snapshot, newest first."""
        ring = await self._ring()
        now = snapshots.take(stored, ring, at=self._wall(), changed=())
        found = await self._store.read(rows.snapshots)
        return [SnapshotView(one, tuple(snapshots.differences(one, now))) for one in found]

    async def plan(self, id_: int, stored: Mapping[str, object]) -> Plan:
        """How to come back to a snapshot; NotFound."""
        found = next((one for one in await self._store.read(rows.snapshots) if one.id == id_), None)
        if found is None:
            raise NotFound(f"There is no snapshot {id_}.", hint="`homed config snapshots` lists them.")
        ring = await self._ring()
        now = snapshots.take(stored, ring, at=self._wall(), changed=())
        made = snapshots.plan(found, now, stored, ring)
        return replace(made, secrets={n: value for n, value in made.secrets.items() if not self._secrets.given(n)})

    async def _ring(self, *, new: bool = False) -> KeyRing:
        """``new``: there is a pepper afterwards; without one there is no digest to compare with."""
        pepper = self._secrets.get(snapshots.PEPPER) or ""
        if new and not pepper:
            pepper = random.token_hex(32)
            await trio.to_thread.run_sync(self._secrets.update, {snapshots.PEPPER: pepper})
        names = [name for name in self._secrets.names() if name.startswith(SECRETS)]
        return KeyRing({name: self._secrets.get(name) or "" for name in names}, pepper)
