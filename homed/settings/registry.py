"""The registry of settings: definitions, stored values and what was given from outside, in one place.

Strongest first: command-line flag, environment variable, ``homed.toml``, what a person stored, the default.  Reading is
sync and from memory; writing goes through the store.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import trio

from homed.clock import WallClock, system_wall_clock
from homed.config import values
from homed.config.definitions import CORE, LLM_SOURCES, PERSONA, SEEDS, SNAPSHOTS_KEPT, Definition
from homed.config.environment import Override, closest
from homed.errors import ConfigError, HomedError, NotFound, StorageError
from homed.identity.passwords import is_hash
from homed.settings import exposed, rows, thresholds
from homed.settings.commit import SECRET_NAME, Commit
from homed.settings.givenfile import GivenFile
from homed.settings.hashing import hashed
from homed.settings.history import History, SnapshotView
from homed.settings.outside import Outside
from homed.settings.ports import SecretStore
from homed.settings.thresholds import NOT_SAID, Because, ThresholdView
from homed.settings.typed import Typed
from homed.settings.views import MASK, Applied, SettingView
from homed.settings.watch import Watch
from homed.store.rows import Damaged, Looking, Storage, Tx

PROVIDES = ("settings",)
NEEDS = ("config", "store")

_log = logging.getLogger(__name__)


class Settings(Typed):
    """Typed settings.  Made by ``open_settings``; used from the Trio thread only."""

    def __init__(self, store: Storage, secrets: SecretStore, wall: WallClock) -> None:
        self._store = store
        self._secrets = secrets
        self._wall = wall
        self._definitions: dict[str, Definition] = {}
        self._outside = Outside()
        self._stored: dict[str, object] = {}
        self._seeded: frozenset[str] = frozenset()
        self._watches: list[Watch] = []
        self._one_change = trio.Lock()
        self._history = History(store, secrets, wall, lambda: self.int(SNAPSHOTS_KEPT))
        self._change = Commit(store, secrets, self._history, wall)
        self._files: list[GivenFile] = []

    async def load(self, overrides: Mapping[str, Override]) -> None:
        """Read what is stored and take on what was given from outside; once, before anything is defined."""
        try:
            self._stored, self._seeded, last = await self._store.read(rows.load)
            self._change.decide(last)
        except Damaged as error:  # the defaults do until it is mended; nothing is stored over it meanwhile
            _log.error("the stored settings cannot be read: %s", error.message)
        self._outside.begin(overrides)

    def define(self, definitions: Iterable[Definition]) -> None:
        """Add definitions, and check what is stored or was given from outside for their keys.

        A key defined again gets the new definition (a plugin was updated).  Raises ``ConfigError`` naming file and
        line, or variable, and adds nothing then.  A stored value that no longer fits is left out and logged.
        """
        new = {definition.key: definition for definition in definitions}
        forced = self._outside.fitting(new)
        _fit(self._stored, new)
        self._definitions.update(new)
        self._outside.take(forced)

    def redefine(self, prefix: str, definitions: Iterable[Definition]) -> None:
        """Have these definitions below ``prefix`` and no others: a plugin came, changed, or went.

        As `define`, which raises before anything is changed; stored values that nothing defines any more stay stored.
        """
        new = list(definitions)
        self.define(new)
        keys = {definition.key for definition in new}
        for key in [key for key in self._definitions if key.startswith(prefix) and key not in keys]:
            del self._definitions[key]
            self._outside.drop(key)

    async def discard(self, prefix: str) -> None:
        """Forget every stored value and password below ``prefix``, defined or not."""
        async with self._changing():
            names = [name for name in self._secrets.names() if name.startswith(SECRET_NAME + prefix)]
            with self._change.limited():
                await self._change.write(dict.fromkeys(names), lambda tx: rows.discard(tx, prefix))
            for key in [key for key in self._stored if key.startswith(prefix)]:
                del self._stored[key]
            self._secrets.adopt()
            await self._change.tidy()

    async def tidy(self) -> bool:
        """Take out of the secrets what a change that was cut off has left in their file, and bring values of headers
        there that an earlier homed had stored here; for whoever may write both.  True if there were such.
        """
        await self._change.tidy()
        async with self._changing():
            moved = await self._change.move_headers(self._stored)
            self._stored |= moved
        return bool(moved)

    def unclaimed(self) -> list[str]:
        """What was given from outside for keys that nothing defines: one sentence each, for the log and ``status``."""
        return self._outside.unclaimed(self._definitions)

    def definition(self, key: str) -> Definition:
        """The definition of a key, or ``NotFound`` with the nearest key there is."""
        if key not in self._definitions:
            near = closest(key, self._definitions)
            raise NotFound(f"There is no setting {key!r}.", hint=f"{near}`homed config list` shows them all.")
        return self._definitions[key]

    def get(self, key: str) -> Any:
        """The value in force.  ``NotFound`` for a key that nothing defines."""
        definition = self.definition(key)
        if self._outside.holds(key):
            return self._outside.value(key)
        if definition.secret and not definition.hashed:
            return self._secrets.get(SECRET_NAME + key) or definition.default
        return self._stored.get(key, definition.default)

    def view(self, key: str) -> SettingView:
        """A setting as it may be shown: never a password."""
        definition = self.definition(key)
        value = self.get(key)
        if definition.secret:
            value = MASK if value else ""
        return SettingView(key, value, self._source(definition), definition, self._outside.place(key))

    def list_(self, prefix: str = "", *, hidden: bool = False) -> list[SettingView]:
        """The settings whose key begins with ``prefix``, by key; hidden ones only if asked for."""
        return [
            self.view(key)
            for key, definition in sorted(self._definitions.items())
            if key.startswith(prefix) and (hidden or not definition.hidden)
        ]

    def definitions(self) -> list[Definition]:
        """Every setting there is, hidden ones too."""
        return list(self._definitions.values())

    def changeable(self, key: str) -> None:
        """``Conflict`` when the key is given from outside, so that no stored value counts; ``NotFound``."""
        self.definition(key)
        self._outside.refuse(key)

    async def set(self, key: str, value: object, *, why: Because = NOT_SAID) -> Applied:
        """Check, store and announce a value; a text is read as the type wants it ("5", "on", "90s").

        Raises ``ConfigError`` for a wrong value, a key that would be shown, and another threshold without a reason;
        ``Conflict`` when the key is given from outside.  Not interrupted once the commit has begun: after cancellation
        it is either whole or not there.
        """
        if value is None:
            values.check(self.definition(key), value)
        return await self.change({key: value}, why=why)

    async def unset(self, key: str, *, why: Because = NOT_SAID) -> Applied:
        """Take a stored value out, so that the default holds again.  Raises as `set`."""
        return await self.change({key: None}, why=why)

    async def change(
        self,
        changes: Mapping[str, object],
        *,
        keys: Mapping[str, str | None] | None = None,
        why: Because = NOT_SAID,
    ) -> Applied:
        """Change several settings, all or none; None takes a value out.  ``keys``: secrets that go with them, by name.

        Raises and is cancelled as `set`; a kill in the middle leaves all of it or nothing.  Of the model settings and
        their keys a snapshot is kept before.
        """
        for key in changes:
            self.changeable(key)
        checked = {key: await self._checked(self.definition(key), value) for key, value in changes.items()}
        async with self._changing():
            await self._settle(checked, keys or {}, why=why)
        restart = any(self.definition(key).restart for key in checked)
        return Applied.RESTART if restart else Applied.NOW

    async def snapshots(self) -> list[SnapshotView]:
        """What the model settings were before each change, newest first, with what a roll back would change."""
        return await self._history.list_(self._stored)

    async def rollback(self, id_: int) -> tuple[str, ...]:
        """Bring the model settings and keys of a snapshot back; sentences about what could not be brought back.

        What is given from outside and what would not be taken any more stays as it is.  It can be undone: the state
        before it is a snapshot as well.  ``NotFound``; cancelled and raises as `set`.
        """
        async with self._changing():
            plan = await self._history.plan(id_, self._stored)
            changes, notes = {}, list(plan.notes)
            for key, value in plan.changes.items():
                try:
                    self.changeable(key)
                    changes[key] = await self._checked(self.definition(key), value)
                except HomedError as error:
                    notes.append(f"{key} stays as it is: {error.message}")
            keys = plan.secrets
            if keys and (self._outside.place(LLM_SOURCES) or LLM_SOURCES in plan.changes.keys() - changes.keys()):
                keys = {}  # the sources of now may be on other servers than those that the keys were given for
                notes.append("The keys stay as they are, since the sources do.")
            await self._settle(changes, keys, forget=False, why=Because(f"rolled back to snapshot {id_}"))
        return tuple(notes)

    async def thresholds(self) -> list[ThresholdView]:
        """Each threshold: its value, the failure it prevents, and how it came to be what it is."""
        return thresholds.views(self.view, await self._store.read(thresholds.changes))

    def follow_file(self, key: str, path: Path) -> None:
        """Have the text of a file decide a key, where there is one; it is looked at with each `refresh`."""
        self._files.append(GivenFile(self.definition(key), path, self.give, self.withdraw))

    async def refresh(self) -> None:
        """Look again at what people may have edited meanwhile.  Raises nothing."""
        for file in self._files:
            await file.look()

    def give(self, override: Override) -> bool:
        """Take on a value from outside while it runs, in the place of one given so before; False if it counts for
        nothing, because what was given at start is stronger.  ``ConfigError`` if it does not fit."""
        counts = self._outside.give(override, self.definition(override.key))
        if counts:
            self.announce(override.key)
        return counts

    def withdraw(self, key: str) -> None:
        """What `give` took on is there no more."""
        if self._outside.withdraw(key):
            self.announce(key)

    async def seed(self, defaults: Mapping[str, object]) -> list[str]:
        """Store first values once in the life of a database, and return the keys that were stored.

        A marker a key says that it was done, so: a fresh database gets all; one that holds a value already keeps it;
        what a person has changed since is not touched; only markers that are missing are made up for.
        """
        missing = self.unseeded(defaults)
        checked = {key: values.check(self.definition(key), defaults[key]) for key in missing}
        if not checked:
            return []
        async with self._changing():
            with self._change.limited():
                stored = await self._store.write(lambda tx: rows.seed(tx, checked, self._wall()))
            self._stored.update({key: checked[key] for key in stored})
            self._seeded |= checked.keys()
        return stored

    def unseeded(self, keys: Iterable[str]) -> list[str]:
        """Those that were never seeded."""
        return [key for key in keys if key not in self._seeded]

    @contextmanager
    def watch(self, prefix: str = "") -> Iterator[Watch]:
        """Follow changes of keys that begin with ``prefix`` for the length of the block."""
        watch = Watch(prefix)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def announce(self, key: str) -> None:
        """Tell every watch that ``key`` has a new value."""
        value = self.get(key)
        for watch in self._watches:
            watch.offer(key, value)

    async def force_hashed(self) -> None:
        """Hash the passwords that came from outside in the clear."""
        for key, value in self._outside.values():
            definition = self._definitions[key]
            if definition.hashed and isinstance(value, str) and value and not is_hash(value):
                self._outside.take({key: await hashed(definition, value)})

    async def _checked(self, definition: Definition, value: object) -> object:
        if value is None:
            return None
        checked = exposed.refuse(definition, values.read(definition, value), self._stored.get(definition.key))
        if definition.hashed and isinstance(checked, str) and checked:
            return await hashed(definition, checked)
        return checked

    async def _settle(
        self,
        changes: Mapping[str, object],
        keys: Mapping[str, str | None],
        *,
        forget: bool = True,
        why: Because = NOT_SAID,
    ) -> None:
        """Store and announce; see `Commit.run`."""
        found = [(self.definition(key), value) for key, value in changes.items()]
        moved = thresholds.moving(self.get, found, why)

        def also(tx: Tx, now: float) -> None:
            thresholds.note(tx, [*moved, *thresholds.explained(tx, found, moved, why)], now)

        for key, value in (await self._change.run(self._stored, found, keys, forget=forget, also=also)).items():
            if value is None:
                self._stored.pop(key, None)
            else:
                self._stored[key] = value
        self._secrets.adopt()  # at the same moment: nobody sees a source with the key of another
        for key in changes:
            self.announce(key)
        await self._change.tidy()

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """One change at a time; what came of an earlier one that took too long is found out before."""
        async with self._one_change:
            if self._change.unsure or self._secrets.staged():
                before = {key: self.get(key) for key in self._definitions}
                # written, so that it comes behind whatever still waits to be
                self._stored, self._seeded, last = await self._store.write(rows.load)
                _fit(self._stored, self._definitions)
                self._change.decide(last)
                for key in [key for key, value in before.items() if self.get(key) != value]:
                    self.announce(key)
            yield

    def _source(self, definition: Definition) -> str:
        key = definition.key
        if self._outside.holds(key):
            return self._outside.source(key)
        if definition.secret and not definition.hashed:
            return "stored" if self._secrets.get(SECRET_NAME + key) else "default"
        return "stored" if key in self._stored else "default"


def _fit(stored: dict[str, object], definitions: Mapping[str, Definition]) -> None:
    """Take out what does not fit its definition any more."""
    for key in definitions.keys() & stored.keys():
        try:
            stored[key] = values.check(definitions[key], stored[key])
        except ConfigError as error:
            _log.warning("a stored setting is ignored: %s", error)
            del stored[key]


@asynccontextmanager
async def open_settings(
    store: Storage,
    overrides: Mapping[str, Override],
    secrets: SecretStore,
    *,
    wall: WallClock = system_wall_clock,
    persona: Path | None = None,
) -> AsyncIterator[Settings]:
    """The settings of one data folder, the kernel's own keys defined.  ``ConfigError`` if an override does not fit.

    ``persona``: the file that may hold the persona.
    """
    settings = Settings(store, secrets, wall)
    await settings.load(overrides)
    settings.define(CORE)
    await settings.force_hashed()
    await _begin(settings, store)
    if persona is not None:
        settings.follow_file(PERSONA, persona)
        await settings.refresh()
    exposed.warn(exposed.exposed(settings.definitions(), settings.get))
    yield settings


async def _begin(settings: Settings, store: Storage) -> None:
    """Seed what the kernel seeds.  A database that takes nothing any more does not keep homed from starting, and one
    that is only looked at gets its seeds from the homed that runs on it next."""
    if not (missing := settings.unseeded(SEEDS)):
        return
    try:
        old = await store.read(rows.in_use)
        await settings.seed({key: SEEDS[key].old if old else SEEDS[key].fresh for key in missing})
    except Looking:
        return
    except StorageError as error:
        _log.warning("first values of the settings are not stored: %s", error.message)
