"""A text without characters that nobody sees, in which words could be hidden from people and told to models.  Pure."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = ("Cc", "Cf", "Cs", "Co")
_KEPT = "\n\t\u200c\u200d"
_JOINERS = "\u200c\u200d"
_SELECTORS = re.compile("(?<![^\x00-\x7f])[\ufe00-\ufe0f]|[\ufe00-\ufe0e]|(?<=\ufe0f)\ufe0f|[\U000e0100-\U000e01ef]")
_JOINER_ALONE = re.compile(f"(?<![^\x00-\x7f{_JOINERS}])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f{_JOINERS}])")


def seen(text: str) -> str:
    """``text`` without control characters, tags, marks of direction, halves of characters and the like; joiners stay
    where scripts and emoji need them."""
    if text.isascii() and text.isprintable():
        return text
    kept = "".join(c for c in text if c in _KEPT or unicodedata.category(c) not in _UNSEEN)
    return _SELECTORS.sub("", _JOINER_ALONE.sub("", kept))
