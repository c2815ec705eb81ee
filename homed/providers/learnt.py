"""The window a model really has, learnt from a refusal, and kept until its model or its window is changed.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from homed.providers.base import Source
from homed.providers.shaping import said_by

LEAST = 1024
"""Tokens; no model has less, so a source that says so is not believed."""
MOST = 100_000_000

KEPT = 64
"""Sources whose window is remembered."""

_NUMBER = r"(\d[\d,_]{2,11})"
_SAID = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"> ?{_NUMBER} maximum",
        rf"context limit: ?\d+ ?\+ ?\d+ ?> ?{_NUMBER}",
        rf"maximum number of tokens allowed \(?{_NUMBER}",
        rf"{_NUMBER} maximum context length",
        rf"maximum context length (?:is|of) {_NUMBER}",
        rf"max(?:imum)? size: {_NUMBER} tokens",
        rf'"n_ctx": ?{_NUMBER}',
        rf"Limit {_NUMBER}, Requested",
        rf"context (?:window|length|size|limit)(?: is| of|:)? ?\(?{_NUMBER}",
    )
)


def named(text: str) -> int:
    """The number of tokens that a refusal names as the most it takes; 0 if it names none that can be."""
    for pattern in _SAID:
        if found := pattern.search(text[:20_000]):
            number = int(re.sub(r"[,_]", "", found[1]))
            return number if LEAST <= number <= MOST else 0
    return 0


def window_of(stored: object, source: Source) -> int:
    """What was learnt of this source as it is set up now; 0 if nothing was."""
    for entry in stored if isinstance(stored, list | tuple) else ():
        if isinstance(entry, Mapping) and _same(entry, source):
            window = entry.get("window")
            return window if isinstance(window, int) and LEAST <= window < source.context_window else 0
    return 0


def with_window(stored: object, source: Source, window: int) -> list[dict[str, object]]:
    """What is stored once ``window`` was learnt of ``source``."""
    others = [
        dict(entry)
        for entry in (stored if isinstance(stored, list | tuple) else ())
        if isinstance(entry, Mapping) and entry.get("source") != source.name
    ]
    mine = {
        "source": source.name, "model": said_by(source), "base_url": source.base_url,
        "configured": source.context_window, "window": window,
    }  # fmt: skip
    return [*others, mine][-KEPT:]


def _same(entry: Mapping[str, object], source: Source) -> bool:
    return (
        entry.get("source") == source.name
        and entry.get("model") == said_by(source)
        and entry.get("base_url") == source.base_url
        and entry.get("configured") == source.context_window
    )
