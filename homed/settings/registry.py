"""The registry of settings: definitions, stored values and what was given from outside, in one place.

Strongest first: command-line flag, environment variable, ``homed.toml``, what a person stored, the default.  Reading is
sync and from memory; writing goes through the store.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import trio

from homed.clock import WallClock, system_wall_clock
from homed.config import values
from homed.config.definitions import CORE, Definition
from homed.config.environment import Override, closest, unknown_key
from homed.errors import ConfigError, Conflict, NotFound, TimedOut
from homed.identity.passwords import MIN_LENGTH, hash_password, is_hash
from homed.settings.ports import SecretStore
from homed.settings.watch import Watch
from homed.store.rows import Damaged, Storage, Tx, dumps, loads

PROVIDES = ("settings",)
NEEDS = ("config", "store")

# the methods of Settings that are named after the types hide these names in the signatures of the class
_Int = int
_Float = float
_Str = str
_Bool = bool

MASK = "••••••••"
"""Shown in place of a password that is set."""
COMMIT_LIMIT = 10.0
"""Seconds that a change may take once begun; it is not interrupted, so that memory and database agree."""
SECRET_NAME = "setting."
"""Before a password setting's key in the secrets file."""

_log = logging.getLogger(__name__)


class Applied(StrEnum):
    """When a change takes effect."""

    NOW = "now"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting for people.  A password's ``value`` is masked; ``source``: default, stored, file, env or flag."""

    key: str
    value: object
    source: str
    definition: Definition

    @property
    def masked(self) -> bool:
        """True when ``value`` is not the real one."""
        return self.definition.secret


