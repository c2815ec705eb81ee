"""Free places of database pages, overwritten.

``secure_delete`` overwrites what is deleted where it stands.  But when a page is full, SQLite moves rows from it to its
neighbours, and their bytes stay in what is free of it from then on; if such a row is deleted later, only the one that
counts is overwritten.  (Of 300 keys deleted among 3 000, two or three stood in the file still.)  VACUUM would write the
whole file anew and hold the writer for as long.  What is free on a page means nothing to SQLite, so it can be
overwritten where it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import apsw

PAGES = 256
"""Looked at while the writer is held: some 5 ms."""

MOST = 1 << 25
"""Pages of a file in which a page's first byte tells a tree's page from any other: those begin with a page number."""

_HEADERS = {2: 12, 5: 12, 10: 8, 13: 8}
"""Kind of a tree's page (index or table, inner or leaf) → bytes of its header."""


def scrub(connection: apsw.Connection, path: Path, pages: Iterable[int]) -> tuple[int, bool]:
    """Overwrite what is free on these pages: ``(bytes that were not zero, whether the file ended before the last)``.

    The log must be empty and nobody may write meanwhile; the connection forgets the pages it knows, so that it does not
    write their old bytes back.  The file is reached through SQLite's own layer: to open and close it by other means
    would let go of all the locks that this process has on it.
    """
    size = int(connection.pragma("page_size"))
    file = apsw.VFSFile(connection.open_vfs, str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        return _overwrite(file, size, pages)
    finally:
        file.xClose()
        connection.release_memory()


def _overwrite(file: apsw.VFSFile, size: int, pages: Iterable[int]) -> tuple[int, bool]:
    last, found, over = min(file.xFileSize() // size, MOST), 0, False
    for number in pages:
        if not 0 < number <= last:
            over = True
            continue
        page, at = file.xRead(size, (number - 1) * size), (number - 1) * size
        for start, end in free_places(page, first=number == 1):
            if dirty := end - start - page.count(0, start, end):
                file.xWrite(bytes(end - start), at + start)
                found += dirty
    if found:
        file.xSync(apsw.SQLITE_SYNC_FULL)
    return found, over


def free_places(page: bytes, *, first: bool = False) -> list[tuple[int, int]]:
    """``(from, to)`` of what is free on a page: between its list of cells and the cells, and in holes between those.

    Nothing for a page that is no tree's, or does not look like one.  ``first``: the file's header is before it.
    """
    at, size = 100 if first else 0, len(page)
    header = _HEADERS.get(page[at]) if size >= 512 else None
    if header is None:
        return []
    hole, cells, content = struct.unpack_from(">HHH", page, at + 1)
    begin, end = at + header + 2 * cells, content or 65536
    if not begin <= end <= size:
        return []
    places = [(begin, end)]
    while hole:  # a hole says where the next is and how long it is; the rest of it is free
        if not end <= hole <= size - 4:
            return []
        following, length = struct.unpack_from(">HH", page, hole)
        if length < 4 or hole + length > size or (following and following < hole + length):
            return []
        places.append((hole + 4, hole + length))
        hole = following
    return places
