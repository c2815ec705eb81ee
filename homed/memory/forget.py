"""Forgetting: what was said goes with everything that was made of it, and nothing makes it again.

Each function takes a bounded piece, so that others write between.  What only words of it stand in (indexes, vectors,
files, the log, free places of pages) is the job's, ``homed.jobs.forget``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from homed.memory import entities, forget_agents, forget_before, rests, stable, threads, tombstones
from homed.memory import events as table
from homed.memory.normal import key, normal
from homed.memory.records import EventKind, is_draft, is_inner
from homed.memory.stable import Record, Revision
from homed.memory.units import whole
from homed.store.rows import Row, Tx, dumps, loads

TEXTS = 8_000_000
"""Characters of what was removed that are remembered, to look for them afterwards; what is above is not looked for."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(slots=True)
class Gone:
    """What was removed: rows by table, and the texts that must stand nowhere now.  Lives as long as the forgetting."""

    counts: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    hashes: set[str] = field(default_factory=set)
    whole: bool = True
    _room: int = TEXTS

    def note(self, *texts: str | None) -> None:
        """These stood in what was removed."""
        for text in texts:
            if not text:
                continue
            self._room -= len(text)
            if self._room < 0:
                self.whole = False
                return
            self.texts.append(text)

    def add(self, other: Gone) -> None:
        """Take in what another piece removed."""
        self.counts += other.counts
        self.note(*other.texts)
        self.scopes |= other.scopes
        self.hashes |= other.hashes
        self.whole = self.whole and other.whole


def belonging(tx: Tx, event: str) -> list[str]:
    """The events that go with one: of a call its results, of a result its call and the others made with it, of an
    answer that was changed before it went out what stood there before."""
    rows = tx.all(
        f"SELECT {table.OUTLINE} FROM events WHERE turn <> '' AND turn = (SELECT turn FROM events WHERE id = ?)"
        " ORDER BY seq",
        (event,),
    )
    said = [table.from_row(row) for row in rows]
    found = {event}
    for unit in whole(said, lambda one: one.tokens):
        if unit.holds({event}):
            found |= {one.id for one in unit.events}
            calls = {one.data.get("call_id") for one in unit.events} - {None}
            found |= {one.id for one in said if is_inner(one) and one.data.get("within") in calls}
            if any(one.data.get("final") for one in unit.events):
                found |= {one.id for one in said if is_draft(one)}
    return sorted(found)


def of_turn(tx: Tx, event: str) -> list[str]:
    """Every event of the turn that this one belongs to; itself alone where it belongs to none."""
    rows = tx.all("SELECT id FROM events WHERE turn <> '' AND turn = (SELECT turn FROM events WHERE id = ?)", (event,))
    return [str(id_) for (id_,) in rows] or [event]


def remove_events(tx: Tx, ids: Collection[str], *, at: float, buried: bool = True) -> Gone:
    """Remove these events with their files' rows and all that rested only on them; what rests on others too is held
    against those.  ``buried``: nothing is ever made of them again, also if they come back from an import.

    What was asked and answered loses their words; a turn none of whose events are left loses its records.
    """
    gone = Gone()
    columns = "id, scope, turn, kind, text, data, words, thread"
    rows = tx.all(f"SELECT {columns} FROM events WHERE id IN {_AMONG}", (dumps(sorted(ids)),))
    if not rows:
        return gone
    among = dumps([row[0] for row in rows])
    _unrest(tx, [str(row[0]) for row in rows], gone, at)
    if buried:
        for scope in {row[1] for row in rows}:
            tombstones.bury(tx, scope, events=[row[0] for row in rows if row[1] == scope], at=at)
    files = tx.all(f"SELECT hash, name FROM blocks WHERE event IN {_AMONG}", (among,))
    gone.hashes |= {hash_ for hash_, _ in files}
    gone.note(*(name for _, name in files))
    for _, scope, _, _, text, stored, words, _ in rows:
        gone.scopes.add(scope)
        data = loads(stored) or {}
        said = forget_agents.words(text, data)
        gone.note(said, words, *strings({name: value for name, value in data.items() if name != "mark"}))
    _unname(tx, rows, {name for _, name in files}, gone)
    for name, column in (("accesses", "event"), ("blocks", "event"), ("events", "id")):
        tx.execute(f"DELETE FROM {name} WHERE {column} IN {_AMONG}", (among,))
        gone.counts[name] += tx.changes()
    tx.execute(f"DELETE FROM job_units WHERE unit IN {_AMONG}", (among,))
    _unsay(tx, rows, gone)
    return gone


