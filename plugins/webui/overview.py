"""The figures of memory as its overview draws them: bars, shares, columns.  Pure; what is missing counts as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from .reading import integer, mapping, string

Data = Mapping[str, Any]

DAYS = 7
"""Days of injections, today included."""
DISK = ("db", "wal", "vectors", "media", "backups")
VECTORS = ("event", "record", "entity", "block")
LEVELS = ("source", "pointer", "manual", "none")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: its count, and where it begins and how wide it is, in hundredths of the bar."""

    name: str
    count: int
    at: float
    wide: float


def bar(counts: Mapping[str, int], names: Sequence[str]) -> list[Part]:
    """The parts of a bar in this order; those with nothing are left out.  The widths add up to 100."""
    total = sum(max(0, counts.get(name, 0)) for name in names)
    parts, at = [], 0.0
    for name in names:
        if (count := max(0, counts.get(name, 0))) > 0:
            wide = 100 * count / total
            parts.append(Part(name, count, round(at, 3), round(wide, 3)))
            at += wide
    return parts


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a chart: its count and its height, in hundredths of the highest."""

    name: str
    count: int
    high: float


def columns(counts: Sequence[tuple[str, int]]) -> list[Column]:
    """One for each, against the largest."""
    most = max((count for _, count in counts), default=0)
    return [Column(name, count, round(100 * count / most, 2) if most else 0.0) for name, count in counts]


def shown(stats: Data, today: date) -> dict[str, Any]:
    """What the page needs beside `memory.stats` itself; of all scopes only where the answer has it."""
    return {
        "stats": {**stats, "layers": layers(mapping(stats.get("layers"))), "by_scope": stats.get("by_scope", [])},
        "coverage": bar(counts(mapping(stats.get("records")).get("evidence")), LEVELS),
        "gates": gates(counts(mapping(stats.get("passes")).get("gates"))),
        "days": days(counts(mapping(stats.get("injections")).get("days")), today),
        "vectors": vectors(stats["vectors"]) if "vectors" in stats else None,
        "bytes": bar(counts(stats.get("bytes")), DISK),
    }


def counts(value: object) -> dict[str, int]:
    """Names and how many of each."""
    return {str(name): integer(count) for name, count in mapping(value).items()}


def gates(stopped: Mapping[str, int]) -> list[Column]:
    """Where what was stopped, the most first."""
    return columns(sorted(((name, n) for name, n in stopped.items() if n), key=lambda one: (-one[1], one[0])))


def days(told: Mapping[str, int], today: date) -> list[Column]:
    """Turns that were told something, day by day up to today; nothing where there were none."""
    if not any(told.values()):
        return []
    names = [(today - timedelta(days=back)).isoformat() for back in range(DAYS - 1, -1, -1)]
    return columns([(name, told.get(name, 0)) for name in names])


def layers(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each layer with its share of all events, in hundredths."""
    total = sum(integer(mapping(layer).get("events")) for layer in found.values())
    share = 100 / total if total else 0.0
    return {name: {**layer, "share": round(share * integer(layer.get("events")), 2)} for name, layer in found.items()}


@dataclass(frozen=True, slots=True)
class Vectorised:
    """Of one kind: how many of all have vectors, wait for one, and were given up."""

    name: str
    have: int
    waiting: int
    failed: int

    @property
    def of(self) -> int:
        """All of them."""
        return self.have + self.waiting + self.failed

    @property
    def percent(self) -> int:
        """In hundredths."""
        return percent(self.have, self.of)


def vectorised(name: str, found: Mapping[str, int]) -> Vectorised:
    """From the kernel's counts."""
    return Vectorised(name, *(found.get(key, 0) for key in ("have", "waiting", "failed")))


def vectors(found: Data) -> dict[str, Any]:
    """How much of what is to have vectors has them, whole and by kind.  ``percent`` is 100 only when nothing waits."""
    known = mapping(found.get("kinds"))
    kinds = [kind for name in VECTORS if (kind := vectorised(name, counts(known.get(name)))).of]
    have, of = sum(one.have for one in kinds), sum(one.of for one in kinds)
    return {
        "kinds": kinds, "percent": percent(have, of),
        "waiting": sum(one.waiting for one in kinds), "failed": sum(one.failed for one in kinds),
        "dims": integer(found.get("dims")),
        "space": string(mapping(found.get("embedder")), "used") or string(found, "fingerprint"),
        "trouble": string(found, "trouble") or string(mapping(found.get("embedder")), "reason"),
    }  # fmt: skip


def percent(part: int, of: int) -> int:
    """In hundredths, rounded down: not all of it is never 100."""
    return 100 * part // of if of else 0
