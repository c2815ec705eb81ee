"""What can be seen of a text besides what it is about: who says it, and whether it asks.  Pure."""

from __future__ import annotations

import re

SEEN = 2_000
"""Characters of a text up to which it is looked at whole; a longer one is no question."""

NAME = 60
"""Characters in which a speaker's name stands."""

_SENTENCE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*")
_LETTER = re.compile(r"[^\W_]")
_SPEAKER = re.compile(r"\s*\[?([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2})\]?[:：]\s")


def asking(text: str) -> float:
    """The share of a text, 0..1, that asks: by the length of its sentences, a question mark at the end of them."""
    if len(text) > SEEN or ("?" not in text and "？" not in text):
        return 0.0
    sentences = [one for one in _SENTENCE.findall(text) if _LETTER.search(one)]
    whole = sum(map(len, sentences))
    return sum(len(one) for one in sentences if "?" in one or "？" in one) / whole if whole else 0.0


def speaker(text: str) -> str:
    """Who says it, where the text begins with a name and a colon as in a minute or a chat's log; else empty."""
    found = _SPEAKER.match(text[:NAME])
    return found.group(1) if found else ""