def remove_records(tx: Tx, ids: Collection[str], *, at: float, buried: bool = True) -> Gone:
    """Remove records with what they said before; capsules lose what they had from them.  ``buried``: what they said is
    not said again by itself."""
    gone = Gone()
    _remove_records(tx, stable.select(tx, f"id IN {_AMONG}", (dumps(sorted(ids)),)), gone, at, buried=buried)
    return gone


def remove_entity(tx: Tx, entity: str, *, at: float | None = None) -> Gone:
    """Remove a node whose facts are gone already (``records_of``).  ``at``: now, if it is to come back from no export
    (not where it went because nothing names it any more)."""
    gone = Gone()
    found = entities.get(tx, entity)
    if found is not None:
        if at is not None:
            bury_entity(tx, entity, at=at)
        gone.scopes.add(found.scope)
        gone.note(found.name, *entities.names(tx, entity))
        _drop_merged(tx, entity, gone)
        entities.remove(tx, entity)
        gone.counts["entities"] += 1
    return gone


def bury_entity(tx: Tx, entity: str, *, at: float) -> Gone:
    """It is to come back from no export: before its facts go, with the last of which its node does."""
    if (found := entities.get(tx, entity)) is not None:
        tombstones.bury_ids(tx, found.scope, "entity", [entity], at=at)
    return Gone()


def records_of(tx: Tx, entity: str) -> list[str]:
    """The records that name it."""
    rows = tx.all("SELECT id FROM records WHERE subject = ?1 OR object_entity = ?1 ORDER BY seq", (entity,))
    return [str(id_) for (id_,) in rows]


def sources(tx: Tx, records: Collection[str]) -> list[str]:
    """The events that these records rest on."""
    rows = tx.all(f"SELECT DISTINCT event FROM evidence WHERE record IN {_AMONG}", (dumps(sorted(records)),))
    return [str(event) for (event,) in rows]


def strings(value: object) -> Iterator[str]:
    """Every text in a value of JSON that may be somebody's: not keys, not what is short enough to be a word of ours."""
    if isinstance(value, str):
        if len(value) > 12 and not value.isidentifier():
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


# -- records that rest on what goes ------------------------------------------------------------------------------------


def _unrest(tx: Tx, ids: Sequence[str], gone: Gone, at: float) -> None:
    among = dumps(list(ids))
    lost: dict[str, list[str]] = {}
    for record, excerpt, text in tx.all(
        f"SELECT v.record, v.excerpt, e.text FROM evidence v JOIN events e ON e.id = v.event WHERE v.event IN {_AMONG}",
        (among,),
    ):
        lost.setdefault(record, []).append(excerpt or text)
    found = stable.select(tx, f"id IN {_AMONG}", (dumps(sorted(lost)),))
    doomed = [record for record in found if not _stands(tx, record, lost[record.id], ids)]
    resting = {record.id: left for record in doomed if (left := _others(tx, record.id, ids))}
    _remove_records(tx, [record for record in doomed if record.id not in resting], gone, at, buried=True)
    # what is left may say some of it all the same: it is gone through again
    _remove_records(tx, [record for record in doomed if record.id in resting], gone, at, buried=False)
    reopen(tx, {event for left in resting.values() for event in left})
    capsules = [one.id for one in found if one.record == "capsule" and one.origin != "manual" and one not in doomed]
    for capsule in capsules:  # these may say it in another language than it was said in
        texts = [record.text for record in doomed]
        forget_before.cut(tx, capsule, _shortener(texts, _left(tx, capsule, ids) + _of_members(tx, capsule, texts)))
    held = forget_before.hold(tx, capsules)
    tx.execute(f"DELETE FROM evidence WHERE event IN {_AMONG}", (among,))  # its trigger: what they said before goes
    gone.counts["evidence"] += tx.changes()
    forget_before.put_back(tx, held)
    tx.execute(
        "UPDATE records SET recheck = 0, times = max(1, (SELECT count(DISTINCT event) FROM evidence WHERE record ="
        f" records.id)) WHERE id IN {_AMONG}",
        (dumps(sorted(lost)),),
    )
    gone.counts["rechecked"] += tx.changes()


def _others(tx: Tx, record: str, ids: Collection[str]) -> list[str]:
    """Events that a record rests on besides these."""
    rows = tx.all(
        f"SELECT DISTINCT event FROM evidence WHERE record = ? AND event NOT IN {_AMONG}", (record, dumps(sorted(ids)))
    )
    return [str(event) for (event,) in rows]


