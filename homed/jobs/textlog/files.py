"""The files: ``DATA/textlog/2026-01-31.jsonl``, and ``.1``, ``.2``, … before the ending for what had no room.  Blocks.

Folder 0700, files 0600; links are not followed.  A line is whole or not there: what a crash cut off is taken away
before the next is written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from homed.errors import StorageError

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.(\d{1,6}))?\.jsonl")
_PART = re.compile(r"\..*\.part")
_TAIL = 1 << 20
"""Bytes of a file's end that hold its last line: it has some 200 000 at the most."""

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def name(day: str, number: int) -> str:
    """Of the file of a day with this number, from 0."""
    return f"{day}.{number}.jsonl" if number else f"{day}.jsonl"


def listed(folder: Path) -> dict[str, list[int]]:
    """The numbers of the files there are, by day."""
    found: dict[str, list[int]] = {}
    with suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            if match := _NAME.fullmatch(entry):
                found.setdefault(match[1], []).append(int(match[2] or 0))
    return {day: sorted(found[day]) for day in sorted(found)}


def mend(folder: Path) -> int:
    """Take away what a crash cut off; the number of the last event there is a line of, 0 for none."""
    last = 0
    for day, numbers in listed(folder).items():
        last = max(last, _mended(folder / name(day, numbers[-1])))
    with suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            if _PART.fullmatch(entry):
                (folder / entry).unlink()
    return last


def _mended(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        start = max(0, size - _TAIL)
        tail = os.pread(fd, _TAIL, start)
        whole = tail.rfind(b"\n") + 1
        if start + whole < size:
            os.ftruncate(fd, start + whole)
        lines = tail[:whole].splitlines()
        try:
            return int(json.loads(lines[-1])["seq"]) if lines else 0
        except (ValueError, KeyError, TypeError):
            return 0
    finally:
        os.close(fd)


def append(folder: Path, by_day: Mapping[str, Iterable[str]], most: int) -> None:
    """Add lines; a file that has ``most`` bytes is not added to, and the next number is begun."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = listed(folder)
    for day, lines in by_day.items():
        number = there.get(day, [0])[-1]
        fd = os.open(folder / name(day, number), _APPEND, 0o600)
        try:
            for line in lines:
                data = line.encode("utf-8", "replace") + b"\n"
                if (size := os.fstat(fd).st_size) and size + len(data) > most:
                    os.close(fd)
                    number += 1
                    fd = os.open(folder / name(day, number), _APPEND, 0o600)
                    size = 0
                _all(fd, data, size)
        finally:
            os.close(fd)


def _all(fd: int, data: bytes, size: int) -> None:
    """The whole of it, or nothing of it: half a line would be taken for a whole one by those who follow the file."""
    if (written := os.write(fd, data)) != len(data):
        os.ftruncate(fd, size)
        raise StorageError(
            f"A line of the text log could not be written ({written} of {len(data)} bytes).", hint="Is the disk full?"
        )


def drop_before(folder: Path, day: str) -> None:
    """Remove the files of earlier days."""
    for old, numbers in listed(folder).items():
        if old < day:
            for number in numbers:
                (folder / name(old, number)).unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove every file."""
    drop_before(folder, "9999-99-99")
    with suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            if _PART.fullmatch(entry):
                (folder / entry).unlink()
        folder.rmdir()


class Anew:
    """All files made anew beside the old ones; ``place`` puts them in their places, ``drop`` takes them away.

    A crash meanwhile leaves each file as it was or as it is to be.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most
        self._numbers: dict[str, int] = {}
        self._fds: dict[str, int] = {}

    def add(self, by_day: Mapping[str, Iterable[str]]) -> None:
        """The next lines."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for day, lines in by_day.items():
            for line in lines:
                data = line.encode("utf-8", "replace") + b"\n"
                fd = self._fds.get(day, -1)
                if fd < 0 or os.fstat(fd).st_size + len(data) > self._most:
                    fd = self._next(day)
                _all(fd, data, os.fstat(fd).st_size)

    def _next(self, day: str) -> int:
        if day in self._fds:
            os.close(self._fds.pop(day))
        self._numbers[day] = self._numbers.get(day, -1) + 1
        fd = os.open(self._part(day, self._numbers[day]), _APPEND | os.O_TRUNC, 0o600)
        self._fds[day] = fd
        return fd

    def _part(self, day: str, number: int) -> Path:
        return self._folder / f".{name(day, number)}.part"

    def drop(self) -> None:
        """Leave everything as it was."""
        for day, number in self._closed():
            self._part(day, number).unlink(missing_ok=True)

    def place(self) -> None:
        """Have these files and no others."""
        made = self._closed()
        for day, number in made:
            self._part(day, number).replace(self._folder / name(day, number))
        for day, numbers in listed(self._folder).items():
            for number in numbers:
                if (day, number) not in made:
                    (self._folder / name(day, number)).unlink()

    def _closed(self) -> list[tuple[str, int]]:
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
        return [(day, number) for day, last in self._numbers.items() for number in range(last + 1)]