class Settings:
    """Typed settings.  Made by ``open_settings``; used from the Trio thread only."""

    def __init__(self, store: Storage, secrets: SecretStore, wall: WallClock) -> None:
        self._store = store
        self._secrets = secrets
        self._wall = wall
        self._definitions: dict[_Str, Definition] = {}
        self._overrides: dict[_Str, Override] = {}
        self._forced: dict[_Str, object] = {}
        self._stored: dict[_Str, object] = {}
        self._watches: list[Watch] = []
        self._one_change = trio.Lock()

    async def load(self, overrides: Mapping[_Str, Override]) -> None:
        """Read what is stored and take on what was given from outside; once, before anything is defined."""
        try:
            self._stored = await self._store.read(_load)
        except Damaged as error:  # the defaults do until it is mended; nothing is stored over it meanwhile
            _log.error("the stored settings cannot be read: %s", error.message)
        self._overrides = dict(overrides)

    def define(self, definitions: Iterable[Definition]) -> None:
        """Add definitions, and check what is stored or was given from outside for their keys.

        A key defined again gets the new definition (a plugin was updated).  Raises ``ConfigError`` naming file and
        line, or variable, and adds nothing then.  A stored value that no longer fits is left out and logged.
        """
        new = {definition.key: definition for definition in definitions}
        forced = {key: self._overrides[key].checked(new[key]) for key in new if key in self._overrides}
        for key in new.keys() & self._stored.keys():
            try:
                self._stored[key] = values.check(new[key], self._stored[key])
            except ConfigError as error:
                _log.warning("a stored setting is ignored: %s", error)
                del self._stored[key]
        self._definitions.update(new)
        self._forced.update(forced)

    def redefine(self, prefix: _Str, definitions: Iterable[Definition]) -> None:
        """Have these definitions below ``prefix`` and no others: a plugin came, changed, or went.

        As `define`, which raises before anything is changed; stored values that nothing defines any more stay stored.
        """
        new = list(definitions)
        self.define(new)
        keys = {definition.key for definition in new}
        for key in [key for key in self._definitions if key.startswith(prefix) and key not in keys]:
            del self._definitions[key]
            self._forced.pop(key, None)

    async def discard(self, prefix: _Str) -> None:
        """Forget every stored value and password below ``prefix``, defined or not."""
        async with self._one_change:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                await self._store.write(lambda tx: _discard(tx, prefix))
                for key in [key for key in self._stored if key.startswith(prefix)]:
                    del self._stored[key]
                for name in [name for name in self._secrets.names() if name.startswith(SECRET_NAME + prefix)]:
                    await trio.to_thread.run_sync(self._secrets.delete, name)

    def unclaimed(self) -> list[_Str]:
        """What was given from outside for keys that nothing defines: one sentence each, for the log and ``status``."""
        return [
            str(unknown_key(override, self._definitions))
            for key, override in self._overrides.items()
            if key not in self._definitions
        ]

    def definition(self, key: _Str) -> Definition:
        """The definition of a key, or ``NotFound`` with the nearest key there is."""
        if key not in self._definitions:
            near = closest(key, self._definitions)
            raise NotFound(f"There is no setting {key!r}.", hint=f"{near}`homed config list` shows them all.")
        return self._definitions[key]

    def get(self, key: _Str) -> Any:
        """The value in force.  ``NotFound`` for a key that nothing defines."""
        definition = self.definition(key)
        if key in self._forced:
            return self._forced[key]
        if definition.secret and not definition.hashed:
            return self._secrets.get(SECRET_NAME + key) or definition.default
        return self._stored.get(key, definition.default)

    def int(self, key: _Str) -> _Int:
        """The value of a whole-number setting."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} is not a whole number")
        return value

    def float(self, key: _Str) -> _Float:
        """The value of a number or duration setting, durations in seconds."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is not a number")
        return float(value)

    def str(self, key: _Str) -> _Str:
        """The value of a text setting."""
        value = self.get(key)
        if not isinstance(value, str):
            raise TypeError(f"{key} is not a text")
        return value

    def bool(self, key: _Str) -> _Bool:
        """The value of a yes-or-no setting."""
        value = self.get(key)
        if not isinstance(value, bool):
            raise TypeError(f"{key} is not yes or no")
        return value

    def view(self, key: _Str) -> SettingView:
        """A setting as it may be shown: never a password."""
        definition = self.definition(key)
        value = self.get(key)
        if definition.secret:
            value = MASK if value else ""
        return SettingView(key, value, self._source(definition), definition)

    def list_(self, prefix: _Str = "", *, hidden: _Bool = False) -> list[SettingView]:
        """The settings whose key begins with ``prefix``, by key; hidden ones only if asked for."""
        return [
            self.view(key)
            for key, definition in sorted(self._definitions.items())
            if key.startswith(prefix) and (hidden or not definition.hidden)
        ]

    def changeable(self, key: _Str) -> None:
        """``Conflict`` when the key is given from outside, so that no stored value counts; ``NotFound``."""
        self.definition(key)
        if key in self._overrides:
            raise Conflict(
                f"{key} is given by {self._overrides[key].place}, which is stronger than a stored value.",
                hint="Change it there, or remove it there first.",
            )

    async def set(self, key: _Str, value: object) -> Applied:
        """Check, store and announce a value; a text is read as the type wants it ("5", "on", "90s").

        Raises ``ConfigError`` for a wrong value and ``Conflict`` when the key is given from outside.  Not interrupted
        once the commit has begun: after cancellation it is either whole or not there.
        """
        self.changeable(key)
        definition = self.definition(key)
        read = values.from_text if isinstance(value, str) else values.check
        checked = read(definition, value)  # type: ignore[arg-type]
        if definition.hashed and isinstance(checked, str) and checked:
            checked = await hashed(definition, checked)
        async with self._one_change:
            await self._commit(definition, checked)
            self.announce(key)
        return Applied.RESTART if definition.restart else Applied.NOW

    async def seed(self, defaults: Mapping[_Str, object]) -> list[_Str]:
        """Store first values once in the life of a database, and return the keys that were stored.

        A marker a key says that it was done, so: a fresh database gets all; one that holds a value already keeps it;
        what a person has changed since is not touched; only markers that are missing are made up for.
        """
        checked = {key: values.check(self.definition(key), value) for key, value in defaults.items()}
        async with self._one_change:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                stored = await self._store.write(lambda tx: _seed(tx, checked, self._wall()))
            self._stored.update({key: checked[key] for key in stored})
        return stored

    @contextmanager
    def watch(self, prefix: _Str = "") -> Iterator[Watch]:
        """Follow changes of keys that begin with ``prefix`` for the length of the block."""
        watch = Watch(prefix)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def announce(self, key: _Str) -> None:
        """Tell every watch that ``key`` has a new value."""
        value = self.get(key)
        for watch in self._watches:
            watch.offer(key, value)

    async def force_hashed(self) -> None:
        """Hash the passwords that came from outside in the clear."""
        for key, value in self._forced.items():
            definition = self._definitions[key]
            if definition.hashed and isinstance(value, str) and value and not is_hash(value):
                self._forced[key] = await hashed(definition, value)

    async def _commit(self, definition: Definition, value: object) -> None:
        try:
            with trio.fail_after(COMMIT_LIMIT, shield=True):
                if definition.secret and not definition.hashed:
                    await trio.to_thread.run_sync(_keep_secret, self._secrets, definition.key, value)
                else:
                    now = self._wall()
                    await self._store.write(lambda tx: _store(tx, definition.key, value, now))
                    self._stored[definition.key] = value
        except trio.TooSlowError:
            raise TimedOut(
                f"Storing {definition.key} took longer than {COMMIT_LIMIT:g} s; it may still be stored later.",
                hint="Look at it again after a restart; is the disk busy or full?",
            ) from None

    def _source(self, definition: Definition) -> _Str:
        key = definition.key
        if key in self._forced:
            return self._overrides[key].source
        if definition.secret and not definition.hashed:
            return "stored" if self._secrets.get(SECRET_NAME + key) else "default"
        return "stored" if key in self._stored else "default"


