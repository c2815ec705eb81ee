"""What is answered about memory: records and what they rest on, what was told, and how it all stands."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .answered import Answer


class Explained(Answer):
    """The ledger's entries of a turn, and the events that they name."""

    turn: str
    thread: str
    at: float
    entries: list[dict[str, Any]]
    events: dict[str, dict[str, Any]]


class RecordCounts(Answer):
    """How many records there are; ``record``, ``kind``, ``reach`` and ``evidence`` count those that hold."""

    total: int
    record: dict[str, int]
    kind: dict[str, int]
    status: dict[str, int]
    reach: dict[str, int]
    untrusted: int
    evidence: dict[str, int] = Field(description="source, pointer, manual, none.")


class MemoryStats(Answer):
    """What there is, what it rests on, what waits; an owner is told besides of ``vectors``, ``bytes`` and ``jobs``."""

    scopes: list[str]
    records: RecordCounts
    layers: dict[str, dict[str, int]]
    graph: dict[str, int]
    citations: dict[str, int]
    injections: dict[str, Any] = Field(description="Of the last seven days.")
    revisions: list[dict[str, Any]]
    passes: dict[str, Any] = Field(description="What waits, and what was stopped at which gate.")


class RecordBeside(Answer):
    """A record beside another one."""

    id: str
    shown: str = Field(description="The last eight digits, which are enough to name it.")
    record: str = Field(description="summary, fact or capsule.")
    kind: str
    title: str
    text: str
    status: str = Field(description="active, superseded, archived, hidden or quarantined.")
    revision: int
    untrusted: bool
    created_at: float
    updated_at: float
    superseded_by: str | None


class RecordRow(RecordBeside):
    """A record in a list.  ``mark``: source, pointer, manual, or nothing."""

    scope: str
    reach: str
    mark: str
    origin: str
    extractor: str
    tags: list[str]
    importance: int
    confidence: float
    cited: int


class Records(Answer):
    """A page of records; ``next`` is what the page behind it is asked for with, ``of`` how many there are."""

    records: list[RecordRow]
    next: str | None
    of: int


class RecordEvidence(Answer):
    """A piece of an event.  ``text`` is verbatim; ``hash_ok`` as checked just now, null where it is a pointer."""

    event: str
    first: int | None
    last: int | None
    text: str
    hash_ok: bool | None
    state: str = Field(description="ok, mismatch, missing or pointer.")
    before: str
    after: str


class RecordSaid(Answer):
    """What a record said before, and why that was changed."""

    revision: int
    text: str
    why: str
    at: float


class RecordAnswer(RecordRow):
    """A record with what it rests on and what became of it; ``source``: ``source unavailable``, or nothing."""

    source: str
    evidence: list[RecordEvidence]
    history: list[RecordSaid]
    older: list[RecordBeside]
    newer: list[RecordBeside]
    members: list[RecordBeside]
    capsules: list[RecordBeside]
    citations: list[dict[str, Any]]
    injections: list[dict[str, Any]]


class RecordWritten(Answer):
    """A record as it is now."""

    id: str
    shown: str
    status: str
    revision: int


class ForgetPreview(Answer):
    """What would go; ``stays``: messages that say it and would stay, ``busy``: it is being answered just now."""

    kind: str
    target: str
    wide: bool
    counts: dict[str, int]
    rechecked: int
    stays: int
    busy: bool


class ForgetProof(Answer):
    """What went, and where it was looked for afterwards; ``clean``: it was found nowhere."""

    id: str
    kind: str
    clean: bool
    removed: dict[str, int]
    searched: dict[str, Any]
    found: dict[str, int]


class InjectedLine(Answer):
    """A line that a turn was told; ``gone``: the record is not there any more."""

    id: str
    record: str
    revision: int
    band: str
    score: float
    evidence: str
    gone: bool


class InjectionRow(Answer):
    """What one turn was told."""

    seq: int
    turn: str
    thread: str
    at: float
    query: str
    mode: str = Field(description="hit, background or snapshot.")
    counts: dict[str, int]
    chars: int
    lines: list[InjectedLine]


class Injections(Answer):
    """What was told before turns, the newest first; ``next`` is the ``before`` of the page behind it."""

    injections: list[InjectionRow]
    next: int | None


class GraphAnswer(Answer):
    """Nodes, and edges with the records that say so."""

    center: str
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    more: bool


class ColdEvent(Answer):
    """A message that left the window; ``of``: the length of the whole text."""

    event: str
    at: float
    thread: str
    turn: str
    kind: str
    text: str
    of: int


class ColdEvents(Answer):
    """Messages that left the window; ``next`` is the ``before`` of the page behind it."""

    events: list[ColdEvent]
    next: str | None


class BroughtBack(Answer):
    """Which messages are in the window again."""

    events: list[str]


class ThresholdRow(Answer):
    """A threshold, the failure that it prevents, and how it came to be what it is, the newest change first."""

    key: str
    value: Any
    default: Any
    prevents: str
    changes: list[dict[str, Any]]


class Thresholds(Answer):
    """All of them."""

    thresholds: list[ThresholdRow]


class ThresholdChanged(ThresholdRow):
    """As it is now."""


class EmbeddingAnswer(Answer):
    """How vectors are made; of a key only whether there is one."""

    enabled: bool
    base_url: str
    model: str
    dimensions: int
    hasKey: bool = Field(description="Whether a key is stored; it is never told.")  # noqa: N815 - as the original has it


class EmbeddingProbed(Answer):
    """What one vector asked for came to."""

    ok: bool
    reachable: bool
    embeds: bool
    dims: int
    ms: float
    error: str


class MemoryCheck(Answer):
    """What one check read and found, and what to do about it."""

    id: str
    status: str = Field(description="pass, warn, fail or error.")
    evidence: str
    fix: str


class MemoryChecks(Answer):
    """Every check, each made once."""

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
