"""What a model answers when it has read a transcript: read item by item, each loss counted at its gate.  Pure.

One bad item costs itself and no other.  A statement that nothing else is wrong with is never lost for want of a
subject: it is kept without its triple, and that is counted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homed.memory.blocked import secret_in, shortened
from homed.memory.distil.answers import json_object
from homed.memory.seen import seen
from homed.memory.stable import KINDS

MOST_FACTS, MOST_CAPSULES, MOST_TAGS = 8, 2, 8
MOST_LOOKED_AT = 100
"""Of a list of tags."""

FACT, REQUEST, ACTIONS, OUTCOME, TITLE, CAPSULE = 300, 200, 300, 200, 80, 800
"""Characters at the most."""

SLACK = 1.5
"""A text is taken up to so many times its length: models do not count characters."""

_NAMES = {"l1": ("l1", "summary"), "l2": ("l2", "facts", "fact"), "l3": ("l3", "capsules", "capsule")}


class BadAnswer(ValueError):
    """There is no JSON object of the shape in the answer.  ``args[0]`` says why, without a word of it."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """What a turn was."""

    request: str
    actions: str
    outcome: str
    importance: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement as the model gave it, in bounds."""

    text: str
    kind: str
    reach: str
    tags: tuple[str, ...]
    confidence: float
    importance: int
    quote: str
    subject: str
    relation: str
    object: str
    about: str
    replaces: str


@dataclass(frozen=True, slots=True)
class Whole:
    """One capsule as the model gave it."""

    id: str
    title: str
    kind: str
    text: str
    importance: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is left of an answer, and how much was lost at which gate.

    ``drops``: gate → items lost: ``shape``, ``text``, ``long``, ``many``, ``kind``, ``secret`` (a capsule that holds
    one).  ``mended``: what was put right without a loss: ``kind`` (an unknown one is "fact"), ``range``, ``scope``,
    ``cut``.  An answer with no facts and no drops found nothing: that is not an error.
    """

    summary: Outlined | None = None
    facts: tuple[Stated, ...] = ()
    capsules: tuple[Whole, ...] = ()
    drops: Mapping[str, int] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)


def read(answer: str) -> Answer:
    """Take an answer apart.  Raises ``BadAnswer`` when it holds no JSON object with one of the three parts."""
    found = json_object(answer, [key for keys in _NAMES.values() for key in keys])
    if not found:
        raise BadAnswer("no JSON object with l1, l2 or l3" if "{" in answer else "no JSON object")
    drops: Counter[str] = Counter()
    mended: Counter[str] = Counter()
    parts = {name: next((found[key] for key in keys if key in found), None) for name, keys in _NAMES.items()}
    stated = [_stated(item, drops, mended) for item in _items(parts["l2"], MOST_FACTS, drops)]
    wholes = [_whole(item, drops, mended) for item in _items(parts["l3"], MOST_CAPSULES, drops)]
    summary = _summary(parts["l1"], drops, mended)
    return Answer(
        summary, tuple(one for one in stated if one), tuple(one for one in wholes if one), dict(+drops), dict(+mended)
    )


def _items(found: object, most: int, drops: Counter[str]) -> Sequence[Mapping[str, Any]]:
    if found is None:
        return []
    if not isinstance(found, list):
        drops["shape"] += 1
        return []
    items = [item for item in found if isinstance(item, dict)]
    drops["shape"] += len(found) - len(items)
    drops["many"] += max(0, len(items) - most)
    return items[:most]


def _summary(found: object, drops: Counter[str], mended: Counter[str]) -> Outlined | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        drops["shape"] += 1
        return None
    request, outcome = _text(found, "request"), _text(found, "outcome")
    if not request and not outcome:
        drops["text"] += 1
        return None
    actions = _text(found, "actions") or "-"
    return Outlined(
        _cut(request, REQUEST, mended), _cut(actions, ACTIONS, mended), _cut(outcome, OUTCOME, mended),
        _importance(found, mended), _tags(found),
    )  # fmt: skip


def _stated(item: Mapping[str, Any], drops: Counter[str], mended: Counter[str]) -> Stated | None:
    text = _text(item, "text")
    if not text or len(text) > FACT * SLACK:
        drops["text" if not text else "long"] += 1
        return None
    kind, reach = _text(item, "kind").lower(), (_text(item, "scope") or _text(item, "reach")).lower() or "user"
    if kind not in KINDS["fact"]:
        mended["kind"] += 1
        kind = "fact"
    if reach not in ("user", "project"):
        mended["scope"] += 1
        reach = "user"
    return Stated(
        text, kind, reach, _tags(item), _confidence(item, mended), _importance(item, mended), _verbatim(item, "quote"),
        _text(item, "subject"), _text(item, "relation"), _text(item, "object"), _text(item, "about"),
        _text(item, "supersedes"),
    )  # fmt: skip


def _whole(item: Mapping[str, Any], drops: Counter[str], mended: Counter[str]) -> Whole | None:
    title, text, kind = _text(item, "title"), _text(item, "text"), _text(item, "kind").lower()
    if not title or not text:
        drops["text"] += 1
        return None
    if kind not in KINDS["capsule"]:
        drops["kind"] += 1
        return None
    if len(text) > CAPSULE * SLACK:
        drops["long"] += 1
        return None
    if secret_in(text) or secret_in(title):  # before anything is cut: half a secret looks like none
        drops["secret"] += 1
        return None
    return Whole(
        _text(item, "id"), _cut(title, TITLE, mended), kind, _cut(text, CAPSULE, mended), _importance(item, mended)
    )


def _text(item: Mapping[str, Any], name: str) -> str:
    return seen(_verbatim(item, name)).strip()


def _verbatim(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return str(found)
    return found.strip() if isinstance(found, str) else ""


def _cut(text: str, most: int, mended: Counter[str]) -> str:
    if len(text) <= most:
        return text
    mended["cut"] += 1
    return shortened(text, most)


def _number(item: Mapping[str, Any], name: str) -> float | None:
    found = item.get(name)
    if isinstance(found, str):
        try:
            found = float(found)
        except ValueError:
            return None
    good = isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < 1e6  # no nan, no infinity
    return float(found) if good and found is not None else None


def _importance(item: Mapping[str, Any], mended: Counter[str]) -> int:
    found = _number(item, "importance")
    if found is None:
        return 5
    mended["range"] += not 1 <= found <= 10
    return min(10, max(1, round(found)))


def _confidence(item: Mapping[str, Any], mended: Counter[str]) -> float:
    found = _number(item, "confidence")
    if found is None:
        return 0.5
    mended["range"] += not 0 <= found <= 1
    return min(1.0, max(0.0, found))


def _tags(item: Mapping[str, Any]) -> tuple[str, ...]:
    found = item.get("tags")
    if not isinstance(found, list):
        return ()
    tags = (seen(tag).strip()[:40] for tag in found[:MOST_LOOKED_AT] if isinstance(tag, str))
    return tuple(dict.fromkeys(filter(None, tags)))[:MOST_TAGS]
