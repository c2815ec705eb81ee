"""Words as they stand in the indexes: each scope has its own, which are found from no other.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from homed.retrieval.words import Words


def term(scope: str, word: str) -> str:
    """A word as it stands in an index."""
    return f"{prefix(scope)}{word}"


def prefix(scope: str) -> str:
    """What the scope's terms begin with."""
    return hashlib.blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() + ":"


def joined(words: Words, scope: str, text: str) -> str:
    """A text as an index takes it: each of its terms once."""
    begin = prefix(scope)
    return " ".join(begin + word for word in dict.fromkeys(words.tokens(text)))


def few(sizes: Sequence[int], room: int) -> int:
    """How many of the first fill the room; one at least, if there is one.

    Sizes are asked for before texts are: a page of long ones would be read whole for the first of them.
    """
    taken = 0
    while taken < len(sizes) and room > 0:
        room -= sizes[taken]
        taken += 1
    return taken
