"""What a model answers when it has read a transcript: read item by item, each loss counted at its gate.  Pure.

One bad item costs itself and no other.  A statement that nothing else is wrong with is never lost for want of a
subject: it is kept without its triple, and that is counted too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from homed.memory.distil.answers import json_object
from homed.memory.entities import is_self, valid
from homed.memory.evidence import Evidence, Pointer, Span
from homed.memory.lawwords import FUNCTION_WORDS
from homed.memory.newfact import NewFact
from homed.memory.normal import bag
from homed.memory.stable import KINDS

MOST_FACTS, MOST_CAPSULES, MOST_TAGS = 8, 2, 8
FACT, REQUEST, ACTIONS, OUTCOME, TITLE, CAPSULE = 300, 200, 300, 200, 80, 800
"""Characters at the most."""

SLACK = 1.5
"""A text is taken up to so many times its length: models do not count characters."""

SUPPORT = 0.5
"""Share of a statement's words that must stand in one thing a person said, when its quote stands nowhere."""

UNQUOTED = 0.35
"""Confidence, at the most, of a statement whose quote stands nowhere: low."""

ECHO = 0.75
"""Share of a statement's words that others said, from which on it is theirs if people said less than half of them."""

QUOTED = 2
"""Letters of a quote at the least: an "I" stands in every message."""

RELATION, VALUE = 60, 200
"""Characters of a relation and of its object at the most."""

_LETTER = re.compile(r"[^\W_]")
_SCRIPTS = (re.compile("[\u4e00-\u9fff]"), re.compile("[а-яё]", re.IGNORECASE), re.compile("[a-z]", re.IGNORECASE))
_NAMES = {"l1": ("l1", "summary"), "l2": ("l2", "facts"), "l3": ("l3", "capsules")}


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

    ``drops``: gate → items lost: ``shape``, ``text``, ``long``, ``many``, ``kind``.  ``mended``: what was put right
    without a loss: ``kind`` (an unknown one is "fact"), ``range``, ``scope``, ``cut``.  An answer with no facts and no
    drops found nothing: that is not an error.
    """

    summary: Outlined | None = None
    facts: tuple[Stated, ...] = ()
    capsules: tuple[Whole, ...] = ()
    drops: Mapping[str, int] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)


class Quote(Protocol):
    """Where a quote stands: in a person's own words (``span``), or only in others' (``whose``, else '')."""

    @property
    def span(self) -> Span | None:
        """The place in an event that may feed memory."""
        ...

    @property
    def whose(self) -> str:
        """assistant, program, or ''."""
        ...


class Script(Protocol):
    """What was read: finds quotes in it."""

    @property
    def others(self) -> Sequence[str]:
        """What the model and programs said in it."""
        ...

    def find(self, quote: str) -> Quote:
        """Where a quote stands."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an answer's statements are from.  ``said``: (event id, text) of everything in it that people said
    themselves; ``tainted``: words of strangers were in view, so that only what stands there verbatim is believed."""

    scope: str
    said: Sequence[tuple[str, str]]
    peer: str = ""
    project: str = ""
    tainted: bool = False


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


def grounded(answer: Answer, script: Script, ground: Ground) -> tuple[list[tuple[NewFact, Evidence]], Counter[str]]:
    """Each statement that people's own words bear out, with where they do; and how many are lost at which gate.

    ``not_said``: its quote, or next to all of its words, stand only in what the model or a program said (so a memory
    told back is no news, whatever it is said to be quoted from); ``unsupported``: its quote stands nowhere, and no
    message has half of its words; ``tainted``: the same while words of strangers were in view.  A quote that stands
    there, but shares no word with the statement, bears it out as little as none would.  ``triple``: kept, but without
    subject, relation and object, which do not fit together.
    """
    kept: list[tuple[NewFact, Evidence]] = []
    gates: Counter[str] = Counter()
    own, others = _words(text for _, text in ground.said), _words(script.others)
    for stated in answer.facts:
        quote = script.find(stated.quote) if len(_LETTER.findall(stated.quote)) >= QUOTED else None
        span, said, heard = quote.span if quote else None, _share(stated.text, own), _share(stated.text, others)
        if (heard >= ECHO and said < heard / 2) or (quote is not None and quote.whose and span is None):
            gates["not_said"] += 1
        elif span is not None and (said > 0 or not _one_script(stated.text, stated.quote)):
            kept.append((_new(stated, ground, stated.confidence, gates), span))
        elif ground.tainted:
            gates["tainted"] += 1
        elif (event := span.event if span is not None else _bearer(stated.text, ground.said)) is None:
            gates["unsupported"] += 1
        else:
            kept.append((_new(stated, ground, min(stated.confidence, UNQUOTED), gates), Pointer(event)))
    return kept, gates


def _one_script(text: str, quote: str) -> bool:
    return any(script.search(text) and script.search(quote) for script in _SCRIPTS)


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(bag, texts)))


def _share(text: str, said: Collection[str]) -> float:
    """Share of the words of a statement that were said, 0..1; 1 of one that has none."""
    words = bag(text) - FUNCTION_WORDS
    return len(words & frozenset(said)) / len(words) if words else 1.0


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
    kind, reach = _text(item, "kind").lower(), _text(item, "scope").lower() or "user"
    if kind not in KINDS["fact"]:
        mended["kind"] += 1
        kind = "fact"
    if reach not in ("user", "project"):
        mended["scope"] += 1
        reach = "user"
    return Stated(
        text, kind, reach, _tags(item), _confidence(item, mended), _importance(item, mended), _text(item, "quote"),
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
    return Whole(
        _text(item, "id"), _cut(title, TITLE, mended), kind, _cut(text, CAPSULE, mended), _importance(item, mended)
    )


def _text(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return str(found)
    return found.strip() if isinstance(found, str) else ""


def _cut(text: str, most: int, mended: Counter[str]) -> str:
    if len(text) <= most:
        return text
    mended["cut"] += 1
    return f"{text[: most - 1].rstrip()}…"


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
    return tuple(dict.fromkeys(tag.strip()[:40] for tag in found if isinstance(tag, str) and tag.strip()))[:MOST_TAGS]


def _bearer(text: str, said: Sequence[tuple[str, str]]) -> str | None:
    """The event with the largest share of a statement's words, if that is large enough."""
    words = bag(text) - FUNCTION_WORDS
    shares = [(len(words & bag(other)) / len(words), event) for event, other in said] if words else []
    share, event = max(shares, key=lambda one: one[0], default=(0.0, ""))
    return event if share >= SUPPORT else None