def _stands(tx: Tx, record: Record, lost: Sequence[str], ids: Collection[str]) -> bool:
    """Whether a record may stay without these events: written by hand, or what is left says all that they said of it.

    What a capsule had from them alone is taken out of it.
    """
    if record.origin == "manual":
        return True
    left = _left(tx, record.id, ids)
    if not left or record.record == "summary":
        return False
    return _shortened(tx, record, lost, left)


def _left(tx: Tx, record: str, ids: Collection[str] = ()) -> list[str]:
    """What the events say that a record rests on besides these."""
    rows = tx.all(
        "SELECT v.excerpt, e.text FROM evidence v JOIN events e ON e.id = v.event"
        f" WHERE v.record = ? AND v.event NOT IN {_AMONG}",
        (record, dumps(sorted(ids))),
    )
    return [str(excerpt or text) for excerpt, text in rows]


def _of_members(tx: Tx, capsule: str, lost: Sequence[str]) -> list[str]:
    """What the records say that it is made of, without what is lost."""
    members = "SELECT r.text FROM members m JOIN records r ON r.id = m.record WHERE m.capsule = ?"
    return [str(text) for (text,) in tx.all(members, (capsule,)) if text not in lost]


def _shortened(tx: Tx, record: Record, lost: Sequence[str], left: Sequence[str]) -> bool:
    """Hold it against what is left; False when nothing of it is to stay.  A fact stays or goes as a whole."""
    if record.record != "capsule":
        return rests.supported(f"{record.title} {record.text}", lost, left)
    left = [*left, *_of_members(tx, record.id, lost)]
    kept = rests.kept(record.text, lost, left)
    if not kept or not rests.supported(record.title, lost, left):
        return False
    if kept != record.text:
        forget_before.drop(tx, record.id)
        tx.execute("UPDATE records SET text = ?, key = ? WHERE id = ?", (kept, key(kept), record.id))
    forget_before.cut(tx, record.id, _shortener(lost, left))  # it may have lost it when that was hidden or changed
    return True


def _shortener(lost: Sequence[str], left: Sequence[str]) -> Callable[[Revision], str]:
    def shorten(old: Revision) -> str:
        if rests.supported(f"{old.title}\n{old.text}", lost, left):
            return old.text
        return rests.kept(old.text, lost, left) if rests.supported(old.title, lost, left) else ""

    return shorten


def _remove_records(tx: Tx, found: Sequence[Record], gone: Gone, at: float, *, buried: bool) -> None:
    if not found:
        return
    ids = [record.id for record in found]
    before = tx.all(f"SELECT record, title, text FROM revisions WHERE record IN {_AMONG}", (dumps(ids),))
    for record in found:
        said = [text for of, _, text in before if of == record.id]
        gone.scopes.add(record.scope)
        gone.note(record.text, record.title, *said, *(title for of, title, _ in before if of == record.id))
        if buried:
            form = entities.form(tx, record.subject) if record.subject else ""
            triples = [(form, record.relation, record.object)] if form and record.relation else []
            tombstones.bury(tx, record.scope, texts=[record.text, *said], triples=triples, at=at)
        tombstones.bury_ids(tx, record.scope, "record", [record.id], at=at)
    _let_capsules_go(tx, found, gone, at)
    named = {entity for record in found for entity in (record.subject, record.object_entity) if entity}
    tx.execute(f"DELETE FROM evidence WHERE record IN {_AMONG}", (dumps(ids),))
    tx.execute(f"DELETE FROM records WHERE id IN {_AMONG}", (dumps(ids),))
    tx.execute(f"DELETE FROM job_units WHERE unit IN {_AMONG}", (dumps(ids),))
    gone.counts["records"] += len(ids)
    for entity in sorted(named):
        _look_at_entity(tx, entity, gone)


def _let_capsules_go(tx: Tx, found: Sequence[Record], gone: Gone, at: float) -> None:
    """Capsules that hold one of these lose what they had from it alone."""
    ids = [record.id for record in found]
    holding = f"id IN (SELECT capsule FROM members WHERE record IN {_AMONG}) AND id NOT IN {_AMONG}"
    for capsule in stable.select(tx, holding, (dumps(ids), dumps(ids))):
        lost = [record.text for record in found]
        tx.execute(f"DELETE FROM members WHERE capsule = ? AND record IN {_AMONG}", (capsule.id, dumps(ids)))
        if capsule.origin != "manual" and not _shortened(tx, capsule, lost, _left(tx, capsule.id)):
            _remove_records(tx, [capsule], gone, at, buried=False)


