"""Packages on their way: sent or downloaded and reviewed, not yet installed."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import trio

from homed.errors import NotFound, StorageError, Unavailable

from .limits import too_many

MOST = 4
"""Packages that lie here at once: a person looks at one at a time, and each may have 100 MB."""
KEPT_SECONDS = 900.0
"""How long one waits for a decision."""
SUFFIX = ".hmap"


@dataclass(slots=True)
class _One:
    source: str
    until: float


class Held:
    """Files in ``folder``, which is this page's alone.  Without a folder nothing is held: `Unavailable`."""

    def __init__(self, folder: Path | None, *, clock: Callable[[], float] = trio.current_time) -> None:
        self._folder, self._clock = folder, clock
        self._held: dict[str, _One] = {}

    async def fresh(self, source: str) -> tuple[str, Path]:
        """A new name and the path of its file, which is not there yet.  Raises `TooMany`."""
        for name in [name for name, one in self._held.items() if one.until <= self._clock()]:
            await self.drop(name)
        if len(self._held) >= MOST:
            raise too_many(min(one.until for one in self._held.values()) - self._clock())
        name = secrets.token_hex(8)
        self._held[name] = _One(source, self._clock() + KEPT_SECONDS)
        try:
            return name, await trio.to_thread.run_sync(self._made, name)
        except BaseException:
            del self._held[name]  # nobody knows its name
            raise

    def path(self, name: str) -> Path:
        """Where one lies.  Raises `NotFound` for one that does not, or no longer."""
        self.source(name)
        return self._place / f"{name}{SUFFIX}"

    def source(self, name: str) -> str:
        """Where one came from, in words."""
        one = self._held.get(name)
        if one is None or one.until <= self._clock():
            raise NotFound("That package is no longer here.", hint="Choose it again.")
        return one.source

    def call(self, name: str, source: str) -> None:
        """Say where one came from."""
        self._held[name].source = source

    async def drop(self, name: str) -> None:
        """Delete one; one that is not here is gone already."""
        if self._held.pop(name, None) is not None:
            await trio.to_thread.run_sync(_delete, self._place / f"{name}{SUFFIX}")

    def _made(self, name: str) -> Path:
        try:
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if len(self._held) == 1:  # what an earlier run left is nobody's
                for left in self._place.glob(f"*{SUFFIX}"):
                    left.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{self._place} cannot be used: {error.strerror}.") from error
        return self._place / f"{name}{SUFFIX}"

    @property
    def _place(self) -> Path:
        if self._folder is None:
            raise Unavailable("There is no place for packages here.")
        return self._folder


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)
