"""A file of word vectors, made over once into what can be mapped into memory and searched there.

Two million words of 300 numbers are 2.4 GB of text.  Converted they are a sorted list of hashes and a matrix of half
precision; a lookup touches a few pages, and two processes share them.
"""

from __future__ import annotations

import array
import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homed.retrieval.embed.encoders import Busy, Unfit
from homed.retrieval.embed.hashing import fingerprint
from homed.retrieval.stopwords import CHINESE_CHARACTERS, CHINESE_PAIRS, ENGLISH, RUSSIAN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RELEASE = 1
"""Of the form and of what is put into it."""

MOST_WORDS = 2_000_000
"""Words of one file: what comes later is rarer than anybody says.  1.2 GB on the disk."""

COMMON = 50_000
"""Words whose mean is what all words have in common."""

SMOOTH = 1e-3
"""A word of this share of all words counts half; the commonest have a hundred times that."""

UNRANKED = 1.0
"""Weight of a word in a file that is not sorted by frequency; stop words are left out there."""

PREFIX = "words-"
_BEAT = 2_000
_MANY = 4_096
_LONGEST_LINE = 1 << 16
_CONCEPT = re.compile(r"/c/([a-z]{2,3})/([^/]+)")


class Language(StrEnum):
    """What a word is looked up in, told by its script."""

    ENGLISH = "en"
    CHINESE = "zh"
    RUSSIAN = "ru"


