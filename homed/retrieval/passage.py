"""Which piece of a long text a question is about.  Pure.

What was meant stands seldom at its head or tail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from homed.retrieval.words import Words

LONGEST = 24_000
"""Characters of a text that are looked through, some 10 ms; of a longer one nothing is chosen."""

_END = re.compile(r"[.!?…]+[\"'”»)\]]*\s+|[。！？；]+[”’」』）]*\s*|\n+")
SENTENCE = 400
"""Characters after which a sentence is taken to end all the same: a log, a table, code."""


def piece(text: str, terms: Collection[str], room: int) -> tuple[int, int] | None:
    """First and last+1 character of the piece of about ``room`` characters that says most of ``terms``.

    ``terms`` as of ``words.query_terms``.  It begins and ends with a sentence where that can be; a term counts the more
    the fewer sentences have it.  None where no term occurs, or the text is too long to be looked through.
    """
    wanted = frozenset(terms)
    if not wanted or len(text) > LONGEST:
        return None
    spans = list(_sentences(text))
    making = Words()
    having = [wanted.intersection(making.tokens(text[first:last])) for first, last in spans]
    often = Counter(term for terms_ in having for term in terms_)
    if not often:
        return None
    best = max(range(len(spans)), key=lambda at: (_worth(having[at], often), -at))
    first, last = _grown(spans, having, often, best, room)
    return spans[first][0], spans[last][1]


def _grown(
    spans: list[tuple[int, int]], having: list[frozenset[str]], often: Counter[str], at: int, room: int
) -> tuple[int, int]:
    """The sentences round this one that fit, first those that say something new, else by turns behind and before it."""
    first = last = at
    said = set(having[at])
    while True:
        before, behind = first - 1, last + 1
        ways = [
            (_worth(having[side] - said, often), side == behind, side)
            for side in (before, behind)
            if 0 <= side < len(spans) and spans[max(last, side)][1] - spans[min(first, side)][0] <= room
        ]
        if not ways:
            return first, last
        _, _, side = max(ways)
        said |= having[side]
        first, last = min(first, side), max(last, side)


def _worth(terms: Collection[str], often: Counter[str]) -> float:
    return sum(1 / often[term] for term in terms)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        while end - start > SENTENCE:
            cut = text.rfind(" ", start + SENTENCE // 2, start + SENTENCE) + 1 or start + SENTENCE
            yield start, cut
            start = cut
        if end > start:
            yield start, end
            start = end
