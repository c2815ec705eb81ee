"""Hiding: a record is found by nothing any more, nor is what repeats it; a person can bring all of it back.

The softer half of forgetting (``forget`` is the harder).  What would say the same in its place goes with it
(``repeats``).  What was said stays what was said: messages are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from homed.errors import Conflict
from homed.memory import entities, forget_before, repeats, rivals, stable, tombstones
from homed.memory.normal import key
from homed.memory.stable import Record
from homed.store.rows import Tx, dumps

HID = forget_before.HID
"""What the reason of a revision begins with that took out what a hidden record said; its id follows."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The record as it stands, and ids: what was hidden (or came back) with it, what was shortened (or made whole),
    and what became history because this one holds again."""

    record: Record
    along: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()


def hide(tx: Tx, record: Record, *, at: float) -> Hidden:
    """Hide it, and what repeats it; nothing makes it again by itself.  One that is hidden stays so."""
    if record.status == "hidden":
        return Hidden(record)
    found = repeats.of(tx, record)
    for capsule, left in found.parts:
        stable.revise(tx, capsule, {"text": left, "key": key(left)}, why=f"{HID} {record.id}", at=at)
    along = [record, *found.whole]
    for one in along:
        _bury(tx, one, at)
        stable.update(tx, one.id, {"status": "hidden"}, at=at)
    return Hidden(_now(tx, record), tuple(one.id for one in found.whole), tuple(one.id for one, _ in found.parts))


def restore(tx: Tx, record: Record, *, at: float) -> Hidden:
    """Have it found again, with what was hidden along with it; also what was archived or put in quarantine.

    It holds again, unless it was history before: what came meanwhile and can not hold beside it becomes history.  A
    capsule comes back without the sentences that say what is hidden (they come back with that).  Raises Conflict when
    it holds already, is history (``mutate.reinstate``), says nothing but what is hidden, or another one says that by
    now (``detail.record``).
    """
    if record.status not in ("hidden", "archived", "quarantined"):
        raise Conflict(f"{record.shown_id} is not hidden.")
    along, held = repeats.taken_along(tx, record) if record.status == "hidden" else ([], [])
    record = quieted(tx, record, at=at)
    if not record.superseded_by:
        rivals.alone(tx, record, record.text)
    for one, other in held:  # from now on it is hidden with that one, and comes back with it
        stable.update(tx, one.id, {}, at=other.updated_at)
    for one in (record, *along):
        _lift(tx, one)
        stable.update(tx, one.id, {"status": "superseded" if one.superseded_by else "active"}, at=at)
    whole = [_made_whole(tx, record, one, at) for one in _shortened(tx, record)]
    now = _now(tx, record)
    gone = rivals.settle(tx, now, at=at) if now.status == "active" else []
    return Hidden(now, tuple(one.id for one in along), tuple(filter(None, whole)), tuple(gone))


def quieted(tx: Tx, record: Record, *, at: float) -> Record:
    """A record that is to hold again, as it may: without its sentences that say what is hidden.  It may have been out
    of sight when that was hidden.

    Raises Conflict (``detail.record``: what is hidden) where it says nothing else.
    """
    found = repeats.hidden_said(tx, record)
    for fact, left in found:
        if not left:
            raise Conflict(
                f"{record.shown_id} says what {fact.shown_id} says, which is hidden.", hint="Bring that back first.",
                detail={"record": fact.id},
            )  # fmt: skip
    for fact, left in found:
        stable.revise(tx, record, {"text": left, "key": key(left)}, why=f"{HID} {fact.id}", at=at)
        record = _now(tx, record)
    return record


def withheld(tx: Tx, record: Record, *, at: float) -> bool:
    """What was just made of turns of which something is hidden: without its sentences that say that; hidden along with
    it where it says nothing else, and True then.  Either comes back with what is hidden."""
    found = repeats.hidden_said(tx, record)
    whole = next((fact for fact, left in found if not left), None)
    if whole is None:
        quieted(tx, record, at=at)
        return False
    _bury(tx, record, at)
    stable.update(tx, record.id, {"status": "hidden"}, at=whole.updated_at)
    return True


def _shortened(tx: Tx, record: Record) -> list[Record]:
    why = f"{HID} {record.id}"
    return stable.select(
        tx, "scope = ? AND status = 'active' AND id IN (SELECT record FROM revisions WHERE why = ?)",
        (record.scope, why),
    )  # fmt: skip


def _made_whole(tx: Tx, record: Record, capsule: Record, at: float) -> str:
    """Its text of before without what is hidden still, in whatever order that comes back; unless somebody changed it
    since.  Its id, or ''."""
    since = forget_before.to_come_back(tx, capsule.id)
    if f"{HID} {record.id}" not in (one.why for one in since):
        return ""
    text = since[-1].text
    for _, left in repeats.hidden_said(tx, replace(capsule, text=text)):
        text = left
    if text in ("", capsule.text):
        return ""
    stable.revise(tx, capsule, {"text": text, "key": key(text)}, why=forget_before.BACK, at=at)
    return capsule.id


def _bury(tx: Tx, record: Record, at: float) -> None:
    texts = [record.text, *(one.text for one in stable.history(tx, record.id))]
    tombstones.bury(tx, record.scope, texts=texts, triples=_triples(tx, record), at=at)


def _lift(tx: Tx, record: Record) -> None:
    triples = _triples(tx, record)
    for text in (record.text, *(one.text for one in stable.history(tx, record.id))):
        tombstones.lift(tx, record.scope, text, triples[0] if triples else None)


def _triples(tx: Tx, record: Record) -> list[tuple[str, str, str]]:
    form = entities.form(tx, record.subject) if record.subject else ""
    return [(form, record.relation, record.object)] if form and record.relation else []


def ids_hidden(tx: Tx, ids: Sequence[str]) -> frozenset[str]:
    """Those of these records that are hidden: nothing may show what they say."""
    rows = tx.all(f"SELECT id FROM records WHERE id IN {_AMONG} AND status = 'hidden'", (dumps(sorted(ids)),))
    return frozenset(str(id_) for (id_,) in rows)


def _now(tx: Tx, record: Record) -> Record:
    found = stable.get(tx, record.id)
    assert found is not None
    return found