_STOP = {
    Language.ENGLISH: ENGLISH, Language.RUSSIAN: RUSSIAN, Language.CHINESE: CHINESE_PAIRS | CHINESE_CHARACTERS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """How a file is to be read: ``ranked`` by frequency; ``language`` of all its words, None for any.

    ``concepts``: its words are URIs that name their language; joined words are found by an underscore.
    """

    ranked: bool
    language: Language | None
    concepts: bool = False


def kind_of(path: Path) -> Kind:
    """By its name: ``numberbatch``, ``cc.zh.``, ``cc.en.`` and their like are known."""
    name = path.name.lower()
    if "numberbatch" in name:
        return Kind(ranked=False, language=None, concepts=True)
    for language in Language:
        if name.startswith(f"cc.{language}.") or f".{language}." in f".{name}":
            return Kind(ranked=True, language=language)
    return Kind(ranked=True, language=None)


@dataclass(frozen=True, slots=True)
class WordFile:
    """One, mapped.  ``hashes`` (sorted) says in which row of ``vectors`` a word is, ``ranks`` how common it is."""

    path: Path
    kind: Kind
    hashes: NDArray[np.uint64]
    vectors: NDArray[np.float16]
    ranks: NDArray[np.uint32]
    common: NDArray[np.float32]

    @property
    def dims(self) -> int:
        """Of its vectors."""
        return int(self.vectors.shape[1])

    def knows(self, language: Language) -> bool:
        """Whether words of this language may be in it."""
        return self.kind.language in (None, language)

    def sum(
        self, words: Sequence[str], language: Language, parts: Callable[[str], list[str]] | None = None
    ) -> NDArray[np.float32]:
        """The weighted sum of the words that are known, shape (dims,); ``parts`` stand in for one that is not."""
        import numpy as np

        wanted = [word for word in self._joined(words, language) if not self._silent(word, language)]
        rows = self._rows(wanted, language)
        if parts is not None:
            unknown = [one for word, row in zip(wanted, rows, strict=True) if row < 0 for one in parts(word)]
            rows = np.concatenate([rows, self._rows(unknown, language)])
        rows = rows[rows >= 0]
        if not len(rows):
            return np.zeros(self.dims, np.float32)
        found = self.vectors[rows].astype(np.float32) - self.common
        return np.asarray(self._weights(rows) @ found, dtype=np.float32)

    def _silent(self, word: str, language: Language) -> bool:
        return not self.kind.ranked and word in _STOP[language]

    def _joined(self, words: Sequence[str], language: Language) -> list[str]:
        """With neighbours that are one concept as one: new_york."""
        if not self.kind.concepts or language is Language.CHINESE or len(words) < 2:
            return list(words)
        pairs = [f"{first}_{second}" for first, second in pairwise(words)]
        known = self._rows(pairs, language) >= 0
        found, at = [], 0
        while at < len(words):
            one = at < len(pairs) and bool(known[at])
            found.append(pairs[at] if one else words[at])
            at += 1 + one
        return found

    def _rows(self, words: Sequence[str], language: Language) -> NDArray[np.int64]:
        """The row of each word, -1 for one that is not there."""
        import numpy as np

        keys = np.array([_hash(self._key(word, language)) for word in words], np.uint64)
        places = np.searchsorted(self.hashes, keys)
        places[places == len(self.hashes)] = 0
        return np.where(self.hashes[places] == keys, places, -1) if len(self.hashes) else np.full(len(words), -1)

    def _key(self, word: str, language: Language) -> str:
        return f"{language}/{word}" if self.kind.concepts else word

    def _weights(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """By Zipf's law the word of rank r has a share of 1 / (r · ln N) of all words."""
        import numpy as np

        if not self.kind.ranked:
            return np.full(len(rows), UNRANKED, np.float32)
        share = 1 / ((self.ranks[rows] + 1.0) * math.log(max(len(self.hashes), 2)))
        return np.asarray(SMOOTH / (SMOOTH + share), dtype=np.float32)


def converted(path: Path, made: Path, busy: Busy) -> WordFile:
    """The file, mapped; made over first if that was not done.  ``Unfit`` says why it cannot be.

    What was begun is put in place only when it is whole.
    """
    kind = kind_of(path)
    home = made / _name(path)
    if not (home / "meta.json").is_file():
        try:
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".words-", dir=made) as folder:
                _convert(path, kind, Path(folder), busy)
                _place(Path(folder), home)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Unfit(f"{path} is cut off or damaged: {error}") from None
        except OSError as error:
            raise Unfit(f"{path} cannot be converted: {error.strerror or error}") from None
    return _mapped(path, kind, home)


def tidy(made: Path, kept: Sequence[Path]) -> None:
    """Remove what was made of files that are not used any more, and what a conversion left that was killed."""
    names = {_name(path) for path in kept}
    for folder in [*made.glob(f"{PREFIX}*"), *made.glob(".words-*")]:
        if folder.name not in names:
            shutil.rmtree(folder, ignore_errors=True)


def _name(path: Path) -> str:
    return fingerprint(PREFIX.rstrip("-"), str(RELEASE), files=[path])


def _mapped(path: Path, kind: Kind, home: Path) -> WordFile:
    import numpy as np

    try:
        parts = {name: np.load(home / f"{name}.npy", mmap_mode="r") for name in ("hashes", "vectors", "ranks")}
        common = np.load(home / "common.npy")
    except (OSError, ValueError, EOFError) as error:
        raise Unfit(f"what was made of {path} cannot be read ({error}); remove {home}") from None
    return WordFile(path, kind, parts["hashes"], parts["vectors"], parts["ranks"], common)


def _place(folder: Path, home: Path) -> None:
    """Move what is whole to where it belongs; somebody else may have been faster."""
    kept = home.with_name(folder.name + ".whole")
    folder.rename(kept)
    folder.mkdir()  # its owner removes it
    try:
        kept.rename(home)
    except OSError:
        shutil.rmtree(kept, ignore_errors=True)
        if not home.is_dir():
            raise


def _convert(path: Path, kind: Kind, into: Path, busy: Busy) -> None:
    import numpy as np

    hashes, dims = array.array("Q"), 0
    with (into / "rows").open("wb") as rows:
        for count, (word, row) in enumerate(_lines(path, kind)):
            if count == MOST_WORDS:
                break
            if count % _BEAT == 0:
                busy()
            dims = dims or len(row)
            if len(row) == dims:
                hashes.append(_hash(word))
                rows.write(_unit(row).tobytes())
    if not hashes:
        raise Unfit(f"{path} holds no word vectors")
    keys, first = np.unique(np.array(hashes, np.uint64), return_index=True)  # of a word that comes twice the commoner
    unsorted = np.memmap(into / "rows", np.float16, "r", shape=(len(hashes), dims))
    common = unsorted[:COMMON].astype(np.float32).mean(axis=0)
    vectors: Any = np.lib.format.open_memmap(into / "vectors.npy", "w+", np.float16, (len(keys), dims))
    for at in range(0, len(keys), _MANY):
        vectors[at : at + _MANY] = unsorted[first[at : at + _MANY]]
        busy()
    vectors.flush()
    np.save(into / "hashes.npy", keys)
    np.save(into / "ranks.npy", first.astype(np.uint32))
    np.save(into / "common.npy", common)
    del unsorted, vectors
    (into / "rows").unlink()
    (into / "meta.json").write_text(json.dumps({"file": path.name, "words": len(keys), "dims": dims}), "utf-8")
    for made in into.iterdir():  # on the disk before it has its name
        with made.open("rb") as file:
            os.fsync(file.fileno())


def _unit(row: NDArray[np.float32]) -> NDArray[np.float16]:
    import numpy as np

    length = float(np.linalg.norm(row))
    return (row / length if length > 0 else row).astype(np.float16)


def _lines(path: Path, kind: Kind) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Word and vector of each line that has both; the first line may count them."""
    import numpy as np

    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        with io.BufferedReader(gzip.open(raw) if zipped else raw, 1 << 20) as file:
            while line := file.readline(_LONGEST_LINE):
                word, _, numbers = line.decode("utf-8", "replace").rstrip().partition(" ")
                key = _key(word, kind)
                if not key or numbers.count(" ") < 2:  # the header has one number here
                    continue
                try:
                    row = np.fromstring(numbers, np.float32, sep=" ")
                except ValueError:  # words, not numbers
                    continue
                if len(row) == numbers.count(" ") + 1 and np.isfinite(row).all():
                    yield key, row


def _key(word: str, kind: Kind) -> str:
    """What a word is stored under; '' for one that nobody can ask for."""
    if not kind.concepts:
        return word.lower()
    found = _CONCEPT.fullmatch(word)
    if found is None:  # the English file has plain words
        return f"{Language.ENGLISH}/{word.lower()}" if "/" not in word else ""
    return f"{found[1]}/{found[2]}" if found[1] in set(Language) else ""


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
