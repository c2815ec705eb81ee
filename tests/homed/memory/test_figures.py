"""Figures come from indexes alone: that is what keeps them quick, whatever there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homed.memory import figures
from homed.store.rows import Row, SqlValue, Tx

LARGE = ("events", "vectors")
"""Tables that have a row for each thing that was ever said, with its words or its vector."""


@dataclass
class Watched:
    """Notes how each query reads."""

    tx: Tx
    plans: list[str] = field(default_factory=list)

    def all(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> list[Row]:
        self.plans += [str(row[-1]) for row in self.tx.all(f"EXPLAIN QUERY PLAN {sql}", params)]
        return self.tx.all(sql, params)

    def value(self, sql: str, params: Sequence[SqlValue] | Mapping[str, SqlValue] = ()) -> Any:
        rows = self.all(sql, params)
        return rows[0][0] if rows else None


def test_no_text_and_no_vector_is_read(tx: Tx) -> None:
    """100 000 events, 5 300 records and 45 000 vectors: all figures together take 80 ms so, and a second otherwise."""
    watched: Any = Watched(tx)
    scopes = {"owner", "guest:qq:1"}
    for figure in (figures.records, figures.layers, figures.graph, figures.newest_revisions, figures.passes):
        figure(watched, scopes)
    figures.use(watched, scopes, 5.0)
    figures.vectors(watched, "fake")
    figures.by_scope(watched)
    figures.media_bytes(watched)
    assert len(watched.plans) > 20
    touching = [plan for plan in watched.plans if any(f" {table}" in plan for table in LARGE)]
    assert touching
    assert [plan for plan in touching if "COVERING INDEX" not in plan] == []
