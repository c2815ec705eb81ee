"""Everything in one memory: talk, exact tokens, changing values, another language, side by side, asked by class.

What real use is like: each class is asked for beside all others, and beside what is asked for nowhere.  Made of the
committed sets, from histories that do not contradict each other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.sets import rows
from benchmarks.sets.rows import DATA, Set

PARTS = (
    ("chinese", "zh-1"),
    ("unrelated", "unrelated-en"),
    ("exact", "exact"),
    ("latest", "latest-1"),
    ("zh-en", "en"),
)
"""Sets, and which of their histories."""

CLASSES = {
    "same words": "casual fact",
    "other words": "paraphrase",
    "changed": "overwritten value",
    "list": "coexisting values",
    "reply": "answer to a question",
    "multi-hop": "two facts joined",
    "exact": "exact token",
    "latest": "latest value",
    "other language": "other language",
    "unrelated": "unknown topic",
}
"""By the kind that a set calls it."""


def mixed(data: Path = DATA) -> Set:
    """One history, in the order of time; questions are of the kinds of ``CLASSES``."""
    events, queries = [], []
    for name, history in PARTS:
        part = rows.read(data / name)
        for event in part.events:
            if event.history == history:
                place = {"id": f"{history} {event.id}", "session": f"{history} {event.session}", "history": "mixed"}
                events.append(replace(event, **place))
        for query in part.queries:
            if query.history == history:
                gold = tuple(f"{history} {id_}" for id_ in query.gold)
                changed = replace(query, history="mixed", gold=gold, kind=CLASSES[query.kind])
                queries.append(replace(changed, id=f"{name} {query.id}"))
    return Set(sorted(events, key=lambda event: event.time), queries)
