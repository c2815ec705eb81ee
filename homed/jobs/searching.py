"""Looking through every file of the data folder, and blanking the lines of our logs in which something is found."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from homed.errors import Unavailable
from homed.memory.needles import Needles
from homed.proc.bounded import run_bounded
from homed.proc.spawn import Command

PAGE = 4096
"""Bytes of a page of the database."""

SECONDS = 3600.0
"""For a folder of many gigabytes on a slow disk."""

LEFT_OUT = ("backups", "replaced", "damaged", "models")
"""Folders that are not looked through: copies of before, which are told by name, and the weights of models."""

_ANSWER = 16 << 20
_LOG = re.compile(r"(?:homed\.log|logs/[^/]+\.log)(?:\.\d+)?")
_LINE = 1 << 16
_BLANK = b"(forgotten)"
DATABASE = re.compile(r"homed\.db(?:-wal|-journal)?")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came upon.  ``places``: (file, sentence, offset); ``unread``: files that could not be looked at."""

    files: int = 0
    bytes: int = 0
    places: Sequence[tuple[str, int, int]] = ()
    unread: Sequence[str] = ()
    cut: bool = False

    @property
    def pages(self) -> list[int]:
        """Pages of the database that something was found on, from 1."""
        return sorted({offset // PAGE + 1 for name, _, offset in self.places if name == "homed.db"})

    @property
    def by_file(self) -> Mapping[str, int]:
        """How often in each file."""
        return Counter(name for name, _, _ in self.places)


class Searcher(Protocol):
    """Looks through every file of the data folder."""

    async def __call__(self, needles: Needles) -> Found:
        """What is found.  Raises HomedError when it could not be looked."""
        ...


@dataclass(frozen=True, slots=True)
class InChild:
    """A search by a niced process of its own; killed when whoever waits is cancelled."""

    data: Path
    environment: Mapping[str, str]
    mark: str
    skip: Collection[str] = LEFT_OUT

    async def __call__(self, needles: Needles) -> Found:
        """See ``Searcher``."""
        argv = (sys.executable, "-P", "-m", "homed.jobs.bytesearch")
        forms = [[number, form.hex()] for number, form in needles.forms()]
        asked = {"root": str(self.data), "skip": sorted(self.skip), "needles": forms}
        line = json.dumps(asked).encode() + b"\n"
        done = await run_bounded(
            Command(argv, self.data, self.environment), input=line, limit=_ANSWER, timeout=SECONDS, mark=self.mark
        )
        if done.timed_out or done.exit.failed:
            raise Unavailable(f"The files could not be looked through ({done.exit}).", hint="See homed.log.")
        try:
            answer = json.loads(done.stdout)
            places = [(str(name), int(number), int(offset)) for name, number, offset in answer["finds"]]
            return Found(answer["files"], answer["bytes"], places, answer["unread"], answer["cut"])
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable("The search of the files gave no answer.") from error


def blank_logs(data: Path, found: Found, needles: Needles) -> int:
    """Overwrite the lines of our logs in which something was found; how many.  Blocks.

    Where they stand: others append meanwhile, and nothing moves.  No text of people belongs there in the first place.
    """
    lines = 0
    for name in {name for name, _, _ in found.places if _LOG.fullmatch(name)}:
        forms = [form for number, form in needles.forms() if any(n == name and number == k for n, k, _ in found.places)]
        with (data / name).open("r+b") as file:
            for offset in sorted({offset for other, _, offset in found.places if other == name}):
                lines += _blank_line(file.fileno(), offset, forms)
    return lines


def blank_all_logs(data: Path) -> int:
    """Overwrite every line of our logs, also of those that were turned over; how many.  Blocks.

    For a forgetting that a crash cut off: nobody knows any more which lines held what it removed.
    """
    lines = 0
    for path in (*data.glob("homed.log*"), *data.glob("logs/*")):
        if not path.is_file() or path.is_symlink() or not _LOG.fullmatch(str(path.relative_to(data))):
            continue
        with path.open("r+b") as file:
            said = file.read().split(b"\n")
            file.seek(0)
            file.write(b"\n".join(_BLANK.ljust(len(line), b".")[: len(line)] for line in said))
            file.flush()
            os.fsync(file.fileno())
        lines += sum(1 for line in said if line)
    return lines


def _blank_line(fd: int, offset: int, forms: Sequence[bytes]) -> int:
    begin = max(0, offset - _LINE)
    around = os.pread(fd, offset - begin + _LINE, begin)
    at = offset - begin
    start = around.rfind(b"\n", 0, at) + 1
    end = around.find(b"\n", at)
    end = len(around) if end < 0 else end
    if not any(form in around[start:end] for form in forms):
        return 0  # blanked already, or the log was turned over meanwhile
    os.pwrite(fd, _BLANK.ljust(end - start, b".")[: end - start], begin + start)
    os.fsync(fd)
    return 1
