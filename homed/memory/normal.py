"""Words, numbers and signs of a text in one form, whatever its language and writing.  Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Characters of scripts that put no blanks between words, as the inside of a regular expression's class."""

_RUN = re.compile(f"[{UNSPACED}]+")
_TOKENS = re.compile(
    rf"(?P<run>[{UNSPACED}]+)"
    r"|(?P<number>(?:(?<![^\s(])-(?=\d))?\d+(?:[.,:]\d+)*%?)(?![^\W\d_])"
    rf"|(?P<word>(?:(?![{UNSPACED}])[^\W_])+(?:(?<=\d)\.\d+)*(?:'(?:(?![{UNSPACED}])[^\W\d_])+)*(?:\+\+|\#)?)"
    r"|(?P<sign>[^\s\w])"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SIGNS = ("So", "Sc", "Sm")  # 🐱, € and + say something; a comma does not


def folded(text: str) -> str:
    """Compatibility forms, case and kinds of apostrophe made one."""
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("ʼ", "'")


def tokens(text: str) -> list[str]:
    """Words, numbers (``1,000`` is ``1000``), runs of an unspaced script and signs that mean something, in order."""
    return list(_tokens(folded(text)))


def _tokens(text: str) -> Iterator[str]:
    for found in _TOKENS.finditer(text):
        piece = found.group()
        if found.lastgroup == "number":
            yield _THOUSANDS.sub("", piece)
        elif found.lastgroup != "sign" or unicodedata.category(piece) in _SIGNS:
            yield piece


def normal(text: str) -> str:
    """The text without case, punctuation and width: what two ways to write the same thing share."""
    made: list[str] = []
    for token in tokens(text):
        if made and not (is_run(token) and is_run(made[-1])):
            made.append(" ")
        made.append(token)
    return "".join(made)


def is_run(token: str) -> bool:
    """True for a run of a script without blanks."""
    return bool(token) and _RUN.match(token[-1]) is not None


def key(text: str) -> str:
    """Hash of the normal form, 32 hex digits: two texts with the same are one."""
    return hashlib.sha256(normal(text).encode()).hexdigest()[:32]


def bag(text: str) -> frozenset[str]:
    """The words of a text as a set, a run of an unspaced script as its pairs (a single character as itself)."""
    found: set[str] = set()
    run = ""
    for token in tokens(text):
        if is_run(token):  # what a comma parts is one run, as in ``normal``
            run += token
            continue
        found.add(token)
        found.update(pairs(run) if run else ())
        run = ""
    found.update(pairs(run) if run else ())
    return frozenset(found)


def pairs(text: str) -> list[str]:
    """Every two neighbouring characters; of a single one itself."""
    return [text[at : at + 2] for at in range(len(text) - 1)] or [text]


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """What two sets share, 0..1; of two empty ones 0."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0