@asynccontextmanager
async def open_settings(
    store: Storage,
    overrides: Mapping[str, Override],
    secrets: SecretStore,
    *,
    wall: WallClock = system_wall_clock,
) -> AsyncIterator[Settings]:
    """The settings of one data folder, the kernel's own keys defined.  ``ConfigError`` if an override does not fit."""
    settings = Settings(store, secrets, wall)
    await settings.load(overrides)
    settings.define(CORE)
    await settings.force_hashed()
    yield settings


async def hashed(definition: Definition, password: str) -> str:
    """The scrypt hash of a new password, made in a thread; ``ConfigError`` if it is too short."""
    if len(password) < MIN_LENGTH:
        raise ConfigError(f"{definition.key} needs at least {MIN_LENGTH} characters.")
    return await trio.to_thread.run_sync(hash_password, password)


def _keep_secret(secrets: SecretStore, key: str, value: object) -> None:
    if value:
        secrets.set(SECRET_NAME + key, str(value))
    else:
        secrets.delete(SECRET_NAME + key)


def _load(tx: Tx) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, text in tx.all("SELECT key, value FROM settings"):
        try:
            found[key] = values.whole(loads(text))
        except ValueError:
            _log.warning("the stored setting %s is ignored: it is not JSON", key)
    return found


def _store(tx: Tx, key: str, value: object, now: float) -> None:
    tx.execute(
        "INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (key, dumps(value), now),
    )


def _discard(tx: Tx, prefix: str) -> None:
    for (key,) in tx.all("SELECT key FROM settings"):
        if key.startswith(prefix):
            tx.execute("DELETE FROM settings WHERE key = ?", (key,))


def _seed(tx: Tx, defaults: Mapping[str, object], now: float) -> list[str]:
    stored: list[str] = []
    for key, value in defaults.items():
        if tx.one("SELECT 1 FROM seeds WHERE key = ?", (key,)):
            continue
        tx.execute("INSERT INTO seeds (key, seeded_at) VALUES (?, ?)", (key, now))
        if not tx.one("SELECT 1 FROM settings WHERE key = ?", (key,)):
            _store(tx, key, value, now)
            stored.append(key)
    return stored
