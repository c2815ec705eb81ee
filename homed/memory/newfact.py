"""A statement on its way into memory."""

from __future__ import annotations

from dataclasses import dataclass

from homed.store.rows import SqlValue


@dataclass(frozen=True, slots=True)
class Kept:
    """What a record that was kept elsewhere has behind it.

    ``id``: under which it is to stand, and which is free.  ``created_at``, ``updated_at``, ``cited_at``: UTC seconds.
    ``revision``: how often it was changed, and one.  ``status``: active, or why it did not hold any more where it was
    kept (superseded, archived, quarantined): then it takes nobody's place here.
    """

    id: str
    created_at: float
    updated_at: float
    confidence: float = 0.5
    cited: int = 0
    cited_at: float | None = None
    revision: int = 1
    status: str = "active"

    @property
    def columns(self) -> dict[str, SqlValue]:
        """As a row of records has it; without the status, which what is here decides, too."""
        return {
            "id": self.id, "created_at": self.created_at, "updated_at": self.updated_at, "confidence": self.confidence,
            "cited": self.cited, "cited_at": self.cited_at, "revision": self.revision,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewFact:
    """One atomic statement, before anybody knows whether it is new.

    ``text``: a whole sentence, 1 to 600 characters.  ``subject``, ``relation``, ``object``: the same as a triple, by
    names ("I" and "用户" are whoever speaks: in a group that is ``peer``); any may be ''.  ``subject_type``,
    ``object_type``: of a new entity (person, place, organisation, project, event, thing); an object without a type is
    an entity only where its name is known.  ``reach``: user, or project with the project's key in ``project``.
    ``observer``, ``observed``: of whom it is known by whom; both '' is the scope's own person.  ``valid_from``,
    ``valid_until``: UTC seconds where a period was stated.  ``untrusted``: it comes from words of strangers (a tool's
    result, a web page): stored with a mark, never in the place of what a person said.  ``origin``: auto, manual (a
    person wrote it), import; ``extractor``: model, rules, fallback, manual.  ``replaces``: the id of the fact that it
    corrects, where somebody says so; heeded only if the two are of one subject and relation, or nearly the same words.
    ``exactly``: that one was named by its whole triple, so that its relation may be what is put right.  ``kept``: what
    it has behind it elsewhere, where it is new here; one that did not hold there is held against its own words alone.
    """

    scope: str
    text: str
    kind: str = "fact"
    title: str = ""
    reach: str = "user"
    project: str = ""
    observer: str = ""
    observed: str = ""
    level: str = "explicit"
    subject: str = ""
    subject_type: str = ""
    relation: str = ""
    object: str = ""
    object_type: str = ""
    tags: tuple[str, ...] = ()
    importance: int = 5
    confidence: float = 0.5
    valid_from: float | None = None
    valid_until: float | None = None
    untrusted: bool = False
    origin: str = "auto"
    extractor: str = "model"
    peer: str = ""
    replaces: str = ""
    exactly: bool = False
    kept: Kept | None = None
