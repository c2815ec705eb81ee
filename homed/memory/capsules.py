"""Capsules in their table: one of each matter, continued rather than written again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.memory import dedupe, evidence, rivals, stable, tombstones
from homed.memory.blocked import secret_in
from homed.memory.evidence import Evidence
from homed.memory.facts import Put
from homed.memory.newfact import Kept
from homed.memory.normal import normal
from homed.memory.rivals import Pool
from homed.memory.seen import seen
from homed.memory.stable import KINDS, LONGEST, Record
from homed.store.rows import SqlValue, Tx, dumps

SAME_TITLE = 0.6
"""Jaccard index of the words of two titles from which on they name one matter."""

LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class NewCapsule:
    """A whole that has parts: a profile, a project's state, a thread, open loops.

    ``id``: of the capsule it continues, where that is known; ``members``: ids of records it is made of; ``project``:
    that it was said in, and with ``reach`` project its own.  ``kept``: what it has behind it elsewhere, where it is new
    here; one that did not hold there continues nothing.
    """

    scope: str
    kind: str
    title: str
    text: str
    id: str = ""
    reach: str = "user"
    project: str = ""
    observer: str = ""
    observed: str = ""
    importance: int = 5
    tags: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    untrusted: bool = False
    origin: str = "auto"
    extractor: str = "model"
    kept: Kept | None = None


def put_capsule(tx: Tx, new: NewCapsule, evidence_: Sequence[Evidence] = (), *, at: float) -> Put:
    """Store a capsule, or continue the one that is of the same matter: the id, the title, or nearly the title.

    Refused as facts are: ``invalid``, ``evidence``, ``forgotten``, ``secret:KIND``.  ``same`` with ``why``: it is not
    continued, since it is ``manual`` (a person wrote it), or what is new is ``untrusted`` and what is there is not, or
    ``older``.
    """
    title, text = " ".join(seen(new.title).split())[:LONGEST_TITLE], seen(new.text).strip()
    if new.kind not in KINDS["capsule"] or not text or not title or len(text) > LONGEST["capsule"]:
        return Put("", "refused", "invalid")
    if new.reach not in ("user", "project") or (new.reach == "project" and not new.project):
        return Put("", "refused", "invalid")
    if secret := next(filter(None, map(secret_in, (text, title, *new.tags))), ""):
        return Put("", "refused", f"secret:{secret}")
    pieces, drops = evidence.usable(tx, new.scope, evidence_)
    if new.origin == "auto" and not pieces:
        return Put("", "refused", "forgotten" if drops.get("forgotten") else "evidence", drops=drops)
    if new.origin == "manual":
        tombstones.lift(tx, new.scope, text)
    elif tombstones.buried(tx, new.scope, text):
        return Put("", "refused", "forgotten", drops=drops)
    kept = new.kept
    aside = kept is not None and kept.status != "active"
    known, why = _aside(tx, new, text, kept.status) if kept and aside else _same_matter(tx, new, title), ""
    if known is not None and kept is not None and (aside or _said(tx, known, text)):
        return Put(known.id, "same", drops=drops)
    if known is None:
        record, outcome, evicted = (
            _insert(tx, new, title, text, at),
            "new",
            stable.evict(tx, new.scope, "capsule", at=at),
        )
    else:
        why = _left(known, new) or ("older" if kept is not None and kept.updated_at < known.updated_at else "")
        record, outcome, evicted = known.id, "same" if why else _continue(tx, known, new, (title, text), at), []
    if not why:
        evidence.add(tx, record, pieces, at=at)
    tx.many(
        "INSERT OR IGNORE INTO members (capsule, record) SELECT ?, id FROM records WHERE id = ? AND scope = ?",
        [(record, member, new.scope) for member in new.members],
    )
    if outcome == "new":
        return Put(record, "new", drops=drops, evicted=tuple(evicted))
    return Put(record, "improved" if outcome == "improved" else "same", why, drops=drops)


def near(tx: Tx, scope: str, *, project: str = "", limit: int = 8) -> list[Record]:
    """Capsules to show a model that may continue them, where it is worked in that project: the last changed."""
    return stable.select(
        tx,
        "scope = ? AND record = 'capsule' AND status = 'active' AND (reach = 'user' OR project = ?)"
        " ORDER BY updated_at DESC, seq DESC LIMIT ?",
        (scope, project, limit),
    )


def _same_matter(tx: Tx, new: NewCapsule, title: str) -> Record | None:
    there = stable.select(
        tx,
        "scope = ? AND record = 'capsule' AND status = 'active' AND (reach = 'user' OR project = ?) AND observer = ?"
        " AND observed = ? ORDER BY updated_at DESC, seq DESC",
        (new.scope, new.project, new.observer, new.observed),
    )
    named = next((record for record in there if new.id and new.id in (record.id, record.shown_id)), None)
    if named is not None:  # where it reaches was settled when it was made
        return named
    pool = [record for record in there if (record.reach, record.project) == (new.reach, _project(new))]
    alike = [record for record in pool if record.kind == new.kind]
    equal = next((record for record in alike if normal(record.title) == normal(title)), None)
    if equal is not None:
        return equal
    best = max(alike, key=lambda record: dedupe.similarity(record.title, title), default=None)
    if best is None or dedupe.similarity(best.title, title) < SAME_TITLE:
        return None
    return None if dedupe.differing(best.title, title) in ("number", "date", "name") else best


def _said(tx: Tx, known: Record, text: str) -> bool:
    """Whether it says this, or did before."""
    return text == known.text or any(old.text == text for old in stable.history(tx, known.id))


def _aside(tx: Tx, new: NewCapsule, text: str, status: str) -> Record | None:
    """A capsule of the same that says it in the same words, and does not hold for the same reason."""
    pool = Pool("capsule", new.scope, new.reach, _project(new), new.observer, new.observed)
    return rivals.in_these_words(tx, pool, text, status)


def _insert(tx: Tx, new: NewCapsule, title: str, text: str, at: float) -> str:
    return stable.insert(
        tx,
        {
            "scope": new.scope, "record": "capsule", "kind": new.kind, "title": title, "text": text,
            "key": dedupe.key(text), "reach": new.reach, "project": _project(new), "observer": new.observer,
            "observed": new.observed, "tags": dumps(list(new.tags)[: stable.TAGS]),
            "importance": _bounded(new.importance),
            "untrusted": int(new.untrusted), "origin": new.origin, "extractor": new.extractor,
            **({} if new.kept is None else {**new.kept.columns, "status": new.kept.status}),
        },
        at=at,
    )  # fmt: skip


def _continue(tx: Tx, known: Record, new: NewCapsule, said: tuple[str, str], at: float) -> str:
    title, text = said
    if known.text == text:
        stable.update(tx, known.id, {"importance": max(known.importance, _bounded(new.importance))}, at=at)
        return "same"
    values: dict[str, SqlValue] = {
        "title": title, "text": text, "key": dedupe.key(text), "importance": _bounded(new.importance), "recheck": 0,
        "untrusted": int(known.untrusted or new.untrusted),
    }  # fmt: skip
    stable.revise(tx, known, values, why=new.extractor, at=at)
    return "improved"


def _left(known: Record, new: NewCapsule) -> str:
    """Why it is not continued; '' if it is."""
    if known.origin == "manual" and new.origin == "auto":
        return "manual"  # what a person wrote is theirs to change
    return "untrusted" if new.untrusted and not known.untrusted else ""


def _project(new: NewCapsule) -> str:
    """``new.project`` is where it was said; only what reaches no further is the project's own."""
    return new.project if new.reach == "project" else ""


def _bounded(importance: int) -> int:
    return min(10, max(1, importance))
