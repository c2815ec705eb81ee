"""What is answered about memory: records and what they rest on, what was told, and how it all stands."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .answered import Answer


class MemoryStats(Answer):
    """What there is."""


class RecordRow(Answer):
    """A record in a list."""

    id: str
    record: str = Field(description="summary, fact or capsule.")
    kind: str
    text: str
    revision: int


class Records(Answer):
    """A page of records; ``next`` is what the next one is asked for with."""

    records: list[RecordRow]
    next: str | None


class RecordAnswer(Answer):
    """A record with what it rests on and what became of it."""


class RecordWritten(Answer):
    """A record as it is now."""


class ForgetPreview(Answer):
    """What would go."""

    kind: str
    target: str
    wide: bool
    counts: dict[str, int]
    rechecked: int
    stays: int


class ForgetProof(Answer):
    """What went, and where it was looked for afterwards; ``clean``: it was found nowhere."""

    id: str
    kind: str
    clean: bool
    removed: dict[str, int]


class Injections(Answer):
    """What was told before turns."""

    injections: list[dict[str, Any]]


class GraphAnswer(Answer):
    """Nodes and edges, each with the records it stands for."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class ColdEvents(Answer):
    """Events that left the window."""

    events: list[dict[str, Any]]
    next: str | None


class BroughtBack(Answer):
    """What is in the window again."""


class Thresholds(Answer):
    """Each with its value, what it prevents, and how it was changed."""

    thresholds: list[dict[str, Any]]


class ThresholdChanged(Answer):
    """What it was and is."""


class EmbeddingAnswer(Answer):
    """How vectors are made; of a key only whether there is one."""


class EmbeddingProbed(Answer):
    """What one vector asked for came to."""


class MemoryCheck(Answer):
    """What one check read and found."""

    id: str
    status: str = Field(description="pass, warn, fail or error.")


class MemoryChecks(Answer):
    """Every check, run once."""

    checks: list[MemoryCheck]


class MergeSide(Answer):
    """One of two that may be one."""

    entity: str
    name: str
    type: str
    mentions: int
    facts: list[str]


class MergeProposed(Answer):
    """Two that may be one; the first stays unless something else is said."""

    merge: str
    scope: str
    score: float
    sides: tuple[MergeSide, MergeSide]


class MergeDone(Answer):
    """A merge, which can be taken back by its number."""

    done: int
    scope: str
    kept: str
    gone: str
    at: float


class Merges(Answer):
    """What is proposed, and what was merged."""

    merges: list[MergeProposed]
    done: list[MergeDone]


class MergeUndone(Answer):
    """Who is there again."""

    name: str
