"""Records of holo-memory's files into memory: what is known and edited is a revision, what is new a record from a file.

A file is nobody's word.  What comes out of one has the origin ``import`` and counts as strangers' words do: it is told
with its mark, takes the place of nothing that a person said, and displaces nothing where there is no room.  It has
evidence only where its very words stand in an event that is here; else nothing can be opened, and memory says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from homed.clock import new_id
from homed.errors import Conflict
from homed.jobs import taking
from homed.jobs.holoread import Before, Given, names
from homed.memory import bounds, capsules, evidence, facts, hiding, rests, stable, tombstones
from homed.memory import events as table
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Evidence, Span
from homed.memory.facts import Put
from homed.memory.hiding import HID
from homed.memory.newfact import Kept, NewFact
from homed.memory.normal import key
from homed.memory.stable import CAPS, Record
from homed.redact import redact
from homed.retrieval import index
from homed.store.rows import SqlValue, Tx, dumps

EDITED = "edited in an export"

FORGOTTEN = "forgotten"
ROOM, TWICE, OTHER, OLDER = (
    "no room for it", "its id was there before", "another of the same matter is here", "older than what is here",
)  # fmt: skip

WHYS = (ROOM, TWICE, OTHER, OLDER)

LONGEST_CHAIN = 64
"""Records that took the place of one another that are followed: more are no history."""

_AMONG = "(SELECT value FROM json_each(?))"


@dataclass(slots=True)
class Taken:
    """What the files brought: records that are new, by kind; how many were edited, and known; refused, by reason.

    ``ids``: of each record of the files its id here; ``links``: what names records that may come later.
    """

    new: Counter[str] = field(default_factory=Counter)
    revised: int = 0
    same: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    ids: dict[str, str] = field(default_factory=dict)
    links: list[tuple[str, Given]] = field(default_factory=list)


def choose(tx: Tx, given: Sequence[Given], taken: Taken, *, at: float) -> list[Given]:
    """Those of a file that there is room for, the oldest first: what is known, and of the others of each scope as many
    as fit beside what is here, by what they are worth."""
    among = dumps(sorted({name for one in given for name in (one.id, *names(one)) if name}))
    rows = tx.all(f"SELECT id, scope, record FROM records WHERE id IN {_AMONG}", (among,))
    here = {tuple(row) for row in rows}
    left = dict[str, list[int]]()
    for place, one in enumerate(given):
        if not any((name, one.scope, one.record) in here for name in (one.id, *names(one))):
            left.setdefault(one.scope, []).append(place)
    dropped: set[int] = set()
    for scope, places in left.items():
        room = _room(tx, scope, given[places[0]].record)
        if len(places) > room:
            said = _said(tx, scope, [given[place] for place in places])
            new = [place for place in places if key(given[place].text) not in said]
            dropped |= set(sorted(new, key=lambda place: _worth(given[place], at), reverse=True)[room:])
    taken.refused[ROOM] += len(dropped)
    return sorted((one for place, one in enumerate(given) if place not in dropped), key=lambda one: one.created_at)


def _worth(given: Given, at: float) -> tuple[bool, float]:
    """By the law that throws records out."""
    fallback = given.extractor == "fallback"
    return given.status == "active", stable.keep_score(given.importance, given.cited, at - given.updated_at, fallback)


def _said(tx: Tx, scope: str, given: Sequence[Given]) -> frozenset[str]:
    """The keys of those texts of one kind that are here."""
    among = dumps(sorted({key(one.text) for one in given}))
    rows = tx.all(
        f"SELECT key FROM records WHERE scope = ? AND record = ? AND key IN {_AMONG}", (scope, given[0].record, among)
    )
    return frozenset(str(one) for (one,) in rows)


def take(tx: Tx, given: Sequence[Given], taken: Taken, *, at: float) -> None:
    """Take these records in; ``at``: now, UTC seconds.  What is taken already stays as it is."""
    peers = taking.forgotten_peers(tx)
    for one in given:
        if one.id and one.id in taken.ids:
            taken.refused[TWICE] += 1
            continue
        known = _known(tx, one)
        if known is not None:
            taken.ids[one.id] = known.id
            _revise(tx, known, one, taken, at)
        elif _gone(tx, one, peers):
            taken.refused[FORGOTTEN] += 1
        else:
            _new(tx, one, taken, at)
    index.catch_up(tx)


def link(tx: Tx, some: Sequence[tuple[str, Given]], taken: Taken, *, at: float) -> None:
    """Once all is in: what a capsule is made of, and what took a record's place.  Of records that came, and only among
    what came."""
    for record, one in some:
        if not _join(tx, record, one, taken, at):
            stable.remove(tx, [record])
            taken.new[one.record] -= 1
            taken.refused[FORGOTTEN] += 1
            continue
        newer = taken.ids.get(one.superseded_by)
        if newer and newer != record and not _leads(tx, newer, record):
            tx.execute(
                "UPDATE records SET superseded_by = ?1 WHERE id = ?2 AND status = 'superseded' AND superseded_by IS"
                " NULL AND EXISTS (SELECT 1 FROM records n WHERE n.id = ?1 AND n.scope = records.scope)",
                (newer, record),
            )
    index.catch_up(tx)


def _leads(tx: Tx, record: str, to: str) -> bool:
    """Whether what took its place, and what took that one's, is ``to``; also where there is no end of it."""
    at: str | None = record
    for _ in range(LONGEST_CHAIN):
        at = tx.value("SELECT superseded_by FROM records WHERE id = ?", (at,))
        if at is None or at == to:
            return at is not None
    return True


