"""A setting that a person may write in a file of its own instead: the persona.  The file is stronger than what is
stored, and is read again when it changed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import trio

from homed.config.definitions import Definition
from homed.config.environment import Override
from homed.config.values import MAX_TEXT
from homed.errors import ConfigError

_log = logging.getLogger(__name__)

_BYTES = 4 * MAX_TEXT
"""More cannot be a text that is short enough."""

Stamp = tuple[int, int, int]


class GivenFile:
    """Watches one file.  ``give`` and ``withdraw`` are those of `Settings`."""

    def __init__(
        self,
        definition: Definition,
        path: Path,
        give: Callable[[Override], bool],
        withdraw: Callable[[str], None],
    ) -> None:
        self._definition = definition
        self._path = path
        self._give = give
        self._withdraw = withdraw
        self._seen: Stamp | None = None
        self._one_look = trio.Lock()

    async def look(self) -> None:
        """Take on what the file holds now, if it changed.  One that cannot be used is logged and the last good text
        stays; an empty one counts as none.  Nothing is raised; cancelled, the next look does it."""
        async with self._one_look:
            stamp, text, fault = await trio.to_thread.run_sync(_read, self._path, self._seen)
            if stamp == self._seen:
                return
            self._seen = stamp
            if fault:
                _log.warning("%s is not used: %s", self._path, fault)
            elif not text.strip():
                self._withdraw(self._definition.key)
            else:
                self._take(text)

    def _take(self, text: str) -> None:
        key = self._definition.key
        try:
            if not self._give(Override(key, text.strip(), "file", str(self._path))):
                _log.warning("%s is not used: %s is given elsewhere", self._path, key)
        except ConfigError as error:
            _log.warning("%s is not used: %s", self._path, error.message)


def _read(path: Path, seen: Stamp | None) -> tuple[Stamp | None, str, str]:
    """Its stamp, its text if that is another one than ``seen``, and why it cannot be used.  Blocks for the disk."""
    try:
        found = path.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp == seen:
            return stamp, "", ""
        if not path.is_file():
            return stamp, "", "it is no file"
        with path.open("rb") as file:
            raw = file.read(_BYTES + 1)
        # not decoded then: it may be cut in the middle of a character
        return (stamp, "", "it is too long") if len(raw) > _BYTES else (stamp, raw.decode("utf-8-sig"), "")
    except FileNotFoundError:
        return None, "", ""
    except OSError as error:
        return (0, 0, 0), "", error.strerror or "it cannot be read"
    except UnicodeDecodeError:
        return stamp, "", "it is not UTF-8"
