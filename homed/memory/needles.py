"""What to look for so that one knows whether a text still stands in some file: its sentences, in every form files have.

Pure.  A sentence is looked for as it is (UTF-8), as JSON escapes it in either way, and in UTF-16.  What is too short to
say anything ("yes, thanks") is not looked for, and counted: it would be found everywhere.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

LONGEST = 480
"""Bytes of one needle; of a longer sentence its beginning is looked for."""

MOST = 20_000
"""Sentences looked for at the most; of more, the longest."""

LETTERS, SIGNS = 14, 6
"""A sentence has so many letters and digits at least, or so many Chinese or Japanese signs."""

_STOPS = " .!?…。！？；"
_SENTENCES = re.compile(r"[^.!?。！？；\r\n]+[.!?。！？；]*")


@dataclass(frozen=True, slots=True)
class Needles:
    """``sentences`` to look for; ``short``: texts with none, which are not looked for; ``left_out``: above the most."""

    sentences: Sequence[str]
    short: int = 0
    left_out: int = 0

    def forms(self) -> list[tuple[int, bytes]]:
        """``(number of the sentence, bytes to look for)``, each once."""
        return [(at, form) for at, sentence in enumerate(self.sentences) for form in forms(sentence)]


def of_texts(texts: Iterable[str], *, names: Iterable[str] = ()) -> Needles:
    """The sentences of these texts; ``names`` are looked for whole, however short (4 letters or 2 signs at least)."""
    found: dict[str, None] = {}
    short = 0
    for text in texts:
        said = [sentence for piece in _SENTENCES.findall(text) if _says(sentence := piece.strip())]
        if not said and text.strip():
            short += 1
        found |= dict.fromkeys(said)
    found |= dict.fromkeys(name.strip() for name in names if _says(name.strip(), 4, 2))
    ordered = sorted(found, key=len, reverse=True)
    return Needles(ordered[:MOST], short, max(0, len(ordered) - MOST))


def repeating(titles: Collection[str], texts: Iterable[str]) -> list[str]:
    """Those of these titles that stand in one of the texts, or in which a sentence of them stands: in whatever
    capitals, with or without a stop.  What is too short to be looked for repeats nothing."""
    given = {title: plain for title in titles if _says(plain := _plain(title))}
    if not given:
        return []
    texts = list(texts)
    every, whole = "\n".join(given.values()), "\n".join(_plain(text) for text in texts)
    held = [one for sentence in of_texts(texts).sentences if (one := _plain(sentence)) in every]
    return [title for title, plain in given.items() if plain in whole or any(one in plain for one in held)]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(_STOPS)


def forms(sentence: str) -> list[bytes]:
    """The bytes that a sentence is in a file, by how it may be written there."""
    encoded = (
        sentence.encode("utf-8", "surrogatepass"),
        json.dumps(sentence, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
        json.dumps(sentence)[1:-1].encode(),
        sentence.encode("utf-16-le", "surrogatepass"),
    )
    return list(dict.fromkeys(form[:LONGEST] for form in encoded))


def _says(text: str, letters: int = LETTERS, signs: int = SIGNS) -> bool:
    plain = [one for one in text if one.isalnum()]
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in plain)
    return len(plain) >= letters or wide >= signs
