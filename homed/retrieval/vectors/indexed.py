"""Vectors in files: a matrix that is mapped, and the trees of Annoy over it.

A folder ``KEY-NUMBER`` below ``DATA/vectors`` is one index and never changes: ``vectors`` (float32, n × dims), ``ids``
(int64: n ids, then n items), ``tree`` (Annoy's own file) and ``about.json``, which is written last.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homed.retrieval.vectors.flat import Found, nearest_rows
from homed.retrieval.vectors.rows import Block, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = f"1 annoy 1.17 {sys.byteorder}"
"""Of the files; Annoy's is a picture of memory and fits no other machine."""

MEASURED = 10
"""Neighbours for which the width of a search was measured.  Who asks for more gets these as surely, and most others."""

_WIDER = 4
"""A search looks at so many times what it is to find, at the least."""

_ABOUT = "about.json"
_CHUNK = 1 << 20


class Unusable(Exception):
    """These files are no index of ours, damaged, or another's: they are thrown away and made anew."""


@dataclass(frozen=True, slots=True)
class About:
    """What stands in ``about.json``.

    ``whose``: see ``whose``; ``mark``: the highest id that was a row when it was made; ``width``: Annoy's ``search_k``
    with which it was measured to find enough (0: none does, and the matrix is searched whole); ``sums``: of the files.
    """

    whose: str
    dims: int
    count: int
    mark: int
    width: int
    recall: float = 0.0
    sums: Mapping[str, str] = field(default_factory=dict)
    format: str = FORMAT


def whose(fingerprint: str, part: Part) -> str:
    """What names a part for good, though the number of its space may be given again by another database."""
    text = json.dumps([fingerprint, part.dims, part.scope, part.kind])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def checksum(path: Path) -> str:
    """Of a file; 500 MB take half a second."""
    total = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


class Draft:
    """The matrix of a new index, written block by block.  Raises OSError for what the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: list[NDArray[np.int64]] = []
        self._items: list[NDArray[np.int64]] = []
        self._file = (folder / "vectors").open("xb")

    @property
    def mark(self) -> int:
        """The id of the last vector."""
        return int(self.ids[-1][-1]) if self.ids else 0

    def add(self, block: Block) -> None:
        """The next vectors, by rising id."""
        self._file.write(np.ascontiguousarray(block.vectors, np.dtype("<f4")).tobytes())
        self.ids.append(block.ids)
        self._items.append(block.items)

    def abandon(self) -> None:
        """Let go of the file."""
        self._file.close()

    def close(self) -> int:
        """End the files and say how many vectors there are.  Unusable: none, all went before they were read."""
        with self._file:
            self._file.flush()
            os.fsync(self._file.fileno())
        if not self.ids:
            raise Unusable(self.folder.name)
        ids = np.concatenate(self.ids)
        both = np.concatenate([ids, *self._items]).astype("<i8")
        write(self.folder / "ids", both.tobytes())
        return len(ids)


def write(path: Path, data: bytes) -> None:
    """A new file, on the disk when this returns."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def complete(folder: Path, about: About) -> None:
    """Say that the folder's files are an index.  The sums of its files are taken here where ``about`` has none."""
    write(folder / _ABOUT, json.dumps(asdict(about), sort_keys=True).encode())


class Indexed:
    """An index that is open.  Files that are removed meanwhile stay until it is given up."""

    def __init__(self, part: Part, about: About, folder: Path, *, tree: bool) -> None:
        """Raises Unusable when a file has not the size it must have, OSError when it cannot be read."""
        self.part = part
        self.about = about
        self.folder = folder
        both = np.fromfile(folder / "ids", "<i8").astype(np.int64)
        size = about.count * about.dims * 4
        if len(both) != 2 * about.count or not about.count or (folder / "vectors").stat().st_size != size:
            raise Unusable(folder.name)
        self.ids: NDArray[np.int64] = both[: about.count]
        self._items: NDArray[np.int64] = both[about.count :]
        self._vectors: NDArray[np.float32] = np.memmap(
            folder / "vectors", np.dtype("<f4"), "r", shape=(about.count, about.dims)
        )
        self._tree = _tree(folder / "tree", about) if tree and about.width else None
        self._lock = threading.Lock()
        self._alive = np.ones(about.count, bool)
        self.dead = 0

    @property
    def mark(self) -> int:
        """See ``Base``."""
        return self.about.mark

    def vectors_at(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Those of some of its ids, in their order."""
        return np.asarray(self._vectors[np.searchsorted(self.ids, ids)])

    def drop(self, ids: Collection[int]) -> None:
        """See ``Base``."""
        gone = np.isin(self.ids, np.fromiter(ids, np.int64, len(ids)))
        with self._lock:
            self._alive &= ~gone
            self.dead = int(self.about.count - np.count_nonzero(self._alive))

    def best(self, query: NDArray[np.float32], limit: int) -> Found:
        """See ``Base``.  By the trees where they can find enough, else in the whole matrix."""
        left = self.about.count - self.dead
        wanted = min(limit, left)
        ask = wanted + min(self.dead, wanted)
        width = max(self.about.width, _WIDER * ask)
        if self._tree is not None and width < self.about.count:
            near = self._tree.get_nns_by_vector(query.tolist(), ask, width)
            found = self._exactly(np.array(near, np.intp), query, wanted)
            if len(found) == wanted:
                return found
        return self._whole(query, wanted)

    def _exactly(self, rows: NDArray[np.intp], query: NDArray[np.float32], limit: int) -> Found:
        rows = np.sort(rows[self._alive[rows]])
        cosines = np.asarray(self._vectors[rows]) @ query
        order = nearest_rows(cosines, limit)
        return Found(self.ids[rows[order]], self._items[rows[order]], cosines[order])

    def _whole(self, query: NDArray[np.float32], limit: int) -> Found:
        cosines = np.asarray(self._vectors @ query)
        cosines[~self._alive] = -np.inf
        rows = nearest_rows(cosines, limit)
        rows = rows[self._alive[rows]]
        return Found(self.ids[rows], self._items[rows], cosines[rows])


def _tree(path: Path, about: About) -> Any:
    from annoy import AnnoyIndex

    tree = AnnoyIndex(about.dims, "angular")
    tree.load(str(path))
    if tree.get_n_items() != about.count:
        raise Unusable(path.parent.name)
    return tree


def read_about(folder: Path) -> About:
    """What the folder says of itself; Unusable when that is nothing, or not of this release."""
    try:
        about = About(**json.loads((folder / _ABOUT).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise Unusable(folder.name) from error
    right = [isinstance(n, int) and n >= 0 for n in (about.dims, about.count, about.mark, about.width)]
    if about.format != FORMAT or not all(right) or not isinstance(about.sums, dict) or not about.dims:
        raise Unusable(folder.name)
    return about


def opened(folder: Path, part: Part, about: About) -> Indexed:
    """The index in a folder, every byte of it checked (Annoy believes whatever a file says, and crashes on it).

    Blocks: in a thread.  Raises Unusable.
    """
    try:
        names = {"vectors", "ids"} | ({"tree"} if about.width else set())
        if set(about.sums) != names or any(checksum(folder / name) != about.sums[name] for name in names):
            raise Unusable(folder.name)
        return Indexed(part, about, folder, tree=True)
    except (OSError, ValueError) as error:
        raise Unusable(folder.name) from error