def _look_at_entity(tx: Tx, entity: str, gone: Gone) -> None:
    """Remove a node that nothing names any more, and names of one that stay that stand in nothing that is left."""
    found = entities.get(tx, entity)
    if found is None:
        return
    texts = tx.all("SELECT text || ' ' || object FROM records WHERE subject = ?1 OR object_entity = ?1", (entity,))
    if not texts:
        gone.add(remove_entity(tx, entity))
        return
    said = normal(" ".join(text for (text,) in texts))
    dropped = [name for name in entities.names(tx, entity) if normal(name) not in said]
    speaks = tx.value("SELECT 1 FROM entity_names WHERE entity = ? AND substr(key, 1, 1) = '@'", (entity,))
    if found.name in dropped and speaks and found.name != entities.SELF_NAME:
        tx.execute("UPDATE entities SET name = ? WHERE id = ?", (entities.SELF_NAME, entity))
        tx.execute("DELETE FROM vectors WHERE kind = 'entity' AND item = ?", (found.seq,))
        tx.execute("INSERT OR IGNORE INTO vector_todo (kind, item) VALUES ('entity', ?)", (found.seq,))
    elif found.name in dropped:
        dropped.remove(found.name)  # something must be shown
    keys = [normal(name) for name in dropped]
    tx.execute(f"DELETE FROM entity_names WHERE entity = ? AND key IN {_AMONG}", (entity, dumps(keys)))
    gone.note(*dropped)
    _drop_merged(tx, entity, gone)


def _drop_merged(tx: Tx, entity: str, gone: Gone) -> None:
    """What a merge could be taken back with holds the names."""
    tx.execute("DELETE FROM merged WHERE kept = ?", (entity,))
    gone.counts["merged"] += tx.changes()


def reopen(tx: Tx, events: Collection[str]) -> None:
    """Something is to be made of these anew."""
    tx.execute(f"UPDATE events SET pass = '' WHERE pass <> '' AND id IN {_AMONG}", (dumps(sorted(events)),))


# -- what was asked and answered ---------------------------------------------------------------------------------------


def _unname(tx: Tx, rows: Sequence[Row], files: Collection[str], gone: Gone) -> None:
    """A conversation is called by its first message: it loses that name with it, and gets one by the next; and one that
    a person gave it, if that says what is gone."""
    for thread in sorted({row[7] for row in rows}):
        said = [(kind, text) for _, _, _, kind, text, _, _, of in rows if of == thread]
        asked = [text for kind, text in said if kind == EventKind.USER]
        gone.note(threads.unname(tx, thread, asked, files, [text for _, text in said]))


def _unsay(tx: Tx, rows: Sequence[Row], gone: Gone) -> None:
    """Inputs and outcomes keep no words of what is gone; a turn with nothing left keeps no record of what it saw."""
    asked = [turn for _, _, turn, kind, *_ in rows if turn and kind == EventKind.USER]
    answered = [turn for _, _, turn, kind, *_ in rows if turn and kind == EventKind.ASSISTANT]
    # turn <> '' is what lets the index of turns be used
    for text, mark in tx.all(f"SELECT text, mark FROM inputs WHERE turn <> '' AND turn IN {_AMONG}", (dumps(asked),)):
        gone.note(forget_agents.words(text, {"mark": mark}))
    tx.execute(f"UPDATE inputs SET text = '' WHERE turn <> '' AND turn IN {_AMONG}", (dumps(asked),))
    tx.execute(
        "UPDATE inputs SET outcome = json_set(outcome, '$.text', '') WHERE turn <> ''"
        f" AND turn IN {_AMONG} AND outcome IS NOT NULL",
        (dumps(answered),),
    )
    # what a source or a tool answered may repeat what it was asked
    tx.execute(
        "UPDATE inputs SET outcome = json_set(outcome, '$.error', '(forgotten)', '$.hint', '') WHERE turn <> ''"
        f" AND turn IN {_AMONG} AND outcome ->> 'error' <> ''",
        (dumps(asked),),
    )
    tx.execute(
        f"UPDATE ledger SET data = json_remove(data, '$.query', '$.text') WHERE turn IN {_AMONG}"
        " AND (data ->> 'query' IS NOT NULL OR data ->> 'text' IS NOT NULL)",
        (dumps(asked),),
    )
    turns = sorted({turn for _, _, turn, *_ in rows if turn})
    empty = "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM events WHERE turn = value)"
    tx.execute(f"DELETE FROM ledger WHERE turn IN ({empty})", (dumps(turns),))
    gone.counts["ledger"] += tx.changes()
    tx.execute(f"DELETE FROM injections WHERE turn IN ({empty})", (dumps(turns),))
    gone.counts["ledger"] += tx.changes()
    tx.execute(f"DELETE FROM accesses WHERE turn IN ({empty})", (dumps(turns),))