# -- what is here ------------------------------------------------------------------------------------------------------


def _known(tx: Tx, given: Given) -> Record | None:
    """The record here that this is: of its scope and kind, under its own id or the one it had to be given."""
    for name in (given.id, *names(given)):
        known = stable.get(tx, name) if name else None
        if known is not None and (known.scope, known.record) == (given.scope, given.record):
            return known
    return None


def _revise(tx: Tx, known: Record, given: Given, taken: Taken, at: float) -> None:
    """What differs from what is here, and is not merely what it said before, is an edit."""
    if _as_it_is(known, given):
        taken.same += 1
    elif tombstones.buried(tx, known.scope, given.text) or _says_forgotten(tx, given) or _hidden(tx, known, given):
        taken.refused[FORGOTTEN] += 1
    elif _as_it_was(tx, known, given):
        taken.same += 1
    else:
        changed: dict[str, SqlValue] = {
            "text": given.text, "title": given.title, "importance": given.importance, "key": key(given.text),
        }  # fmt: skip
        if known.origin != "import":  # of one from a file, a file says nothing that a person vouches for
            changed |= {"origin": "manual", "extractor": "manual"}
        stable.revise(tx, known, changed, why=EDITED, at=at)
        taken.revised += 1


def _as_it_is(known: Record, given: Given) -> bool:
    text, title = given.raw
    words = (known.title, known.text)
    same = words in ((given.title, given.text), (title, text.strip()), (given.title, text.strip()))
    return (same or (title, text) == (redact(known.title), redact(known.text))) and known.importance == given.importance


def _as_it_was(tx: Tx, known: Record, given: Given) -> bool:
    """Whether it is of before the record was changed here: a file of before is no edit."""
    text, title = given.raw
    words = {(given.title, given.text), (title, text.strip()), (given.title, text.strip())}
    before = {(old.title, old.text) for old in stable.history(tx, known.id)}
    return given.revision < known.revision and bool(words & before)


def _hidden(tx: Tx, known: Record, given: Given) -> bool:
    """Whether it brings back what was taken out of it because something was hidden."""
    return any(old.text == given.text and old.why.startswith(f"{HID} ") for old in stable.history(tx, known.id))


def _says_forgotten(tx: Tx, given: Given) -> bool:
    """Whether a sentence of it was forgotten or hidden, where it has several."""
    said = () if given.record == "fact" else rests.sentences(given.text)
    return any(tombstones.buried(tx, given.scope, one.strip()) for one in said if one.strip())


