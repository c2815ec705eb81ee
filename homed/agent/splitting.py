"""A long text in pieces that a channel takes, parted where a reader would pause.  Pure."""

from __future__ import annotations

import re
import unicodedata

_JOINER = "\u200d"
_ATTACHED = frozenset({"Mn", "Mc", "Me"})
"""Kinds of what belongs to the character before it: accents, vowels, what picks its form."""
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""The skin of a hand, and the letters of a flag that is one of a part of a country: they belong to it, too."""
_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_FLAG = re.compile(f"[{_LETTERS}]{{2}}")
_FENCE = "```"
_CLOSE = "\n" + _FENCE
_SHORTEST = 16
"""A limit below it is taken as this: no piece could be told from noise."""

_BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?…](?:[\"'”’)\]]*)\s+|[。！？；…](?:[”’」』）]*)"),
    re.compile(r"[,;:]\s+|[，、：]"),
    re.compile(r"\s+"),
)
"""Where a text may be parted, the best first: paragraphs, lines, sentences, clauses, words."""


def split(text: str, limit: int) -> list[str]:
    """``text`` as pieces of at most ``limit`` characters each (0: no limit), none of them empty.

    Parted behind the last border of the best kind that leaves a piece at least a third full, else behind the last one
    of any kind, else between two characters that are not one for the eye.  A fenced block of code that is parted is
    closed and opened again, so that each piece reads as code.  Together, the pieces have every word of the text.
    """
    if not limit or len(text) <= limit:
        return [text] if text.strip() else []
    most, pieces, rest = max(limit, _SHORTEST), [], text
    opening = ""
    while rest.strip():
        piece, rest, opening = _one(rest, most, opening)
        if piece.strip():
            pieces.append(piece)
    return pieces


def _one(rest: str, most: int, opening: str) -> tuple[str, str, str]:
    """The next piece, what is left, and the fence that is open there."""
    head = opening + "\n" if opening else ""
    if len(head) + len(rest) <= most:
        return head + rest.strip("\n"), "", ""
    room = most - len(head)
    cut = _cut(rest, room)
    after = _open_fence(rest[:cut], opening)
    if after and room > 2 * len(_CLOSE):
        cut = _cut(rest, room - len(_CLOSE))
        after = _open_fence(rest[:cut], opening)
    body = rest[:cut].rstrip()
    if after and len(after) + 1 > most // 2:  # a fence so long that nothing would fit behind it again
        after = ""
    tail = _CLOSE if after and len(head) + len(body) + len(_CLOSE) <= most else ""
    left = rest[cut:].lstrip("\n") if after else rest[cut:].lstrip()
    return head + body + tail, left, after


def _cut(text: str, room: int) -> int:
    """Where the first piece of a text longer than ``room`` ends."""
    least = room // 3
    best = 0
    for border in _BORDERS:
        ends = [found.end() for found in border.finditer(text, 0, room + 1)]
        last = next((end for end in reversed(ends) if len(text[:end].rstrip()) <= room), 0)
        if last > least:
            return last
        best = max(best, last)
    return best or _whole(text, room)


def _whole(text: str, cut: int) -> int:
    """The last place up to ``cut`` that is between two characters as an eye sees them."""
    return next((place for place in range(cut, 0, -1) if not _within(text, place)), cut)


def _within(text: str, place: int) -> bool:
    """Whether it is in the midst of one."""
    after, before = text[place], text[place - 1]
    if unicodedata.category(after) in _ATTACHED or _JOINER in (before, after) or _SKIN.match(after):
        return True
    if not _FLAG.fullmatch(before + after):
        return False
    letters = len(text[:place]) - len(text[:place].rstrip(_LETTERS))
    return letters % 2 == 1  # two letters are a flag


def _open_fence(text: str, opening: str) -> str:
    """The line that opened the fenced block which is open at the end of ``text``; '' if none is."""
    for line in text.split("\n"):
        if line.lstrip().startswith(_FENCE):
            opening = "" if opening else line.strip()
    return opening
