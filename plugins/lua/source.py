"""Reads a Lua plugin's files, from its folder and nowhere else, and knows when one of them has changed."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

MAIN = "main.lua"
MAX_FILE = 1 << 20
MAX_FILES = 200
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,7}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Print = tuple[int, int, int, int]
"""What tells one version of a file from another: device, inode, size, time of change."""


class Source:
    """The ``.lua`` files below a folder.  No link is followed inside it, so nothing leads out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, Print | None] = {}
        """Grows in Lua's thread while others look: they look at a copy."""

    def main(self) -> bytes:
        """The text of ``main.lua``.  Raises `LookupError` saying what is wrong."""
        return self._load((MAIN,))

    def module(self, name: str) -> tuple[str, bytes]:
        """``a.b`` → the file ``a/b.lua`` or ``a/b/init.lua`` with its text.  Raises `LookupError`."""
        if not _NAME.fullmatch(name):
            raise LookupError(f"require({name[:80]!r}): a module is a .lua file of this plugin, named like a.b")
        *above, last = name.split(".")
        for parts in ((*above, f"{last}.lua"), (*above, last, "init.lua")):
            try:
                return "/".join(parts), self._load(parts)
            except FileNotFoundError:
                continue
        raise LookupError(f"require({name!r}): there is no {name.replace('.', '/')}.lua in this plugin")

    def changed(self) -> bool:
        """Whether a file that was read, or looked for, is another now."""
        return any(self._print(name) != seen for name, seen in self._read.copy().items())

    def prints(self) -> tuple[Print | None, ...]:
        """The files as they are now; equal twice in a row means that nobody is writing them."""
        return tuple(self._print(name) for name in tuple(self._read))

    def _print(self, name: str) -> Print | None:
        try:
            found = os.stat(self._folder / name, follow_symlinks=False)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _load(self, parts: tuple[str, ...]) -> bytes:
        name = "/".join(parts)
        if name not in self._read and len(self._read) >= 2 * MAX_FILES:
            raise LookupError(f"{name}: over {MAX_FILES} files")
        self._read[name] = self._print(name)
        try:
            return self._bytes(parts)
        except FileNotFoundError:
            if parts == (MAIN,):
                raise LookupError(f"there is no {MAIN} in {self._folder}") from None
            raise
        except OSError as error:
            raise LookupError(f"{name}: {error.strerror} (links are not followed)") from error

    def _bytes(self, parts: tuple[str, ...]) -> bytes:
        fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                above, fd = fd, os.open(part, _FOLDER, dir_fd=fd)
                os.close(above)
            above, fd = fd, os.open(parts[-1], _FILE, dir_fd=fd)
            os.close(above)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise LookupError(f"{'/'.join(parts)} is no regular file")
            with os.fdopen(os.dup(fd), "rb") as file:
                data = file.read(MAX_FILE + 1)
        finally:
            os.close(fd)
        if len(data) > MAX_FILE:
            raise LookupError(f"{'/'.join(parts)} is over {MAX_FILE} bytes")
        return data