def _gone(tx: Tx, given: Given, peers: frozenset[str]) -> bool:
    """Whether it was forgotten here, or what it says, or whose it is."""
    row = {"scope": given.scope, "observer": given.observer, "observed": given.observed}
    ids = [name for name in (given.id, *names(given)) if name]
    return (
        tombstones.buried(tx, given.scope, given.text)
        or bool(tombstones.known_ids(tx, given.scope, "record", ids))
        or taking.of_somebody_gone(tx, row, peers)
        or _says_forgotten(tx, given)
    )


# -- what is new -------------------------------------------------------------------------------------------------------


def _new(tx: Tx, given: Given, taken: Taken, at: float) -> None:
    """By the one law of its kind: it may be known in other words, or under another id."""
    before = [one for one in given.before if not _buried(tx, given, one)]
    kept = Kept(
        _free(tx, given), given.created_at, given.updated_at, given.confidence, given.cited, given.cited_at,
        max(given.revision, 1 + len(before)), given.status,
    )  # fmt: skip
    rests_on = _evidence(tx, given)
    if _room(tx, given.scope, given.record) < 1:
        if _in_these_words(tx, given) is None:
            taken.refused[ROOM] += 1
        else:
            taken.same += 1
        return
    put = {"fact": _put_fact, "capsule": _put_capsule, "summary": _put_summary}[given.record]
    tx.execute("SAVEPOINT record")
    done = put(tx, given, rests_on, kept, at)
    if done.record == kept.id:
        _write_history(tx, kept, before)
    changed = done.record == kept.id or done.outcome == "improved"
    if changed and not _join(tx, done.record, given, taken, at):
        tx.execute("ROLLBACK TO record")
        done = Put("", "refused", FORGOTTEN)
    tx.execute("RELEASE record")
    if done.outcome == "refused":
        taken.refused[done.why.partition(":")[0]] += 1
        return
    if given.id:
        taken.ids[given.id] = done.record
    if done.record == kept.id:
        taken.new[given.record] += 1
        taken.links += [(kept.id, given)] if given.members or given.superseded_by else []
    elif done.outcome == "same" and given.record == "capsule" and done.why:
        taken.refused[OLDER if done.why == "older" else OTHER] += 1
    else:
        taken.revised += done.outcome == "improved"
        taken.same += done.outcome != "improved"


def _buried(tx: Tx, given: Given, before: Before) -> bool:
    said = [before.text, *(rests.sentences(before.text) if given.record != "fact" else ())]
    return any(tombstones.buried(tx, given.scope, one.strip()) for one in said if one.strip())


def _free(tx: Tx, given: Given) -> str:
    """An id for it that nothing has, nor ends as what others are called by."""
    taken = "SELECT 1 FROM records WHERE substr(id, -8) = ? LIMIT 1"
    free = (name for name in names(given) if tx.value(taken, (name[-stable.SHOWN_ID :],)) is None)
    return next(free, "") or new_id(given.record)


def _room(tx: Tx, scope: str, record: str) -> int:
    """How many more there may be: what is here is not displaced by what comes out of a file."""
    there = tx.value("SELECT count(*) FROM records WHERE scope = ? AND record = ?", (scope, record))
    return max(0, bounds.get(tx, record, CAPS[record]) - int(there))


def _in_these_words(tx: Tx, given: Given, *, made: float | None = None) -> str | None:
    """The id of one of its kind in the same words; ``made``: then."""
    found: str | None = tx.value(
        "SELECT id FROM records WHERE scope = ? AND key = ? AND record = ? AND reach = ? AND project = ? AND status"
        " <> 'hidden' AND (? IS NULL OR created_at = ?) ORDER BY seq LIMIT 1",
        (given.scope, key(given.text), given.record, given.reach, given.project, made, made),
    )
    return found


def _put_fact(tx: Tx, given: Given, rests_on: Sequence[Evidence], kept: Kept, at: float) -> Put:
    new = NewFact(
        scope=given.scope, text=given.text, kind=given.kind, title=given.title, reach=given.reach,
        project=given.project, observer=given.observer, observed=given.observed, tags=given.tags,
        importance=given.importance, confidence=given.confidence, untrusted=True, origin="import",
        extractor=given.extractor, peer=given.observed, level=given.level, subject=given.subject[0],
        subject_type=given.subject[1], relation=given.relation, object=given.object[0], object_type=given.object[1],
        valid_from=given.valid[0], valid_until=given.valid[1], kept=kept,
    )  # fmt: skip
    return facts.put(tx, new, rests_on, at=at)


