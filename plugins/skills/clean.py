"""Text of strangers, made fit to be shown: what cannot be seen is taken out and counted.  Pure."""

from __future__ import annotations

import re
import unicodedata

_JOINERS = "\u200c\u200d"
"""Used within Persian and Indic words and within emoji; between letters of ASCII they only hide something."""
_KEPT = "\n\t"
_SELECTORS = range(0xFE00, 0xFE10)
_BLANKS = re.compile(r"\s+")


def visible(text: str) -> tuple[str, int]:
    """The text without control and hidden characters, and how many those were.  Line ends become ``\\n``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = [char for at, char in enumerate(text) if not _hidden(text, at)]
    return "".join(kept), len(text) - len(kept)


def one_line(text: str, most: int) -> str:
    """The text on one line, hidden characters out, at most ``most`` characters."""
    line = _BLANKS.sub(" ", visible(text)[0]).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _hidden(text: str, at: int) -> bool:
    char = text[at]
    if char in _KEPT or " " <= char <= "~":
        return False
    if char in _JOINERS:
        return not (_beyond_ascii(text, at - 1) and _beyond_ascii(text, at + 1))
    number = ord(char)
    if number in _SELECTORS:  # one behind a sign says how it looks; a row of them is a message
        return at == 0 or ord(text[at - 1]) in _SELECTORS
    if 0xE0100 <= number <= 0xE01EF or number in (0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800):
        return True
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")


def _beyond_ascii(text: str, at: int) -> bool:
    return 0 <= at < len(text) and ord(text[at]) > 127 and text[at] not in _JOINERS