def _new(stated: Stated, ground: Ground, confidence: float, gates: Counter[str]) -> NewFact:
    subject, relation, value = _triple(stated)
    if (stated.subject or stated.relation or stated.object) and not relation:
        gates["triple"] += 1
    return NewFact(
        scope=ground.scope, text=stated.text, kind=stated.kind, tags=stated.tags, importance=stated.importance,
        confidence=confidence, reach=stated.reach if ground.project else "user",
        project=ground.project if stated.reach == "project" else "", subject=subject, relation=relation, object=value,
        subject_type="person" if is_self(subject) else "", peer=ground.peer, replaces=stated.replaces,
        observed=ground.peer if ground.scope.startswith("group:") else "",
    )  # fmt: skip


def _triple(stated: Stated) -> tuple[str, str, str]:
    """Subject, relation, object, when the three make sense; a missing subject is the user when the sentence begins
    with them."""
    if not 0 < len(stated.relation) <= RELATION or not 0 < len(stated.object) <= VALUE:
        return "", "", ""
    subject = stated.subject or _said_subject(stated.text)
    return (subject, stated.relation, stated.object) if is_self(subject) or valid(subject) else ("", "", "")


def _said_subject(text: str) -> str:
    begins = re.match(
        r"(?:the )?user\b|i\b|i'm\b|my\b|用户|我|пользовател|я\b|мне\b|меня\b|мой\b|моя\b", text, re.IGNORECASE
    )
    return "user" if begins else ""
