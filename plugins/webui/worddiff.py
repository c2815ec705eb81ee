"""How a short text became another one, word by word, for people to read.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Sign = Literal[" ", "+", "-"]

TOKEN = re.compile(r"\s+|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|.", re.DOTALL)
"""Blanks, a word, or one character: scripts without blanks between words are compared character by character."""

LEAST = 0.35
"""Of two texts that have less in common, the one is shown crossed out and the other whole: pieces would be a riddle."""

LONGEST = 4_000
"""Characters of a text that are compared; a record has far less."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of both texts (a space), of the new one (``+``) or of the old one (``-``)."""

    sign: Sign
    text: str


def diff(before: str, after: str) -> list[Piece]:
    """The pieces in reading order; those that are not ``+`` make up ``before``, those that are not ``-`` ``after``."""
    if before == after:
        return [Piece(" ", after)] if after else []
    old, new = _tokens(before), _tokens(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if _shared(matcher, old, new) < LEAST:
        return _joined([Piece("-", before), Piece("+", after)])
    pieces: list[Piece] = []
    for what, from_old, to_old, from_new, to_new in _steadied(matcher, old):
        if what == "equal":
            pieces.append(Piece(" ", "".join(new[from_new:to_new])))
        else:
            pieces += [Piece("-", "".join(old[from_old:to_old])), Piece("+", "".join(new[from_new:to_new]))]
    return _joined(pieces)


def _tokens(text: str) -> list[str]:
    """The words of its beginning, and the rest as one."""
    found = TOKEN.findall(text[:LONGEST])
    return [*found, text[LONGEST:]] if len(text) > LONGEST else found


def _shared(matcher: SequenceMatcher[str], old: list[str], new: list[str]) -> float:
    """The share of both that is the same, in characters; blanks do not count."""
    same = sum(_length(old[block.a : block.a + block.size]) for block in matcher.get_matching_blocks())
    longer = max(_length(old), _length(new))
    return same / longer if longer else 0.0


def _length(words: list[str]) -> int:
    return sum(len(word.strip()) for word in words)


Step = tuple[str, int, int, int, int]


def _steadied(matcher: SequenceMatcher[str], old: list[str]) -> Iterable[Step]:
    """The steps, with a blank between two changes as a part of them: a phrase that was changed is one piece."""
    steps: list[Step] = []
    for what, *places in matcher.get_opcodes():
        step: Step = (what, *places)  # type: ignore[assignment]
        blank = what == "equal" and not "".join(old[step[1] : step[2]]).strip()
        if steps and steps[-1][0] != "equal" and (blank or what != "equal"):
            step = ("replace", steps[-1][1], step[2], steps[-1][3], step[4])
            steps.pop()
        steps.append(step)
    return steps


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Without empty ones."""
    return [piece for piece in pieces if piece.text]
