"""Finding personal data in text.  Pure, linear in the length of the text, the same answer for the same text.

Text is read *folded*: full-width digits and signs count as their plain forms; characters of no width and marks on
digits are skipped, so that a number in wide or keycap digits or with zero-width spaces in it is found like any other. A
letter and its marks count as the one character that they make (NFC), however they were typed.  What is not found stays
as it was, to the byte.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"

# Every repetition below is bounded and starts at a place that a look-behind fixes: no input makes matching slow.
# An address within Chinese has no boundary on either side: it is found from its "@" in both directions, and its ASCII
# name or last label ends where ASCII ends.
_AT_DOMAIN = re.compile(r"@(?:[\w-]{1,63}\.){1,8}(?:[A-Za-z]{2,24}|[^\W\d_]{2,24})")
_NAME_LENGTH = 64
_NAME = re.compile(r"[A-Za-z0-9_.+%-]+|[\w.+%-]+")
_ID_CARD = re.compile(r"(?<![0-9A-Za-z])[1-9][0-9]{16}[0-9Xx](?![0-9A-Za-z])")
_CARD = re.compile(r"(?<![0-9A-Za-z])[0-9](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z])")
_MOBILE = re.compile(r"(?<![0-9A-Za-z+])(?:(?:\+|00)?86[ -]?)?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}(?![0-9A-Za-z])")
_ABROAD = re.compile(r"(?<!\+)\+[1-9](?:[ ().-]{0,2}[0-9]){7,14}(?![0-9A-Za-z])")


def _valid_id_card(found: str) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(found, _ID_WEIGHTS, strict=False))
    return found[17].upper() == _ID_CHECKS[total % 11] and 1 <= int(found[10:12]) <= 12 and 1 <= int(found[12:14]) <= 31


def _valid_card(found: str) -> bool:
    """Luhn's check, which one number in ten passes by chance; and not just one digit over and over."""
    digits = [int(c) for c in found if c.isdigit()]
    doubled = (d if n % 2 else sum(divmod(2 * d, 10)) for n, d in enumerate(digits, len(digits) % 2))
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def _always(_found: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Kind:
    """``before``: what must stand before a match, read backwards from it; it belongs to the find."""

    expression: re.Pattern[str]
    valid: Callable[[str], bool] = _always
    before: re.Pattern[str] | None = None


_KINDS: dict[str, tuple[_Kind, ...]] = {
    "email": (_Kind(_AT_DOMAIN, before=_NAME),),
    "id_card": (_Kind(_ID_CARD, _valid_id_card),),
    "phone": (_Kind(_MOBILE), _Kind(_ABROAD)),
    "bank_card": (_Kind(_CARD, _valid_card),),
}
KINDS = tuple(_KINDS)
"""Every kind of personal data, in the order they are looked for: where two overlap, the first is named."""

_NO_WIDTH = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""What Unicode says to show nothing for, beside the category Cf: joiners, fillers, variation selectors."""

_MARKS = 10
"""Marks of one letter that are looked at together; no script writes more."""

MARKS = (*KINDS, "word")
"""What a find is replaced by, in brackets."""

PASSES = 5
"""A find may have hidden another that was glued to it (``wordA13812345678``): look again, but not for ever."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What to take out: kinds of personal data, and words (in any case, anywhere in the text)."""

    kinds: tuple[str, ...] = KINDS
    words: tuple[str, ...] = ()


def scrub(text: str, rules: Rules) -> str:
    """``text`` with every find replaced by ``[KIND]``, a listed word by ``[word]``.  Doing it twice changes no more."""
    for _ in range(PASSES):
        clean = _scrub_once(text, rules)
        if clean == text:
            break
        text = clean
    return text


def _scrub_once(text: str, rules: Rules) -> str:
    folded, places = _fold(text)
    spans: list[tuple[int, int, str]] = []
    for kind in KINDS:
        if kind in rules.kinds:
            for candidate in _KINDS[kind]:
                spans += _finds(folded, candidate, kind)
    spans += _word_finds(folded, rules.words)
    return _replaced(text, places, _without_overlaps(spans))


def _finds(folded: str, kind: _Kind, name: str) -> Iterable[tuple[int, int, str]]:
    for found in kind.expression.finditer(folded):
        start = found.start()
        if kind.before is not None:
            before = kind.before.match(folded[max(0, start - _NAME_LENGTH) : start][::-1])
            if before is None:
                continue
            start -= before.end()
        if kind.valid(found.group()):
            yield start, found.end(), name


def _word_finds(folded: str, words: tuple[str, ...]) -> Iterable[tuple[int, int, str]]:
    """Longest word first, so that a word that is part of another does not leave the rest of it behind."""
    wanted = sorted({_fold(word)[0] for word in words} - {""}, key=len, reverse=True)
    if not wanted:
        return []
    expression = re.compile("|".join(map(re.escape, wanted)), re.IGNORECASE)
    return [(m.start(), m.end(), "word") for m in expression.finditer(folded) if not _is_mark(folded, m)]


def _is_mark(folded: str, found: re.Match[str]) -> bool:
    """Is it inside a mark that an earlier scrub left, such as ``[email]``?"""
    start, end = folded.rfind("[", max(0, found.start() - 16), found.start() + 1), found.end()
    return start >= 0 and any(folded.startswith(f"[{kind}]", start) and end <= start + len(kind) + 2 for kind in MARKS)


def _without_overlaps(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Spans in order; what overlaps an earlier one is joined to it, so that no part of any find is left standing."""
    kept: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if kept and start < kept[-1][1]:
            first, last, name = kept[-1]
            kept[-1] = (first, max(last, end), name)
        else:
            kept.append((start, end, kind))
    return kept


def _replaced(text: str, places: list[int], spans: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += (text[done : places[start]], f"[{kind}]")
        done = places[end]
    return "".join((*parts, text[done:]))


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is searched, and for each of its characters, and its end, the place in the original."""
    if text.isascii():
        return text, list(range(len(text) + 1))
    kept: list[str] = []
    places: list[int] = []
    base = 0  # where the letter begins that a mark would belong to
    for place, char in enumerate(text):
        plain = _plain(char)
        if not plain or (unicodedata.category(char) in ("Mn", "Me") and kept and kept[-1].isdigit()):
            continue
        letter = "" if plain.isascii() else _letter(kept[base:], plain)
        if letter:
            places[base:] = [*places[base:], *[place] * len(letter)][: len(letter)]
            kept[base:] = letter
        else:
            base = len(kept)
            kept.append(plain)
            places.append(place)
    places.append(len(text))
    return "".join(kept), places


def _letter(before: list[str], plain: str) -> str:
    """The letter that ``plain``, a mark or a part of a Hangul syllable, makes with what is ``before``; empty if none.

    It is in composed form, as far as there is one, its marks in their one order.
    """
    if not before or len(before) > _MARKS:
        return ""
    made = unicodedata.normalize("NFC", "".join(before) + plain)
    return made if unicodedata.combining(plain) or len(made) <= len(before) else ""


def _plain(char: str) -> str:
    if char.isascii():
        return char
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    if unicodedata.category(char) == "Cf" or char in _NO_WIDTH:
        return ""
    if unicodedata.category(char) in ("Pd", "Zs"):
        return "-" if unicodedata.category(char) == "Pd" else " "
    wide = unicodedata.normalize("NFKC", char)
    return wide if len(wide) == 1 else char
