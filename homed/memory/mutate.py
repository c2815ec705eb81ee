"""What a person does to single records by hand: correct, add, make one of two, put back what was superseded.

Each is one piece of a transaction and keeps the law that all writers keep: nothing twice, no secret, what was
forgotten comes back only because a person says so, and what a record said before stays readable.  Whoever calls has
made sure that the person may; words and vectors follow by the tables' triggers (``index.catch_up`` in the same
transaction).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from homed.errors import Conflict, InvalidInput, NotFound
from homed.memory import capsules, dedupe, entities, facts, hiding, judge, rivals, stable, tombstones
from homed.memory.blocked import secret_in
from homed.memory.capsules import NewCapsule
from homed.memory.facts import Put
from homed.memory.newfact import NewFact
from homed.memory.normal import key, normal
from homed.memory.repeats import COMBINED
from homed.memory.stable import KINDS, LONGEST, TAGS, Record
from homed.store.rows import SqlValue, Tx, dumps

EDITED, PARTED = "edited", "parted"
"""Why a revision was made."""

LONGEST_TITLE, LONGEST_TAG = 80, 40


@dataclass(frozen=True, slots=True)
class Changed:
    """A record as it stands after it, and the ids of those that became history by it."""

    record: Record
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be changed; None stays.  ``revision``: that the person has before them."""

    revision: int
    text: str | None = None
    title: str | None = None
    kind: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What a person writes down: a fact, or a capsule, which has a title."""

    scope: str
    text: str
    record: str = "fact"
    kind: str = ""
    title: str = ""
    reach: str = "user"
    project: str = ""
    tags: tuple[str, ...] = field(default_factory=tuple)
    importance: int = 6
    peer: str = ""


def edit(tx: Tx, record: Record, wanted: Edit, *, at: float) -> Changed:
    """Change it; what it said before is a revision.

    A person's words are its own ground: new words make it one by hand, which no automatic writer changes, and the
    evidence of the old ones is kept as theirs.  Its triple goes along, or goes where the new words no longer say it.
    Raises Conflict when it was changed meanwhile (``detail.revision``) or another record says that already
    (``detail.record``), InvalidInput for what may not be stored (``blocked: KIND`` for a secret).
    """
    if wanted.revision != record.revision:
        raise Conflict(
            f"It was changed meanwhile: it is at revision {record.revision}.", hint="Look at it again.",
            detail={"revision": record.revision},
        )  # fmt: skip
    if record.status == "hidden":
        raise Conflict("It is hidden.", hint="Restore it first.")
    values = _edited(record, wanted)
    if not values:
        return Changed(record)
    words = "text" in values
    if words:
        rivals.alone(tx, record, str(values["text"]))
        tombstones.lift(tx, record.scope, str(values["text"]))
        values |= {**_triple(tx, record, str(values["text"])), "recheck": 0}
    if words or "title" in values:
        values |= {"origin": "manual", "untrusted": 0}
    stable.revise(tx, record, values, why=EDITED, at=at)
    if words:
        tx.execute("UPDATE evidence SET upto = ? WHERE record = ? AND upto = 0", (record.revision, record.id))
    changed = _now(tx, record)
    gone = rivals.settle(tx, changed, at=at) if words and changed.status == "active" else []
    return Changed(changed, tuple(gone))


def note(tx: Tx, wanted: Note, *, at: float) -> Put:
    """Write it down by hand: merged with what is known already, whatever was forgotten or hidden of it comes back.

    Raises InvalidInput (``blocked: KIND`` for a secret).
    """
    title, tags = _title(wanted.title), tuple(_tags(wanted.tags))
    kind = wanted.kind or ("fact" if wanted.record == "fact" else "project")
    if wanted.record not in ("fact", "capsule"):
        raise InvalidInput("A fact or a capsule can be written by hand; a summary is made of a turn.")
    _fit(wanted.record, kind, wanted.text)
    if secret := next(filter(None, map(secret_in, (wanted.text, title, *tags))), ""):
        raise InvalidInput(f"blocked: {secret}", hint=_SECRET)
    if wanted.record == "capsule":
        capsule = NewCapsule(
            wanted.scope, kind, title, wanted.text, reach=wanted.reach, project=wanted.project,
            importance=wanted.importance, tags=tags, origin="manual", extractor="manual",
        )  # fmt: skip
        made = capsules.put_capsule(tx, capsule, at=at)
    else:
        gone = _unhide_same(tx, wanted, at)
        new = NewFact(
            wanted.scope, wanted.text.strip(), kind=kind, title=title, reach=wanted.reach, project=wanted.project,
            tags=tags, importance=wanted.importance, confidence=1.0, origin="manual", extractor="manual",
            peer=wanted.peer,
        )  # fmt: skip
        made = facts.put(tx, new, at=at)
        made = replace(made, superseded=(*gone, *made.superseded))
    if made.outcome == "refused":
        raise InvalidInput(_refusal(wanted.record, made.why), hint=_SECRET if made.why.startswith("secret:") else "")
    return made


def combine(tx: Tx, keep: Record, gone: Record, *, at: float) -> Changed:
    """Make two records one by hand: the one that is kept has the evidence, citations, times and memberships of both,
    and the other becomes history of it, so that it can be put back.

    Raises Conflict for what can not be one.
    """
    if keep.id == gone.id:
        raise Conflict("That is one record already.", hint="Give the ids of two.")
    if (keep.scope, keep.record) != (gone.scope, gone.record):
        raise Conflict("Only two of one kind and one scope can be one.", hint="Hide the one that is not wanted.")
    if keep.status != "active" or gone.status not in ("active", "quarantined", "archived"):
        raise Conflict("Only what holds can be made one.", hint="Put it back first.")
    tx.execute(  # of this moment: by that it is known what came with it, should it be parted again
        "INSERT OR IGNORE INTO evidence (record, event, first, last, excerpt, hash, at)"
        " SELECT ?, event, first, last, excerpt, hash, ? FROM evidence WHERE record = ? AND upto = 0",
        (keep.id, at, gone.id),
    )
    tx.execute(
        "INSERT OR IGNORE INTO citations (record, turn, at) SELECT ?, turn, at FROM citations WHERE record = ?",
        (keep.id, gone.id),
    )
    for also in (
        "SELECT capsule, ? FROM members WHERE record = ? AND capsule <> ?",
        "SELECT ?, record FROM members WHERE capsule = ? AND record <> ?",
    ):
        tx.execute(f"INSERT OR IGNORE INTO members (capsule, record) {also}", (keep.id, gone.id, keep.id))
    cited_at = max((one for one in (keep.cited_at, gone.cited_at) if one is not None), default=None)
    values: dict[str, SqlValue] = {
        "times": keep.times + gone.times, "confidence": max(keep.confidence, gone.confidence),
        "importance": max(keep.importance, gone.importance), "cited": keep.cited + gone.cited, "cited_at": cited_at,
        "untrusted": int(keep.untrusted and gone.untrusted), "tags": dumps(_tags((*keep.tags, *gone.tags))),
    }  # fmt: skip
    stable.revise(tx, keep, values, why=f"{COMBINED} {gone.shown_id}", at=at)
    stable.update(tx, gone.id, {"status": "superseded", "superseded_by": keep.id}, at=at)
    return Changed(_now(tx, keep), (gone.id,))


def reinstate(tx: Tx, record: Record, *, at: float) -> Changed:
    """What was superseded holds again (B5).

    What took its place holds on beside it where both can be true; where they can not (one functional relation, one
    statement and its contrary), that becomes history of this one: never two current values.  What had been combined is
    parted.  Raises Conflict when it was not superseded, another record says that already (``detail.record``), or it
    says what is hidden (``hiding.quieted``).
    """
    if record.status != "superseded":
        raise Conflict(f"{record.shown_id} was not superseded.", hint="What is hidden or archived is restored.")
    rivals.alone(tx, record, hiding.quieted(tx, record, at=at).text)
    newer = stable.get(tx, record.superseded_by) if record.superseded_by else None
    if newer is not None:
        _part(tx, newer, record, at)
    until = _until(tx, record, newer)
    stable.update(tx, record.id, {"status": "active", "superseded_by": None, "valid_until": until}, at=at)
    holds = _now(tx, record)
    gone = rivals.settle(tx, holds, at=at)
    if newer is not None and newer.id not in gone and newer.status == "active" and rivals.contradict(holds, newer):
        stable.update(tx, newer.id, {"status": "superseded", "superseded_by": holds.id, "valid_until": at}, at=at)
        gone.append(newer.id)
    return Changed(_now(tx, record), tuple(gone))


def _until(tx: Tx, record: Record, newer: Record | None) -> float | None:
    """Until when it holds once it holds again: for ever where it was ended by what took its place, however often that
    was said since."""
    until = record.valid_until
    return None if newer is None or (until is not None and until >= judge.first_said(tx, newer)) else until


def _part(tx: Tx, kept: Record, gone: Record, at: float) -> None:
    """Take back what ``combine`` brought together; nothing where the two were not combined."""
    joined = "record = ? AND upto = 0 AND at = ? AND event IN (SELECT event FROM evidence WHERE record = ?)"
    combined = f"{COMBINED} {gone.shown_id}"
    before = tx.value("SELECT max(at) FROM revisions WHERE record = ? AND why = ?", (kept.id, combined))
    if before is None:
        return
    at_once = gone.updated_at
    if tx.value(f"SELECT 1 FROM evidence WHERE {joined}", (kept.id, at_once, gone.id)) is None:  # changed since
        since = "SELECT min(at) FROM evidence WHERE record = ? AND upto = 0 AND at > ? AND event IN"
        at_once = tx.value(f"{since} (SELECT event FROM evidence WHERE record = ?)", (kept.id, before, gone.id))
    whole = (kept.id, at_once, gone.id)
    stable.revise(
        tx, kept, {"times": max(1, kept.times - gone.times), "cited": max(0, kept.cited - gone.cited)},
        why=f"{PARTED} {gone.shown_id}", at=at,
    )  # fmt: skip
    # not deleted: what rests on an event that is forgotten later must be found by it, also what was said in between
    tx.execute(f"UPDATE evidence SET upto = ? WHERE {joined}", (kept.revision, *whole))
    tx.execute(
        "DELETE FROM citations WHERE record = ? AND turn IN (SELECT turn FROM citations WHERE record = ?)",
        (kept.id, gone.id),
    )


def _edited(record: Record, wanted: Edit) -> dict[str, SqlValue]:
    """The columns that get another value; raises InvalidInput for what can not be stored."""
    values: dict[str, SqlValue] = {}
    if wanted.text is not None and (text := wanted.text.strip()) != record.text:
        values |= {"text": text, "key": key(text)}
    if wanted.title is not None and (title := _title(wanted.title)) != record.title:
        values["title"] = title
    if wanted.kind is not None and wanted.kind != record.kind:
        values["kind"] = wanted.kind
    if wanted.importance is not None and wanted.importance != record.importance:
        if not 1 <= wanted.importance <= 10:
            raise InvalidInput("Importance goes from 1 to 10.")
        values["importance"] = wanted.importance
    tags = None if wanted.tags is None else _tags(wanted.tags)
    if tags is not None and tags != list(record.tags):
        values["tags"] = dumps(tags)
    _fit(record.record, str(values.get("kind", record.kind)), str(values.get("text", record.text)))
    if record.record == "capsule" and values.get("title") == "":
        raise InvalidInput("A capsule has a title.")
    said = (values.get("text"), values.get("title"), *(tags or ()))
    if secret := next(filter(None, (secret_in(str(one)) for one in said if one)), ""):
        raise InvalidInput(f"blocked: {secret}", hint=_SECRET)
    return values


def _fit(record: str, kind: str, text: str) -> None:
    if kind not in KINDS[record]:
        raise InvalidInput(f"A {record} is no {kind[:40]}.", hint=f"One of {', '.join(KINDS[record])}.")
    plain = text.strip()
    if not plain or not normal(plain) or len(plain) > LONGEST[record] or "\0" in plain:
        raise InvalidInput(f"A {record} has 1 to {LONGEST[record]} characters, of which one is a letter or a number.")


def _triple(tx: Tx, record: Record, text: str) -> dict[str, SqlValue]:
    """What becomes of a fact's triple with these words: as it was where they still say its object, else what they
    plainly say of whoever speaks, else none; a wrong one would be walked and would retire what is true."""
    if record.record != "fact" or not record.relation:
        return {}
    said = normal(record.object)
    if (said and said in normal(text)) or dedupe.same(record.text, text):
        return {}
    again = judge.completed(NewFact(record.scope, text, observed=record.observed))
    subject = record.subject and entities.get(tx, record.subject)
    if again.relation == record.relation and subject and entities.form(tx, subject.id).startswith("self "):
        return {"object": again.object, "object_entity": None}
    return {"relation": "", "object": "", "object_entity": None}


def _unhide_same(tx: Tx, wanted: Note, at: float) -> list[str]:
    """The same in the same words, hidden before: it comes back instead of being written twice, and holds from now.
    The ids of what became history by that."""
    found = stable.select(
        tx,
        "scope = ? AND key = ? AND record = 'fact' AND status = 'hidden' AND reach = ? AND project = ?"
        " AND observed = '' ORDER BY seq DESC LIMIT 1",
        (wanted.scope, key(wanted.text), wanted.reach, wanted.project),
    )
    if not found or rivals.twin(tx, found[0], wanted.text):
        return []
    record, until = found[0], found[0].valid_until
    if record.superseded_by:
        until = _until(tx, record, stable.get(tx, record.superseded_by))
    stable.update(tx, record.id, {"status": "active", "superseded_by": None, "valid_until": until}, at=at)
    return rivals.settle(tx, _now(tx, record), at=at)


_SECRET = "It looks like a secret, and memory keeps none. Take it out and save again."


def _refusal(record: str, why: str) -> str:
    if why.startswith("secret:"):
        return f"blocked: {why.removeprefix('secret:')}"
    if record == "capsule":
        return "A capsule has a title and a text."
    return "That is no statement that can be kept."


def _title(title: str) -> str:
    return " ".join(title.replace("\0", " ").split())[:LONGEST_TITLE]


def _tags(tags: Sequence[str]) -> list[str]:
    plain = (tag.replace("\0", " ").strip()[:LONGEST_TAG] for tag in tags)
    return list(dict.fromkeys(tag for tag in plain if tag))[:TAGS]


def _now(tx: Tx, record: Record) -> Record:
    found = stable.get(tx, record.id)
    if found is None:
        raise NotFound(f"There is no record {record.shown_id} any more.")
    return replace(found)
