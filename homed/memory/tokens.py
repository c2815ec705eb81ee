"""How many tokens a text is, when the model's own tokenizer is not at hand.  Pure."""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"(?P<word>[A-Z]?[a-zß-öø-ÿ]+)|(?P<caps>[A-ZÀ-ÖØ-Þ]+)|(?P<digits>[0-9]+)|(?P<space> )|(?P<blank>\s+)"
    r"|(?P<mark>[!-~])|(?P<script>[\u0080-\u1fff]+)|(?P<wide>[\u2000-\uffff]+)|(?P<other>.)",
    re.DOTALL,
)

# (tokens for a piece, and for each of its characters).  Fitted on English, Chinese, code and JSON so that the estimate
# lies between 0.9 x the largest and 2 x the smallest count of the cl100k, o200k, Llama 3 and Qwen 3 tokenizers.
_COSTS = {
    "word": (0.2, 0.2),
    "caps": (0.5, 0.5),
    "digits": (0.0, 0.95),  # Qwen makes each digit a token
    "space": (0.0, 0.0),  # part of the word behind it
    "blank": (0.75, 0.0),
    "mark": (0.8, 0.0),
    "script": (0.2, 0.5),
    "wide": (0.0, 1.12),
    "other": (2.0, 0.0),  # emoji
}


def estimate_tokens(text: str) -> int:
    """Tokens of ``text``: not below 0.9 x the true count, nor above 2 x, on Chinese, English, code and JSON.

    About 0.5 µs a character.
    """
    total = 0.0
    for piece in _PIECES.finditer(text):
        kind = piece.lastgroup or "other"
        once, each = _COSTS[kind]
        cost = once + each * (piece.end() - piece.start())
        total += max(1.0, cost) if kind == "word" else cost
    return math.ceil(total)
