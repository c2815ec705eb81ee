"""Looking at a folder: what is in it, and a copy of what its files hold.  All of it blocks: run it in a thread.

Every step is relative to the open descriptor of the folder above and follows no link, so nothing outside is ever read,
whoever swaps what meanwhile.  Pipes, sockets and devices are listed and never opened.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from homed.errors import HomedError
from homed.sdk.tracking.ignore import Ignore
from homed.wire.tracked import FILE, FOLDER, LINK, OTHER, State

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

DEEPEST = 100
"""Folders within folders that are gone into: each holds a descriptor open."""

FRESH = 100_000_000
"""Nanoseconds: a file that changed so shortly before it was looked at may have changed again without its times showing
it, for these come in steps; it is read again."""

_TRIES = 3
_CHUNK = 1 << 20


class TooMuch(HomedError):
    """The folder holds more than is tracked, or takes too long."""

    code = "too_much"


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one folder: entries, seconds to look at it, bytes of one file that is kept, and of all of them together."""

    entries: int
    seconds: float
    file: int
    total: int


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry's state and the stamp by which it is known again without reading it."""

    state: State
    stamp: str
    fresh: bool = False


Snapshot = dict[bytes, Seen]
"""Path below the folder → what is there."""


@dataclass(slots=True)
class Look:
    """One look at a folder.  ``kept``: where copies of contents go, named by their sha256.

    ``known``: an earlier look; a file whose stamp is the same is not read again.  ``avoid``: folders, as device and
    inode, that are not gone into.
    """

    kept: Path
    limits: Limits
    known: Mapping[bytes, Seen] = field(default_factory=dict)
    avoid: Collection[tuple[int, int]] = ()
    taken: int = 0
    _until: float = 0.0

    def whole(self, folder: Path, ignore: Ignore) -> Snapshot:
        """Everything below ``folder`` but what is left out.  Raises TooMuch; OSError when it is no folder."""
        found: Snapshot = {}
        self._until = time.monotonic() + self.limits.seconds
        fd = os.open(folder, _FOLDER)
        try:
            self._into(fd, b"", ignore, found, 0)
        finally:
            os.close(fd)
        return found

    def some(self, folder: Path, paths: Collection[bytes]) -> Snapshot:
        """These entries and the folders they lie in, as far as they are there.  Raises TooMuch."""
        found: Snapshot = {}
        self._until = time.monotonic() + self.limits.seconds
        for path in sorted({above for one in paths for above in prefixes(one)}):
            with suppress(OSError), parent_of(folder, path) as (above, name):
                if (seen := self._entry(above, name, path)) is not None:
                    found[path] = seen
            self._bound(found)
        return found

    def _into(self, fd: int, path: bytes, ignore: Ignore, found: Snapshot, depth: int) -> None:
        try:
            names = sorted(os.listdir(fd), key=os.fsencode)
        except OSError:
            return  # a folder that nobody may read: it is listed, and what is in it is not ours to know
        for name in map(os.fsencode, names):
            inside = path + b"/" + name if path else name
            try:
                info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue
            folder = stat.S_ISDIR(info.st_mode)
            if ignore(inside, folder=folder) or (info.st_dev, info.st_ino) in self.avoid:
                continue
            seen = self._entry(fd, name, inside)
            if seen is None:
                continue
            found[inside] = seen
            self._bound(found)
            if seen.state.kind == FOLDER:
                self._below(fd, name, (inside, ignore, found, depth + 1))

    def _below(self, fd: int, name: bytes, rest: tuple[bytes, Ignore, Snapshot, int]) -> None:
        inside, ignore, found, depth = rest
        if depth > DEEPEST:
            raise TooMuch(f"it has more than {DEEPEST} folders one within the other")
        try:
            below = os.open(name, _FOLDER, dir_fd=fd)
        except OSError:
            return
        try:
            if os.fstat(below).st_dev == os.fstat(fd).st_dev:  # what is mounted there is another place
                self._into(below, inside, ignore, found, depth)
        finally:
            os.close(below)

    def _bound(self, found: Snapshot) -> None:
        if len(found) > self.limits.entries:
            raise TooMuch(f"it holds more than {self.limits.entries} files and folders")
        if time.monotonic() > self._until:
            raise TooMuch(f"looking at it took longer than {self.limits.seconds:g} s")

    def _entry(self, above: int, name: bytes, path: bytes) -> Seen | None:
        try:
            info = os.stat(name, dir_fd=above, follow_symlinks=False)
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISDIR(info.st_mode):
                return Seen(State(FOLDER, mode), "")
            if stat.S_ISLNK(info.st_mode):
                return Seen(State(LINK, mode, target=os.readlink(name, dir_fd=above)), "")
            if not stat.S_ISREG(info.st_mode):
                return Seen(State(OTHER, mode), "")
            return self._file(above, name, path, info)
        except FileNotFoundError:
            return None

    def _file(self, above: int, name: bytes, path: bytes, info: os.stat_result) -> Seen:
        stamp, before = stamp_of(info), self.known.get(path)
        if before is not None and before.stamp == stamp and not before.fresh:
            return before
        mode = stat.S_IMODE(info.st_mode)
        size = info.st_size
        unkept = "large" if size > self.limits.file else "full" if self.taken + size > self.limits.total else ""
        if not unkept:
            for _ in range(_TRIES):
                try:
                    done = self._copy(above, name)
                except OSError:
                    unkept = "unreadable"
                    break
                if done is not None:
                    return done
            else:
                unkept = "changing"
        return Seen(State(FILE, mode, size, unkept=unkept, stamp=stamp), stamp)

    def _copy(self, above: int, name: bytes) -> Seen | None:
        """Keep what a file holds; None if it changed meanwhile."""
        fd = os.open(name, _READ, dir_fd=above)
        part = self.kept / f"{secrets.token_hex(8)}.part"
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > self.limits.file:
                return None
            digest, size = hashlib.sha256(), 0
            with part.open("xb") as copy:
                while piece := os.read(fd, _CHUNK):
                    digest.update(piece)
                    copy.write(piece)
                    size += len(piece)
                    if size > self.limits.file:
                        return None
            after, now = os.fstat(fd), time.time_ns()
            if stamp_of(after) != stamp_of(info) or size != after.st_size:
                return None
            part.replace(self.kept / digest.hexdigest())
        finally:
            os.close(fd)
            part.unlink(missing_ok=True)
        self.taken += size
        fresh = now - max(after.st_ctime_ns, after.st_mtime_ns) < FRESH
        return Seen(State(FILE, stat.S_IMODE(after.st_mode), size, digest.hexdigest()), stamp_of(after), fresh)


def stamp_of(info: os.stat_result) -> str:
    """Which state of which file it is, as far as its folder tells."""
    return f"{info.st_ino}:{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}"


def prefixes(path: bytes) -> Iterator[bytes]:
    """The folders that a path lies in, from the outermost, and the path itself."""
    names = path.split(b"/")
    for count in range(1, len(names) + 1):
        yield b"/".join(names[:count])


@contextmanager
def parent_of(folder: Path, path: bytes) -> Iterator[tuple[int, bytes]]:
    """The open folder that an entry lies in, and its name there; OSError: there is none, or a link is in the way."""
    *above, name = path.split(b"/")
    fd = os.open(folder, _FOLDER)
    try:
        for part in above:
            fd, closing = os.open(part, _FOLDER, dir_fd=fd), fd
            os.close(closing)
        yield fd, name
    finally:
        os.close(fd)
