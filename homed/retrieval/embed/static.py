"""Texts as weighted means of word vectors: fast, small in memory, and as good as the words they share meanings of.

Runs in the child only.  A word counts the less the commoner it is (the smooth inverse frequency of Arora et al.), and
what all words of a file have in common is taken out, so that strangers are near zero.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from homed.retrieval.embed.encoders import BASELINE, Busy, Spec, Unfit
from homed.retrieval.embed.wordfile import Language, WordFile, converted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from homed.memory.ports import Vectors

_WIDE = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECES = re.compile(rf"(?P<wide>[{_WIDE}]+)|(?P<word>[^\W_{_WIDE}]+(?:['’][^\W\d_{_WIDE}]+)?)")
_CYRILLIC = re.compile("[\u0400-\u04ff]")


class StaticEncoder:
    """The files, memory-mapped; see ``Encoder``."""

    media = False
    baseline = BASELINE

    def __init__(self, files: Sequence[WordFile], cache: Path) -> None:
        self._files = files
        self._cache = cache
        self._cut: object = None
        self.dims = files[0].dims

    def texts(self, texts: Sequence[str], *, query: bool) -> Vectors:  # noqa: ARG002 - a word is a word
        """See ``Encoder``.  A text of which no word is known has a zero row."""
        import numpy as np

        return np.stack([self._row(text) for text in texts])

    def images(self, images: Sequence[bytes]) -> Vectors:  # noqa: ARG002
        """It reads no pictures."""
        raise Unfit("word vectors know no pictures")

    def _row(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        total = np.zeros(self.dims, np.float32)
        for language, words in self._words(text).items():
            for file in self._files:
                if file.knows(language):
                    total += file.sum(words, language, self._characters if language is Language.CHINESE else None)
        return total

    def _words(self, text: str) -> dict[Language, list[str]]:
        """The words by the language they are looked up in, in their order."""
        found: dict[Language, list[str]] = {}
        for piece in _PIECES.finditer(text):
            part = piece.group()
            if piece.lastgroup == "wide":
                found.setdefault(Language.CHINESE, []).extend(self._chinese(part))
            elif _CYRILLIC.match(part):
                found.setdefault(Language.RUSSIAN, []).append(part.lower())
            else:
                found.setdefault(Language.ENGLISH, []).append(part.lower().replace("’", "'"))
        return found

    def _chinese(self, run: str) -> list[str]:
        if len(run) == 1:
            return [run]
        import logging

        import jieba

        if self._cut is None:
            jieba.setLogLevel(logging.ERROR)
            self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            jieba.dt.tmp_dir = str(self._cache)  # its own choice is a name in /tmp that anybody may have taken
            self._cut = jieba
        return [str(word) for word in jieba.cut(run)]

    @staticmethod
    def _characters(word: str) -> list[str]:
        """What stands in for a word that is not known."""
        return list(word) if len(word) > 1 else []


def load(spec: Spec, busy: Busy) -> StaticEncoder:
    """The files of ``spec["files"]``, converted into ``spec["made"]`` where they are not yet.

    ``Unfit``: one cannot be read, is no word vectors, or has another number of dimensions than the first.
    """
    made = Path(spec["made"])
    files = [converted(Path(path), made, busy) for path in spec["files"]]
    if not files:
        raise Unfit("no file of word vectors is set")
    for file in files[1:]:
        if file.dims != files[0].dims:
            raise Unfit(f"{file.path} has {file.dims} dimensions and {files[0].path} {files[0].dims}")
    return StaticEncoder(files, made)
