"""Long texts in pieces, since a model forgets what is far from the beginning of what it reads.  Pure."""

from __future__ import annotations

import re

SIZE = 160
"""Weight of one piece: about so many tokens.  Sentence encoders are trained on less, and one vector of a whole page
is near everything and nothing."""

OVERLAP = 24
"""Weight that a piece repeats of the one before, so that what stands at a border is whole in one of them."""

READ = 200_000
"""Characters looked at, half of them from either end: what is between is found by its words."""

MOST = 24
"""Pieces of one text: head and tail first, then evenly from between.  Its words are found all the same."""

_WIDE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[。！？；!?;…])[”’」』）)\"']*|(?<=\.)(?=\s)|\n")
_BLANK = re.compile(r"\s+|(?<=[，、,])")


def chunks(text: str) -> list[str]:
    """The pieces that get a vector each, in their order; the text itself when it is short, none when it is blank.

    Borders are those of paragraphs, else of sentences, else of words; of one endless word, wherever it is full.  At
    most ``MOST``: of a longer text the first and last piece are among them, the others evenly between.
    """
    text = text.strip()
    if not text:
        return []
    if len(text) > READ:
        text = f"{text[: READ // 2]}\n\n{text[-READ // 2 :]}"
    if weight(text) <= SIZE:
        return [text]
    return _chosen(_packed(_pieces(text)))


def weight(text: str) -> float:
    """About how many tokens it is: four characters each, two thirds of a token for one of a script without spaces."""
    wide = len(_WIDE.findall(text))
    return wide * 0.67 + (len(text) - wide) / 4


def _pieces(text: str) -> list[str]:
    """The text cut into what is light enough, with its blanks, by the best borders there are."""
    found: list[str] = []
    _cut(text, (_PARAGRAPH, _SENTENCE, _BLANK), found)
    return found


def _cut(text: str, borders: tuple[re.Pattern[str], ...], found: list[str]) -> None:
    if weight(text) <= SIZE - OVERLAP:
        found.append(text)
        return
    if not borders:
        step = int(SIZE - OVERLAP)  # characters: light enough in every script
        found.extend(text[at : at + step] for at in range(0, len(text), step))
        return
    at = 0
    for border in borders[0].finditer(text):
        if border.end() > at:
            _cut(text[at : border.end()], borders[1:], found)
            at = border.end()
    if at < len(text):
        _cut(text[at:], borders[1:], found)


def _packed(pieces: list[str]) -> list[str]:
    """Neighbours together as long as they fit, each pack with the end of the one before."""
    packs: list[str] = []
    pack, heavy = "", 0.0
    for piece in pieces:
        more = weight(piece)
        if pack and heavy + more > SIZE:
            packs.append(pack.strip())
            pack = _end(pack)
            heavy = weight(pack)
        pack += piece
        heavy += more
    packs.append(pack.strip())
    return [pack for pack in packs if pack]


def _end(pack: str) -> str:
    """The last sentences of a pack that are light enough to be repeated; a part of the last one when it is long."""
    begin = len(pack)
    for border in reversed([0, *(found.end() for found in _SENTENCE.finditer(pack))]):
        if weight(pack[border:]) > OVERLAP:
            break
        begin = border
    if not pack[begin:].strip():
        begin = len(pack) - OVERLAP
        blank = _BLANK.search(pack, begin)
        begin = blank.end() if blank and blank.end() < len(pack) else begin
    return pack[begin:]


def _chosen(packs: list[str]) -> list[str]:
    if len(packs) <= MOST:
        return packs
    return [packs[round(at * (len(packs) - 1) / (MOST - 1))] for at in range(MOST)]
