"""Why a turn was answered as it was, made ready for the page from the records of the turn.  Pure.

The records hold ids, scores and counts; what they are called stands beside them, as far as it is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .reading import Data, integer, mapping, mappings, number, string, strings

SHOWN = 12
"""Rows of a group that are shown at once."""

RECORD = "stable"
"""The layer of facts, summaries and capsules."""

Sentence = tuple[str, Mapping[str, object]]
"""A key of the words, and what is filled in."""


@dataclass(frozen=True, slots=True)
class Row:
    """One event or record of a group.  ``known`` is None for what is gone; ``score`` None where it has none."""

    id: str
    known: Data | None
    score: float | None = None
    why: str = ""

    @property
    def is_record(self) -> bool:
        """Whether it is a summary, fact or capsule, and no message."""
        if self.known is not None:
            return self.known.get("layer") == RECORD
        return self.id.startswith(("fact_", "summary_", "capsule_"))


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under a name; ``unlisted`` more were not written down."""

    name: str
    rows: tuple[Row, ...]
    unlisted: int = 0

    @property
    def count(self) -> int:
        """All of them."""
        return len(self.rows) + self.unlisted


@dataclass(frozen=True, slots=True)
class Part:
    """What one record says: sentences, and groups that are not empty."""

    kind: str
    at: float
    sentences: tuple[Sentence, ...] = ()
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """A piece of the window: ``tokens`` of it, from ``x`` on, ``width`` wide, of 100."""

    name: str
    tokens: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Page:
    """All of it.  ``told``: rows of the ledger; ``window``: tokens that the model takes, with its ``shares``.

    ``written``: what was made of the turn since (``state``, ``records``, ``due``, ``paused``), empty where that is not
    known.
    """

    turn: str
    thread: str
    at: float
    query: str = ""
    title: str = ""
    window: int = 0
    shares: tuple[Share, ...] = ()
    told: tuple[Data, ...] = ()
    parts: tuple[Part, ...] = ()
    written: Data = field(default_factory=dict)


def page(explained: Data, told: Sequence[Data] = (), written: object = None) -> Page:
    """The page for ``memory.explain``, with the turn's rows of ``memory.injections`` and what those say of its pass."""
    events, entries = mapping(explained.get("events")), mappings(explained.get("entries"))
    made = [_part(entry, events) for entry in entries]
    chose = next((mapping(one.get("data")) for one in reversed(entries) if one.get("kind") == "select"), {})
    thread = string(explained, "thread")
    title = next((string(mapping(one), "title") for one in events.values() if mapping(one).get("thread") == thread), "")
    return Page(
        string(explained, "turn"), thread, number(explained.get("at")),
        next((string(row, "query") for row in told if row.get("query")), ""),
        next((string(row, "title") for row in told if row.get("title")), title),
        integer(chose.get("window")), tuple(shares(chose)), tuple(told),
        tuple(part for part in made if part.sentences or part.groups), mapping(written),
    )  # fmt: skip


def shares(chose: Data) -> list[Share]:
    """How the window is divided: what is fixed, the conversation's part, memory's part, and what is left to answer."""
    window = integer(chose.get("window"))
    if window <= 0:
        return []
    parts = {name: max(0, integer(chose.get(name))) for name in ("fixed", "context", "memory")}
    parts["answer"] = max(0, window - sum(parts.values()))
    whole, x, found = max(window, sum(parts.values())), 0.0, []
    for name, tokens in parts.items():
        width = round(100 * tokens / whole, 2)
        if tokens:
            found.append(Share(name, tokens, round(x, 2), width))
        x += width
    return found


def _part(entry: Data, events: Data) -> Part:
    kind, data = string(entry, "kind"), mapping(entry.get("data"))
    read = _KINDS.get(kind)
    sentences, groups = read(data, _Names(events)) if read else ([], [])
    kept = tuple(group for group in groups if group.rows)
    return Part(kind, number(entry.get("at")), tuple(sentences), kept)


