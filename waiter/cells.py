"""Text in cells of a terminal: how wide it is, and lines no wider than the screen.  Pure.

prompt-toolkit counts a character at a time, terminals draw what belongs together (a family of emoji, a flag, a letter
with its marks) as one.  Where the two differ, `Glyphs` puts a character of a private plane in its place, one a cell,
and the output (`output.py`) draws what was meant and says exactly where the next cell is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from wcwidth import iter_graphemes, wcswidth, wcwidth

from .terminal import harmless

Fragment = tuple[str, str]
"""``(style, text)``."""
Cells = tuple[Fragment, ...]
"""A line."""

PRIVATE = 0x100000
FILL = chr(0x10FFFD)
"""A cell that belongs to the glyph before it."""
KINDS = 4096
"""Different glyphs at once; one more is shown as its first character."""
TAB = 4

_JOINED = re.compile("[\u200d\u20d0-\u20ff\ufe0e\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_MARKED = re.compile("[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u109f\u1ab0-\u1aff]")
_UNFIT = re.compile("[\ud800-\udfff\U00100000-\U0010ffff]")


def clean(text: str) -> str:
    """Harmless, tabs as spaces, without half characters and without those that `Glyphs` uses."""
    shown = harmless(text)
    if not shown.isascii():
        shown = _UNFIT.sub("\ufffd", shown)
    return shown.expandtabs(TAB) if "\t" in shown else shown


@lru_cache(maxsize=4096)
def width(text: str) -> int:
    """Cells that ``text`` (without line feeds) takes as prompt-toolkit will count them."""
    return len(text) if text.isascii() else sum(max(0, wcwidth(char)) for char in text)


class Glyphs:
    """Private characters for what prompt-toolkit would count wrongly."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._meant: dict[str, str] = {}

    def fit(self, text: str) -> str:
        """``text`` with every such glyph as one private character and fill, so that each character counts right."""
        if text.isascii() or not (_JOINED.search(text) or _MARKED.search(text)):
            return text
        return "".join(self._one(glyph) for glyph in iter_graphemes(text))

    def _one(self, glyph: str) -> str:
        wide = wcswidth(glyph)
        if (
            len(glyph) == 1
            or not 1 <= wide <= 2
            or (wide == width(glyph) == width(glyph[0]) and not _JOINED.search(glyph))
        ):
            return glyph  # marks are drawn into the cell of their letter
        if glyph not in self._known:
            if len(self._known) >= KINDS:
                return glyph[0]
            made = chr(PRIVATE + len(self._known))
            self._known[glyph], self._meant[made] = made, glyph
        return self._known[glyph] + FILL * (wide - 1)

    def meant(self, char: str) -> str:
        """What a private character stands for; empty for any other."""
        return self._meant.get(char, "")


# -- lines -----------------------------------------------------------------------------------------------------------


def cut(text: str, cells: int, more: str = "…") -> str:
    """At most ``cells`` wide; what is left out is marked by ``more``."""
    if width(text) <= cells:
        return text
    if cells < width(more):
        return ""
    return _head(text, cells - width(more)) + more


def pad(text: str, cells: int) -> str:
    """Exactly ``cells`` wide."""
    shown = cut(text, cells)
    return shown + " " * (cells - width(shown))


def wrap(fragments: Iterable[Fragment], cells: int, *, first: Cells = (), rest: Cells = ()) -> list[Cells]:
    """Lines of at most ``cells``, broken at spaces, beside CJK, or where nothing else helps.

    Each begins with ``first`` or ``rest``.  A line feed ends a line.  Where the screen is narrower than the beginning,
    the beginning is left out.
    """
    head, tail = _fits(first, cells), _fits(rest, cells)
    lines: list[Cells] = []
    line, used, room = list(head), 0, cells - _wide(head)

    def end() -> None:
        nonlocal line, used, room
        lines.append(_joined(_trimmed(line)))
        line, used, room = list(tail), 0, cells - _wide(tail)

    for style, piece in _pieces(fragments):
        if piece == "\n" or (used and used + width(piece) > room):
            end()
            if piece.isspace():
                continue
        at = 0
        while len(part := _head(piece, room - used, at)) < len(piece) - at:  # longer than a line
            part = part or piece[at]
            line.append((style, part))
            end()
            at += len(part)
        line.append((style, part))
        used += width(part)
    lines.append(_joined(_trimmed(line)))
    return lines


def hard(fragments: Iterable[Fragment], cells: int, *, first: Cells = (), rest: Cells = ()) -> list[Cells]:
    """Lines of at most ``cells``, broken exactly where they are full: for code, where every space counts."""
    head, tail = _fits(first, cells), _fits(rest, cells)
    lines: list[Cells] = []
    line, room = list(head), cells - _wide(head)
    for style, text in fragments:
        at = 0
        while at < len(text):
            part = _head(text, room, at)
            if not part:
                lines.append(tuple(line))
                line, room = list(tail), cells - _wide(tail)
                part = _head(text, room, at) or text[at]
            line.append((style, part))
            room -= width(part)
            at += len(part)
    lines.append(tuple(line))
    return [_joined(one) for one in lines]


def _pieces(fragments: Iterable[Fragment]) -> Iterator[Fragment]:
    """Words, single spaces runs, line feeds; wide characters one by one, since a line may be broken beside each."""
    for style, text in fragments:
        for piece in _PIECE.findall(text):
            yield style, piece


_PIECE = re.compile(
    "\n| +|[\U00100000-\U0010fffc]\U0010fffd*|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f"
    "\uff00-\uff60\uffe0-\uffe6\U0001f000-\U0003fffd](?:[\u3000-\u3002\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\u300b\u300d\u300f\u3011])?"
    "|[^\n \u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f000-\U0003fffd\U00100000-\U0010fffd]+"
)  # fmt: skip


def _head(text: str, cells: int, start: int = 0) -> str:
    """The longest piece from ``start`` on of at most ``cells``, no glyph torn.  Looks no further than it reaches."""
    if text.isascii():
        return text[start : start + max(0, cells)]
    used = 0
    for at in range(start, len(text)):
        used += max(0, wcwidth(text[at]))
        if used > cells:
            while at > start and text[at] == FILL:
                at -= 1
            return text[start:at]
    return text[start:]


def _fits(start: Cells, cells: int) -> Cells:
    return start if _wide(start) < cells - 1 else ()


def _wide(line: Iterable[Fragment]) -> int:
    return sum(width(text) for _, text in line)


def _trimmed(line: list[Fragment]) -> Cells:
    while line and line[-1][1].isspace():
        line = line[:-1]
    return tuple(line)


def _joined(line: Cells) -> Cells:
    """Neighbours of one style in one fragment: fewer to draw."""
    made: list[Fragment] = []
    for style, text in line:
        if made and made[-1][0] == style:
            made[-1] = (style, made[-1][1] + text)
        else:
            made.append((style, text))
    return tuple(made)