def _put_capsule(tx: Tx, given: Given, rests_on: Sequence[Evidence], kept: Kept, at: float) -> Put:
    new = NewCapsule(
        given.scope, given.kind, given.title, given.text, reach=given.reach, project=given.project,
        observer=given.observer, observed=given.observed, importance=given.importance, tags=given.tags,
        untrusted=True, origin="import", extractor=given.extractor, kept=kept,
    )  # fmt: skip
    return capsules.put_capsule(tx, new, rests_on, at=at)


def _put_summary(tx: Tx, given: Given, rests_on: Sequence[Evidence], kept: Kept, at: float) -> Put:
    """A turn has one summary: of the same turn, or of the same time in the same words, it is known."""
    known = _in_these_words(tx, given, made=given.created_at if given.dated else None)
    of_turn = (
        "SELECT r.id FROM evidence v JOIN events e ON e.id = v.event JOIN events o ON o.turn = e.turn AND o.turn <> ''"
        f" JOIN records r ON r.id = v.record WHERE o.id IN {_AMONG} AND r.record = 'summary' ORDER BY r.seq LIMIT 1"
    )
    known = known or tx.value(of_turn, (dumps([one.event for one in rests_on]),))
    if known is not None:
        return Put(known, "same")
    values: dict[str, SqlValue] = {
        "scope": given.scope, "record": "summary", "kind": given.kind, "title": given.title, "text": given.text,
        "key": key(given.text), "reach": given.reach, "project": given.project, "observer": given.observer,
        "observed": given.observed, "tags": dumps(list(given.tags)), "importance": given.importance, "untrusted": 1,
        "origin": "import", "extractor": given.extractor, "status": kept.status,
    }  # fmt: skip
    record = stable.insert(tx, {**values, **kept.columns}, at=at)
    evidence.add(tx, record, evidence.usable(tx, given.scope, rests_on)[0], at=at)
    return Put(record, "new")


def _evidence(tx: Tx, given: Given) -> list[Evidence]:
    """The place of its very words, where the conversation and the turn that it names are here and they stand there;
    else none: a place is never guessed."""
    source = given.source
    if source is None or evidence.digest(source.excerpt) != source.hash:
        return []
    rows = tx.all(
        f"SELECT {table.COLUMNS} FROM events WHERE turn = ? AND thread = ? AND scope = ? AND kind = ? ORDER BY seq",
        (source.turn, source.thread, given.scope, source.role),
    )
    found = [event for event in map(table.from_row, rows) if source.excerpt in event.text]
    there = [event for event in found if source.first <= event.seq <= source.last] or found
    if len(there) != 1:
        return []
    first = there[0].text.index(source.excerpt)
    return [Span(there[0].id, first, first + len(source.excerpt))]


def _write_history(tx: Tx, kept: Kept, before: Sequence[Before]) -> None:
    """The steps have the numbers before its own: what is missing among them nobody can bring back."""
    rows: list[tuple[SqlValue, ...]] = []
    later = kept.updated_at
    for number, one in enumerate(before, 1):
        later = min(later, one.at if one.at is not None else later)
        said = (one.title, one.text, one.importance, dumps(list(one.tags)))
        rows.append((kept.id, kept.revision - number, *said, one.why, later))
    tx.many("INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _join(tx: Tx, record: str, given: Given, taken: Taken, at: float) -> bool:
    """Put its members to it, as far as they came, and take out of it what is hidden; False if it says nothing else, or
    is gone."""
    members = [taken.ids[member] for member in given.members if member in taken.ids]
    tx.many(
        "INSERT OR IGNORE INTO members (capsule, record) SELECT ?1, m.id FROM records m JOIN records c ON c.id = ?1"
        " WHERE m.id = ?2 AND m.scope = c.scope AND m.id <> c.id",
        [(record, member) for member in members if given.record == "capsule"],
    )
    found = stable.get(tx, record)
    if found is None or given.record == "fact":
        return found is not None
    try:
        hiding.quieted(tx, found, at=at)
    except Conflict:
        return False
    return True
