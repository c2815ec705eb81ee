"""Facts: ``put`` is their one writer, whoever made them out of whatever.

It keeps the law: nothing without evidence, no secret, nothing that was forgotten, nothing twice.  A newer value of the
same functional relation of the same subject takes the place of the older, which stays as history and can be put back;
two disjoint periods are both kept; whatever merely mentions the same is not touched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from homed.errors import InvalidInput, NotFound
from homed.memory import dedupe, entities, evidence, judge, rivals, stable, tombstones
from homed.memory.blocked import secret_in
from homed.memory.evidence import Evidence
from homed.memory.judge import Judged, When
from homed.memory.newfact import NewFact
from homed.memory.records import Event
from homed.memory.relations import FUNCTIONAL, canonical
from homed.memory.rivals import Pool
from homed.memory.seen import seen
from homed.memory.stable import KINDS, LONGEST, TAGS, Record
from homed.store.rows import SqlValue, Tx, dumps

__all__ = ["NewFact", "Put", "edit", "put", "set_status", "undo_supersession"]

Kind = Literal["new", "same", "improved", "supersedes", "conflict", "refused"]

LEVELS = ("explicit", "deductive", "inductive", "contradiction")
SUREST = 0.99
"""Confidence that no number of repetitions goes beyond."""


@dataclass(frozen=True, slots=True)
class Put:
    """What became of a statement.

    ``record``: the id it stands under; '' when refused.  ``outcome``: ``new``; ``same`` (known: evidence added, times
    and confidence raised where it is new evidence); ``improved`` (known, and now says more: a revision); ``supersedes``
    (new, and the ids in ``superseded`` are history now); ``conflict`` (stored, but it is not what holds now: ``why`` is
    ``older``: said before what holds, kept as history; ``untrusted`` or ``unsupported``: quarantined, for a person to
    decide); ``refused``.  ``why`` of a refusal: ``invalid``, ``evidence``, ``forgotten``, ``secret:KIND``.
    ``drops``: pieces of evidence left out, by reason; ``evicted``: ids that went because there were too many.
    """

    record: str
    outcome: Kind
    why: str = ""
    superseded: tuple[str, ...] = ()
    drops: Mapping[str, int] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()


def put(
    tx: Tx, new: NewFact, evidence_: Sequence[Evidence] = (), *, at: float, functional: Collection[str] = FUNCTIONAL
) -> Put:
    """Store a statement by the one law of memory; never raises for what it says, see ``Put``.

    ``evidence_``: pieces of events of the same scope.  What was made automatically must have one; by hand it may have
    none.  ``at``: now, UTC seconds.  ``functional``: relations with one value at a time.  The same statement with the
    same evidence again changes nothing.
    """
    new = judge.completed(_seen(new))
    if why := _unfit(new):
        return Put("", "refused", why)
    pieces, drops = evidence.usable(tx, new.scope, evidence_)
    if not pieces and new.origin == "auto":
        return Put("", "refused", "forgotten" if drops.get("forgotten") else "evidence", drops=drops)
    new, subject, object_entity = _linked(tx, new, at)
    triple = (entities.form(tx, subject), new.relation, new.object) if subject and new.relation else None
    if new.origin == "manual":
        tombstones.lift(tx, new.scope, new.text, triple)
    elif tombstones.buried(tx, new.scope, new.text, triple):
        return Put("", "refused", "forgotten", drops=drops)
    kept = new.kept
    said = evidence.latest(pieces) or (at if kept is None else kept.created_at)
    if kept is None or kept.status == "active":
        judged = judge.judge(tx, new, subject, When(said, at), pieces, functional)
    else:
        judged = Judged(said, same=_in_these_words(tx, new, kept.status))
    if kept is not None and kept.status == "active" and judged.same is None and (known := _outlived(tx, new, said)):
        return Put(known, "same", drops=drops)
    if judged.same is not None:
        return replace(_again(tx, judged.same, new, pieces, at), drops=drops)
    made = _store(tx, new, judged, (subject, object_entity), pieces, at)
    return replace(made, drops=drops, evicted=tuple(stable.evict(tx, new.scope, "fact", at=at)))


def undo_supersession(tx: Tx, scope: str, record: str, *, at: float, keep_newer: bool = True) -> Record:
    """What was superseded holds again.  Without ``keep_newer`` what took its place is archived.

    Raises NotFound when there is no such record or it is not superseded.
    """
    old = stable.find(tx, scope, record)
    if old.status != "superseded":
        raise NotFound(f"{old.shown_id} was not superseded.")
    newer = stable.get(tx, old.superseded_by) if old.superseded_by else None
    until = old.valid_until
    if newer is None or until == judge.begins(tx, newer):
        until = None
    stable.update(tx, old.id, {"status": "active", "superseded_by": None, "valid_until": until}, at=at)
    if newer is not None and not keep_newer:
        stable.update(tx, newer.id, {"status": "archived"}, at=at)
    holds = stable.get(tx, old.id)
    assert holds is not None
    if not keep_newer:
        _renamed(tx, holds, at)
    return holds


def edit(tx: Tx, scope: str, record: str, text: str, *, at: float, why: str = "edited") -> Record:
    """A person changes what a fact says; what it said before is kept as a revision.

    Raises NotFound, and InvalidInput for what may not be stored (``blocked: KIND`` for a secret).
    """
    old = stable.find(tx, scope, record)
    plain = seen(text).strip()
    if not plain or len(plain) > LONGEST[old.record]:
        raise InvalidInput(f"A {old.record} has 1 to {LONGEST[old.record]} characters.")
    if secret := secret_in(plain):
        raise InvalidInput(f"blocked: {secret}")
    if plain != old.text:
        tombstones.lift(tx, scope, plain)
        stable.revise(tx, old, {"text": plain, "key": dedupe.key(plain), "origin": "manual"}, why=why, at=at)
    changed = stable.get(tx, old.id)
    assert changed is not None
    return changed


def set_status(tx: Tx, scope: str, record: str, status: str, *, at: float) -> Record:
    """Hide, archive or bring back (``active``) a record of this scope.  Raises NotFound."""
    found = stable.find(tx, scope, record)
    stable.update(tx, found.id, {"status": status}, at=at)
    return replace(found, status=status, updated_at=at)


def _seen(new: NewFact) -> NewFact:
    """Without what nobody sees: it would be told to models, and the same words with and without it are one fact."""
    return replace(
        new, text=seen(new.text), title=seen(new.title), subject=seen(new.subject), relation=seen(new.relation),
        object=seen(new.object), tags=tuple(map(seen, new.tags)),
    )  # fmt: skip


def _unfit(new: NewFact) -> str:
    """Why it may not be stored at all; '' when it may."""
    kinds, text = KINDS["fact"], new.text.strip()
    known = new.kind in kinds and new.level in LEVELS and new.reach in ("user", "project")
    known = known and new.origin in ("auto", "manual", "import")
    if not known or not text or len(text) > LONGEST["fact"] or not dedupe.normal(text):
        return "invalid"
    if new.reach == "project" and not new.project:
        return "invalid"
    secret = next(
        filter(None, map(secret_in, (new.text, new.title, new.subject, new.relation, new.object, *new.tags))), ""
    )
    return f"secret:{secret}" if secret else ""


def _in_these_words(tx: Tx, new: NewFact, status: str) -> Record | None:
    """A fact of the same that says it in the same words, and does not hold for the same reason."""
    pool = Pool("fact", new.scope, new.reach, new.project, new.observer, new.observed)
    return rivals.in_these_words(tx, pool, new.text, status)


def _outlived(tx: Tx, new: NewFact, said: float) -> str:
    """The id of a fact in the same words whose place something took that was said no earlier than ``new``; or ''."""
    old = _in_these_words(tx, new, "superseded")
    newer = stable.get(tx, old.superseded_by) if old is not None and old.superseded_by else None
    if old is None or said > (old.updated_at if newer is None else judge.begins(tx, newer)):
        return ""
    return old.id


def _linked(tx: Tx, new: NewFact, at: float) -> tuple[NewFact, str | None, str | None]:
    """The ids of subject and object; an object is an entity when its type is given or its name is known."""
    subject = _entity(tx, new, new.subject, new.subject_type, at) if new.subject else None
    object_entity = None
    if new.object and new.relation != "name":
        known = entities.resolve(tx, new.scope, new.object, peer=new.peer) if entities.valid(new.object) else None
        if known is not None or new.object_type:
            object_entity = _entity(tx, new, new.object, new.object_type, at)
    return replace(new, relation=canonical(new.relation)), subject, object_entity


def _entity(tx: Tx, new: NewFact, name: str, type_: str, at: float) -> str | None:
    if not entities.is_self(name) and not entities.valid(name):
        return None
    if entities.is_self(name) and new.scope.startswith("group:") and not new.peer:
        return None
    return entities.put(tx, new.scope, name, type=type_, peer=new.peer, at=at).id


def _again(tx: Tx, known: Record, new: NewFact, pieces: Sequence[tuple[Evidence, Event]], at: float) -> Put:
    """It is known: more evidence, more sure, and better words if these say more."""
    if new.untrusted and not known.untrusted:
        return Put(known.id, "same", "untrusted")  # words of strangers neither support nor change what people said
    added = evidence.add(tx, known.id, pieces, at=at)
    if not added and new.origin != "manual":
        return Put(known.id, "same")
    surer = max(known.confidence, new.confidence)
    raised = max(surer, min(SUREST, surer + (1 - surer) * 0.2))
    values: dict[str, SqlValue] = {
        "times": known.times + 1, "confidence": raised, "recheck": 0,
        "untrusted": int(known.untrusted and new.untrusted),
    }  # fmt: skip
    if new.valid_until is not None and known.valid_until is None:  # it was open, and now its end is told
        values |= {"valid_until": new.valid_until, "valid_from": known.valid_from or new.valid_from}
    if new.level == "explicit" and known.level != "contradiction":
        values["level"] = "explicit"
    if new.origin == "manual":
        values["origin"] = "manual"
        if known.status in ("archived", "hidden"):
            values["status"] = "active"
    better = dedupe.improves(known.text, new.text) and known.status == "active"
    if not better or (known.origin == "manual" and new.origin != "manual"):
        stable.update(tx, known.id, values, at=at)
        return Put(known.id, "same")
    values |= {"text": new.text.strip(), "key": dedupe.key(new.text), "title": new.title or known.title}
    values |= {"importance": max(known.importance, new.importance), "tags": dumps(_tags(known.tags, new.tags))}
    if new.object and known.relation == new.relation:
        values["object"] = new.object
    stable.revise(tx, known, values, why=new.extractor, at=at)
    if (changed := stable.get(tx, known.id)) is not None:
        _renamed(tx, changed, at)
    return Put(known.id, "improved")


def _store(
    tx: Tx, new: NewFact, judged: Judged, links: tuple[str | None, str | None],
    pieces: Sequence[tuple[Evidence, Event]], at: float,
) -> Put:  # fmt: skip
    kept = new.kept
    before = "active" if kept is None else kept.status
    status = {"": before, "older": "superseded"}.get(judged.conflict, "quarantined")
    until = new.valid_until if new.valid_until is not None else judged.until
    text = new.text.strip()
    record = stable.insert(
        tx,
        {
            "scope": new.scope, "record": "fact", "kind": new.kind, "title": new.title, "text": text,
            "key": dedupe.key(text), "reach": new.reach, "project": new.project, "observer": new.observer,
            "observed": new.observed, "level": new.level, "subject": links[0], "relation": new.relation,
            "object": new.object.strip(), "object_entity": links[1], "tags": dumps(_tags((), new.tags)),
            "importance": min(10, max(1, new.importance)), "confidence": min(1.0, max(0.0, new.confidence)),
            "status": status, "superseded_by": judged.newer, "valid_from": new.valid_from, "valid_until": until,
            "untrusted": int(new.untrusted), "origin": new.origin, "extractor": new.extractor,
            **({} if kept is None else kept.columns),
        },
        at=at,
    )  # fmt: skip
    evidence.add(tx, record, pieces, at=at)
    entities.mention(tx, [link for link in links if link], at=at)
    if judged.conflict:
        return Put(record, "conflict", judged.conflict)
    begins = new.valid_from if new.valid_from is not None else judged.said
    for old in judged.older:
        ended = old.valid_until if old.valid_until is not None else max(begins, old.valid_from or begins)
        values: dict[str, SqlValue] = {"status": "superseded", "superseded_by": record, "valid_until": ended}
        stable.update(tx, old.id, values, at=at)
    if (made := stable.get(tx, record)) is not None:
        _renamed(tx, made, at)
    gone = tuple(old.id for old in judged.older)
    return Put(record, "supersedes" if gone else "new", superseded=gone)


def _renamed(tx: Tx, fact: Record, at: float) -> None:
    """Who is called something is found and shown by it; names of before stay aliases."""
    if fact.relation != "name" or fact.status != "active" or fact.subject is None or not entities.valid(fact.object):
        return
    entity = entities.get(tx, fact.subject)
    if entity is None or entity.name == fact.object or (fact.valid_until is not None and fact.valid_until <= at):
        return
    known = entities.resolve(tx, fact.scope, fact.object)
    if entities.is_self(fact.object) or (known is not None and known.id != entity.id):
        return  # somebody else's name already: the two are proposed for a merge by their names
    entities.rename(tx, entity, fact.object, at=at)


def _tags(old: Sequence[str], new: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip()[:40] for tag in (*old, *new) if tag.strip()))[:TAGS]
