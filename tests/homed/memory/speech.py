"""People who say things, and facts of what they said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from homed.memory import evidence, facts, inputs, stable, threads
from homed.memory.distil.sources import facts_of
from homed.memory.evidence import Evidence
from homed.memory.facts import NewFact, Put
from homed.memory.records import Event, EventKind, NewEvent
from homed.memory.stable import Record
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input

NOW = 1_760_000_000.0
DAY = 86_400.0


@dataclass
class Speech:
    """Turns in a scope, one after the other, a day apart."""

    tx: Tx
    scope: str = "owner"
    at: float = NOW
    turns: int = 0

    def say(
        self, text: str, *, kind: EventKind = EventKind.USER, data: Mapping[str, object] | None = None, **more: Any
    ) -> Event:
        """One event of a turn of its own, a day after the one before."""
        self.turns += 1
        self.at += DAY
        thread = self.tx.value("SELECT id FROM threads WHERE scope = ?", (self.scope,))
        if thread is None:
            threads.create(self.tx, scope=self.scope, channel="cli", title="", at=self.at)
        found = threads.list_(self.tx, [self.scope])[0][0]
        input_, _ = inputs.accept(self.tx, new_input(found, text, **more), at=self.at)
        begun = inputs.begin(self.tx, input_.id, turn=f"{self.scope}{self.turns}", at=self.at)
        return inputs.finish(self.tx, begun.id, ANSWERED, [NewEvent(kind, text, data or {})], at=self.at)[0]

    def fact(self, text: str, *, of: Event | None = None, **more: Any) -> Put:
        """A fact in these words, said in these words just before."""
        event = self.say(text) if of is None else of
        return facts.put(self.tx, NewFact(self.scope, text, **more), [evidence.find(event, text)], at=self.at)

    def hear(self, text: str, **more: Any) -> list[Put]:
        """What the rules make of a message."""
        event = self.say(text, **more)
        return [facts.put(self.tx, new, [span], at=self.at) for new, span in facts_of(event)]

    def put(self, text: str, *pieces: Evidence, **more: Any) -> Put:
        return facts.put(self.tx, NewFact(self.scope, text, **more), pieces, at=self.at)

    def record(self, put: Put | str) -> Record:
        found = stable.get(self.tx, put if isinstance(put, str) else put.record)
        assert found is not None
        return found

    def records(self, status: str = "active") -> list[str]:
        """The texts of the scope's facts, in the order they were stored."""
        found = stable.select(
            self.tx, "scope = ? AND record = 'fact' AND status = ? ORDER BY seq", (self.scope, status)
        )
        return [record.text for record in found]
