"""Looking for bytes in every file of a folder: a process of its own, so that the daemon's does not stand still for it.

``python -m homed.jobs.bytesearch`` reads one line of JSON, ``{"root", "skip": [names in it], "page": bytes, "needles":
[[number, hex], …]}``, and writes one: ``{"files", "bytes", "unread": [names], "finds": [[name, needle, offset], …],
"cut": bool}``.  The needles come by the pipe: an argument can be seen by everybody.

A process of its own also because of the database: who opens and closes it by other means than SQLite lets go of all the
locks that his process has on it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CHUNK = 4 * 1024 * 1024
MOST_FINDS = 20_000

Finds = list[tuple[str, int, int]]
"""File (its place in the folder), needle, offset."""

_BITS = 20
_COMMON = frozenset(b" etaoinshrdl,.\x00")


class Haystack:
    """Finds needles in pieces of bytes: a table of some eight bytes of each says where to look closely; of the few that
    are shorter than that, of four."""

    def __init__(self, needles: Sequence[tuple[int, bytes]]) -> None:
        self.longest = max((len(needle) for _, needle in needles), default=0)
        long = [(number, needle) for number, needle in needles if len(needle) >= 8]
        short = [(number, needle) for number, needle in needles if 4 <= len(needle) < 8]
        self._tables = [_Table(some, block) for some, block in ((long, 8), (short, 4)) if some]

    def find(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """``(needle, from, to)`` of every place."""
        for table in self._tables:
            yield from table.find(data)


class _Table:
    def __init__(self, needles: Sequence[tuple[int, bytes]], block: int) -> None:
        import numpy as np

        self._np, self._block = np, block
        self._kind: Any = np.uint64 if block == 8 else np.uint32
        self._by_block: defaultdict[bytes, list[tuple[int, int, bytes]]] = defaultdict(list)
        for number, needle in needles:
            at = _rarest(needle, block)
            self._by_block[needle[at : at + block]].append((number, at, needle))
        self._known = np.zeros(1 << _BITS, dtype=bool)
        self._known[self._hashed(np.frombuffer(b"".join(self._by_block), dtype=self._kind))] = True

    def _hashed(self, blocks: Any) -> Any:
        odd = 11400714819323198485 if self._block == 8 else 2654435761
        return (blocks * self._kind(odd)) >> self._kind(8 * self._block - _BITS)

    def find(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        block = self._block
        for shift in range(block):
            count = (len(data) - shift) // block
            if count <= 0:
                return
            blocks = self._np.frombuffer(data, dtype=self._kind, count=count, offset=shift)
            for at in self._np.flatnonzero(self._known[self._hashed(blocks)]):
                yield from self._closely(data, int(at) * block + shift)

    def _closely(self, data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
        for number, inside, needle in self._by_block.get(data[at : at + self._block], ()):
            if at >= inside and data.startswith(needle, at - inside):
                yield number, at - inside, at - inside + len(needle)


def _rarest(needle: bytes, block: int) -> int:
    """Where in it those bytes are that most likely stand nowhere else."""
    places = range(min(len(needle), 64) - block + 1)
    return max(places, key=lambda at: len(set(needle[at : at + block]) - _COMMON))


def search(root: Path, needles: Sequence[tuple[int, bytes]], skip: Sequence[str] = ()) -> Mapping[str, object]:
    """Look through every regular file below ``root`` but those in ``skip``; no link is followed."""
    hay, finds, unread = Haystack(needles), Finds(), list[str]()
    files = size = 0
    for name, path in _files(root, frozenset(skip)):
        try:
            for number, offset in _in_file(path, hay):
                finds.append((name, number, offset))
                if len(finds) >= MOST_FINDS:
                    return _answer(files, size, unread, finds, cut=True)
            size += path.stat().st_size
            files += 1
        except FileNotFoundError:
            continue  # gone meanwhile: a log that was turned over, a socket's lock
        except OSError:
            unread.append(name)
    return _answer(files, size, unread, finds, cut=False)


def _answer(files: int, size: int, unread: list[str], finds: Finds, *, cut: bool) -> dict[str, object]:
    return {"files": files, "bytes": size, "unread": unread, "finds": finds, "cut": cut}


def _files(root: Path, skip: frozenset[str]) -> Iterator[tuple[str, Path]]:
    for folder, below, names in os.walk(root, followlinks=False):
        here = os.path.relpath(folder, root)
        below[:] = sorted(name for name in below if os.path.normpath(os.path.join(here, name)) not in skip)
        for name in sorted(names):
            inside = os.path.normpath(os.path.join(here, name))
            path = Path(folder, name)
            try:
                if inside not in skip and stat.S_ISREG(path.lstat().st_mode):
                    yield inside, path
            except FileNotFoundError:
                continue


def _in_file(path: Path, hay: Haystack) -> Iterator[tuple[int, int]]:
    overlap = max(0, hay.longest - 1)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        tail, at = b"", 0
        while piece := os.read(fd, CHUNK):
            data = tail + piece
            for number, start, end in hay.find(data):
                if end > len(tail):  # else it was found with the piece before
                    yield number, at - len(tail) + start
            at += len(piece)
            tail = data[-overlap:] if overlap else b""
    finally:
        os.close(fd)


def main() -> None:
    """Answer one question."""
    asked = json.loads(sys.stdin.buffer.readline())
    os.nice(10)
    needles = [(int(number), bytes.fromhex(form)) for number, form in asked["needles"]]
    answer = search(Path(asked["root"]), needles, asked.get("skip", ()))
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
