"""What a set consists of: events and questions, as JSON lines in the form that ``homed bench recall`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
"""Where the committed sets lie, a folder each."""

BEGIN = datetime(2024, 1, 8, 9, 0)


@dataclass(frozen=True, slots=True)
class Event:
    """Something said.  ``time`` is ISO 8601 without a zone; ids are unique in a history."""

    history: str
    id: str
    session: str
    time: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A question; ``gold`` are the events with its answer, none where there is no answer."""

    history: str
    id: str
    text: str
    kind: str
    gold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Set:
    """A whole one."""

    events: Sequence[Event]
    queries: Sequence[Query]


@dataclass(slots=True)
class History:
    """Events in the making: sessions some days apart, turns some seconds."""

    name: str
    events: list[Event] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    _session: int = 0

    def session(self) -> None:
        """Begin the next one."""
        self._session += 1

    def say(self, speaker: str, text: str) -> str:
        """Add a turn to the session; its id."""
        place = sum(1 for event in self.events[-200:] if event.session == str(self._session))
        at = BEGIN + timedelta(days=3 * self._session, hours=self._session % 11, seconds=25 * place)
        id_ = f"D{self._session}:{place + 1}"
        self.events.append(Event(self.name, id_, str(self._session), at.isoformat(), speaker, text))
        return id_

    def ask(self, text: str, kind: str, gold: Iterable[str] = ()) -> None:
        """Add a question."""
        found = tuple(dict.fromkeys(gold))
        self.queries.append(Query(self.name, f"{self.name}/{len(self.queries)}", text, kind, found))


def joined(histories: Iterable[History]) -> Set:
    """One set of these."""
    every = list(histories)
    return Set([e for h in every for e in h.events], [q for h in every for q in h.queries])


SHARED = {"chinese-words": "chinese"}
"""Sets whose events are those of another."""


def write(made: Set, folder: Path) -> None:
    """As ``events.jsonl`` and ``queries.jsonl``; the events of a shared set once only."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "queries.jsonl").write_text(text(made.queries), "utf-8")
    if folder.name not in SHARED:
        (folder / "events.jsonl").write_text(text(made.events), "utf-8")


def text(rows: Sequence[Event] | Sequence[Query]) -> str:
    """JSON lines."""
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def read(folder: Path) -> Set:
    """A set that was written."""
    events = [Event(**row) for row in _rows(folder.parent / SHARED.get(folder.name, folder.name) / "events.jsonl")]
    queries = [Query(**{**row, "gold": tuple(row["gold"])}) for row in _rows(folder / "queries.jsonl")]
    return Set(events, queries)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
