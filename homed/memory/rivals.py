"""Which of the facts that hold can not hold beside another one; for whoever makes a fact hold again by hand.

Narrower than what the law holds new statements against: a person decided, so only what plainly can not both be goes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from homed.errors import Conflict
from homed.memory import dedupe, stable
from homed.memory.normal import key
from homed.memory.relations import CONTRARY, FUNCTIONAL
from homed.memory.stable import Record
from homed.store.rows import Tx


def of(tx: Tx, record: Record) -> list[Record]:
    """The active facts of the same pool that say something else of the same subject in the same functional relation
    (or the contrary of the same thing), for a time that meets its own.  None for what has no triple."""
    if record.record != "fact" or not (record.subject and record.relation and record.object):
        return []
    contrary = CONTRARY.get(record.relation, record.relation)
    own = record.relation if record.relation in FUNCTIONAL else contrary  # of hundreds whom somebody knows none is one
    if own not in FUNCTIONAL and own == record.relation:
        return []
    found = stable.select(
        tx,
        "subject = ? AND status = 'active' AND record = 'fact' AND scope = ? AND reach = ? AND project = ?"
        " AND observer = ? AND observed = ? AND id <> ? AND relation IN (?, ?) ORDER BY seq",
        (
            record.subject, record.scope, record.reach, record.project, record.observer, record.observed, record.id,
            own, contrary,
        ),
    )  # fmt: skip
    return [other for other in found if _apart(record, other) and _meet(record, other)]


def settle(tx: Tx, record: Record, *, at: float) -> list[str]:
    """This one holds from now: its rivals become history of it.  Their ids."""
    gone = [other.id for other in of(tx, record)]
    for id_ in gone:
        stable.update(tx, id_, {"status": "superseded", "superseded_by": record.id, "valid_until": at}, at=at)
    return gone


class Pool(NamedTuple):
    """Whose records are held against one another: of one kind, in one scope, of one reach, by and about the same."""

    record: str
    scope: str
    reach: str
    project: str
    observer: str
    observed: str


def in_these_words(tx: Tx, pool: Pool, text: str, status: str, *, but: str = "") -> Record | None:
    """The first of a pool that says ``text`` in the same words and has this status; not the one of the id ``but``."""
    found = stable.select(
        tx,
        "record = ? AND scope = ? AND reach = ? AND project = ? AND observer = ? AND observed = ? AND key = ?"
        " AND status = ? AND id <> ? ORDER BY seq LIMIT 1",
        (*pool, key(text), status, but),
    )
    return found[0] if found else None


def twin(tx: Tx, record: Record, text: str) -> Record | None:
    """Another active one of the same pool that says ``text`` in the same words."""
    pool = Pool(record.record, record.scope, record.reach, record.project, record.observer, record.observed)
    return in_these_words(tx, pool, text, "active", but=record.id)


def alone(tx: Tx, record: Record, text: str) -> None:
    """Raises Conflict (``detail.record``) where another one says that already: nothing holds twice."""
    if known := twin(tx, record, text):
        raise Conflict(f"{known.shown_id} says that already.", hint="Combine the two.", detail={"record": known.id})


def contradict(a: Record, b: Record) -> bool:
    """True for two without a relation whose words can not both be true."""
    if a.relation and b.relation and a.subject == b.subject:
        return False  # their triples say more of it
    return dedupe.compatible(a.kind, b.kind) and dedupe.contradicts(a.text, b.text)


def _apart(a: Record, b: Record) -> bool:
    same = dedupe.same_value(a.object, b.object)
    return same if a.relation != b.relation else (a.relation in FUNCTIONAL and not same)


def _meet(a: Record, b: Record) -> bool:
    """Whether both hold at some time; open ends are for ever."""
    since = max(-math.inf if one.valid_from is None else one.valid_from for one in (a, b))
    until = min(math.inf if one.valid_until is None else one.valid_until for one in (a, b))
    return since < until
