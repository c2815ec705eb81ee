"""What may be asked of memory over REST; see `asked`.  Slow to load, so only `schemas` and `openapi` import it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .asked import WHOLE, Body, Query, Said, _decimal, _integral

Id = Annotated[Said, Field(max_length=200)]
Text = Annotated[Said, Field(max_length=4_000)]
Tags = Annotated[list[Annotated[Said, Field(max_length=40)]], Field(max_length=8)]
Seconds = BeforeValidator(_decimal)
Importance = Annotated[int, Field(ge=1, le=10), BeforeValidator(_integral)]
Place = Annotated[str, Field(pattern=r"^([0-9]{1,18}(:[0-9]{1,18})?)?\Z")]
Which = Literal["summary", "fact", "capsule", "l1", "l2", "l3"]


class RecordsQuery(Query):
    """Which records; without ``status`` those that hold.  ``before`` is the ``next`` of the page before; times are UTC
    seconds; ``peer``: whom they are of, or who said what they rest on."""

    query: Annotated[str, Field(max_length=400)] = ""
    record: Which | Literal[""] = ""
    kind: Annotated[str, Field(max_length=40)] = ""
    reach: Literal["", "user", "project"] = ""
    scope: Annotated[str, Field(max_length=200)] = ""
    peer: Annotated[str, Field(max_length=200)] = ""
    project: Annotated[str, Field(max_length=200)] = ""
    entity: Annotated[str, Field(max_length=200)] = ""
    tag: Annotated[str, Field(max_length=200)] = ""
    evidence: Literal["", "source", "pointer", "manual", "none"] = ""
    status: Literal["", "active", "superseded", "archived", "hidden", "quarantined", "any"] = ""
    untrusted: Literal["", "0", "1"] = ""
    since: Annotated[float, Field(ge=0, lt=1e12), Seconds] | None = None
    until: Annotated[float, Field(ge=0, lt=1e12), Seconds] | None = None
    sort: Literal["newest", "importance", "cited"] = "newest"
    before: Place = ""
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 30


class HoloRecordsQuery(Query):
    """Which records, as the original asked for them."""

    layer: Which | Literal[""] = ""
    q: Annotated[str, Field(max_length=400)] = ""
    cursor: Place = ""
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 30


class RecordQuery(Query):
    """Whether with what it said before."""

    history: Literal["", "0", "1"] = ""


class RecordNote(Body):
    """A record to be written by hand."""

    text: Text
    record: Which = "fact"
    kind: Annotated[Said, Field(max_length=40)] | None = None
    reach: Literal["user", "project"] | None = None
    project: Annotated[str, Field(max_length=200)] | None = None
    title: Annotated[str, Field(max_length=80)] | None = None
    tags: Tags | None = None
    importance: Importance | None = None


class RecordEdit(Body):
    """What becomes different; ``revision`` is the one that was read: a newer one is a conflict."""

    revision: Annotated[int, Field(ge=1, lt=1 << 31), BeforeValidator(_integral)]
    text: Text | None = None
    title: Annotated[str, Field(max_length=80)] | None = None
    importance: Importance | None = None
    tags: Tags | None = None
    kind: Annotated[Said, Field(max_length=40)] | None = None


class RecordForget(Body):
    """``wide``: the messages that it comes from too."""

    wide: bool = False


class Combine(Body):
    """``gone`` becomes a part of ``keep``."""

    keep: Id
    gone: Id

    @model_validator(mode="after")
    def _two(self) -> Combine:
        if self.keep == self.gone:
            raise ValueError("'keep' and 'gone' are one record")
        return self


class Forgetting(Body):
    """What is meant by an id; ``wide``: with all that it comes from."""

    kind: Literal["event", "fact", "entity", "peer", "thread"]
    target: Id
    wide: bool = False


class InjectionsQuery(Query):
    """Which injections: of a thread, of a turn, or those that a record was in.  ``before`` is the ``seq`` of one."""

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 20
    before: Annotated[int, Field(ge=1, lt=1 << 53), WHOLE] | None = None
    thread: Annotated[str, Field(max_length=200)] = ""
    record: Annotated[str, Field(max_length=200)] = ""
    turn: Annotated[str, Field(max_length=200)] = ""


class GraphQuery(Query):
    """How far around what; without a centre what is known best."""

    center: Annotated[str, Field(max_length=200)] = ""
    depth: Annotated[int, Field(ge=1, le=3), WHOLE] = 1
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 100


class ColdQuery(Query):
    """Which events that left the window; ``before`` is the ``next`` of the page before."""

    query: Annotated[str, Field(max_length=400)] = ""
    before: Annotated[str, Field(pattern=r"^[0-9]{0,18}\Z")] = ""
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 30


class ThresholdChange(Body):
    """A threshold's new value, and why: what happened that it should prevent, or prevented though it should not."""

    key: Id
    value: Any
    reason: Annotated[Said, Field(max_length=500)]


class EmbeddingPlace(Body):
    """An endpoint to try.  Without ``api_key`` the stored one asks, at its own address alone."""

    base_url: Annotated[str, Field(pattern=r"^(https?://\S+)?\Z", max_length=2_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    api_key: Annotated[str, Field(max_length=2_000)] | None = None
    dimensions: Annotated[int, Field(ge=0, le=8192), BeforeValidator(_integral)] | None = None


class EmbeddingChange(EmbeddingPlace):
    """How vectors are made from now on; what is not said stays, an empty ``api_key`` removes the stored one."""

    enabled: bool | None = None
    embedding: Literal["auto", "bundled", "folder", "static", "endpoint", "tfidf", "off"] | None = None


class MemoryDoctor(Body):
    """``deep``: open originals, hash them again, try recall.  ``repair``: mend what can be mended safely."""

    deep: bool = False
    repair: bool = False


class MergeAccept(Body):
    """Which of the two stays: 1 or 2; 0 for the one that is better known."""

    keep: Annotated[int, Field(ge=0, le=2), BeforeValidator(_integral)] = 0
