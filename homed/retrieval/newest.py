"""Questions for what holds now: of several values the newest is wanted, and no likeness of words tells which that is.
Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

NEAR_BEST = 0.66
"""Two thirds of what the best one has: what has as much is another value of the same, the rest is
about something else and stays behind whatever its time."""

_LATEST = re.compile(
    r"\b(?:latest|newest|most recent|up[- ]to[- ]date|current|currently|at present|at the moment|these days|nowadays"
    r"|right now|by now|as of now|now|still|last known)\b"
    r"|последн(?:ий|яя|ее|юю|ие|их|его|ей)\b|\b(?:сейчас|теперь|текущ\w+|нынешн\w+|на данный момент)\b"
    r"|最新|最近的|目前|现在|如今|当前|现今|眼下|至今",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？]|\b(?:what|which|where|who|how|is|are|does|do)\b|什么|多少|哪|谁|几|吗|\b(?:какой|какая|какое|где|кто|сколько|что)\b",
    re.I,
)


def wanted(query: str) -> bool:
    """Whether a query asks for what holds now."""
    return bool(_LATEST.search(query)) and bool(_ASKS.search(query))


def without(query: str) -> str:
    """The query without the words that ask for it: they stand in old values too."""
    left = _LATEST.sub(" ", query)
    return left if re.search(r"\w", left) else query


def first(means: Mapping[int, float], times: Mapping[int, float]) -> dict[int, float]:
    """The same values given out anew: among those near the best the newest has the highest, by seq at equal times."""
    best = max(means.values(), default=0.0)
    group = [seq for seq, value in means.items() if value > 0 and value >= NEAR_BEST * best]
    newest = sorted(group, key=lambda seq: (times.get(seq, 0.0), seq), reverse=True)
    values = sorted((means[seq] for seq in group), reverse=True)
    return {**means, **dict(zip(newest, values, strict=True))}