@dataclass(frozen=True, slots=True)
class _Names:
    events: Data
    scores: Mapping[str, object] = field(default_factory=dict)

    def rows(self, ids: object, scores: object = None, why: str = "") -> list[Row]:
        """Of a list of ids, or of objects with an id and a score."""
        known = mapping(scores)
        found: list[Row] = []
        for one in ids if isinstance(ids, list | tuple) else ():
            of: Data = one if isinstance(one, Mapping) else {"id": one}
            id_, score = string(of, "id"), of.get("score", known.get(str(of.get("id"))))
            event = self.events.get(id_)
            if id_:
                known_ = event if isinstance(event, Mapping) else None
                found.append(Row(id_, known_, float(score) if isinstance(score, int | float) else None, why))
        return found


def _group(name: str, rows: Iterable[Row], unlisted: object = 0) -> Group:
    return Group(name, tuple(rows), integer(unlisted))


Read = tuple[list[Sentence], list[Group]]


def _select(data: Data, names: _Names) -> Read:
    scores = data.get("scores")
    kept = [
        row for why, ids in mapping(data.get("kept")).items() for row in names.rows(ids, scores, f"js.why_is_{why}")
    ]
    kept.sort(key=lambda row: -(row.score or 0.0))
    left = names.rows(data.get("left_out"), scores)
    more = integer(data.get("more"))
    of = integer(data.get("of")) or len(kept)
    said: Sentence = ("js.why_select_says", {"kept": len(kept), "of": of, "left": len(left) + more})
    return [said], [_group("why_kept", kept), _group("why_left_out", left, more)]


def _recall(data: Data, names: _Names) -> Read:
    hits = mappings(data.get("hits"))
    scores = {string(hit, "id"): hit.get("score") for hit in hits}
    counts = {key: len(strings(data.get(key))) for key in ("shown", "cold", "facts")}
    lines: list[Sentence] = [("js.why_recall_says", {**counts, "chars": integer(data.get("chars"))})]
    if below := integer(data.get("below")) + integer(mapping(data.get("known")).get("below")):
        lines.append(("js.why_below", {"n": below, "gate": number(data.get("gate"))}))
    if late := strings(data.get("late")):
        lines.append(("js.why_late", {"what": ", ".join(late)}))
    untold = names.rows([hit for hit in hits if hit.get("told") is False])
    known = mapping(data.get("known"))
    sunk = mapping(known.get("sunk"))
    return lines, [
        _group("why_cold", names.rows(data.get("cold"), scores)),
        _group("why_shown", names.rows(data.get("shown"), scores)),
        _group("why_facts", names.rows(data.get("facts"), known.get("scores"))),
        _group("why_gated", [*names.rows(list(sunk), sunk)]),
        _group("why_untold", untold),
    ]


def _guard(data: Data, names: _Names) -> Read:
    why = string(data, "why")
    return [(f"js.why_guard_{why}", {}), _weights(data)], [
        _group("why_dropped", names.rows(data.get("dropped"))),
        _group("why_left_out", names.rows(data.get("left_out"))),
        _group("why_sunk", names.rows(data.get("sunk"))),
    ]


def _weights(data: Data) -> Sentence:
    before, after = mapping(data.get("before")), mapping(data.get("after"))
    return (
        "why.before_after",
        {
            "events": integer(before.get("events")), "tokens": integer(before.get("tokens")),
            "then": integer(after.get("events")), "left": integer(after.get("tokens")),
        },
    )  # fmt: skip


def _sink(data: Data, names: _Names) -> Read:
    return [_weights(data)], [_group("why_sunk", names.rows(data.get("events"), data.get("scores")))]


def _peek(data: Data, names: _Names) -> Read:
    return [], [_group("why_peeked", names.rows(data.get("events") or data.get("ids")))]


def _confirm(data: Data, names: _Names) -> Read:
    return [], [
        _group("why_back", names.rows(data.get("back"))),
        _group("why_there", names.rows(data.get("there"))),
    ]


_KINDS: Mapping[str, Any] = {
    "select": _select, "recall": _recall, "guard": _guard, "sink": _sink, "peek": _peek, "confirm": _confirm,
}  # fmt: skip
