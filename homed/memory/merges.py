"""Two entities that may be one: proposed by their names, merged by a person or a model, taken back, or never again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from homed.errors import Conflict, NotFound
from homed.memory import alike, dedupe, entities, evidence, judge, rivals, stable
from homed.memory.entities import Entity
from homed.memory.normal import bag, jaccard, normal
from homed.memory.stable import Record
from homed.store.rows import SqlValue, Tx, dumps, loads

ROUND = 5
"""Proposals that one round puts before a model."""

NEVER_ROUNDS = 20
"""Rounds for which two that were judged different are not proposed again."""

MERGED_KEPT = 200
"""Merges of a scope that can be taken back; the oldest are forgotten."""


_CYRILLIC = re.compile("[а-ё]")
_Words = tuple[frozenset[str], str]
"""Of a fact: the words of its text, and its object in normal form."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two entities with names nearly the same; ``score`` 0..1."""

    first: Entity
    second: Entity
    score: float


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did.  ``id``: to take it back by; ``facts``: how many went over; ``duplicates``: how many of them
    were known there already, and became one with those."""

    id: int
    kept: str
    gone: str
    facts: int
    duplicates: int


def search(tx: Tx, scope: str) -> list[tuple[str, str, float]]:
    """Find entities of a scope with nearly the same names: their ids, the smaller first, and how alike, 0..1.

    Reads only: of 10 000 names it takes a second or two, which no writer should wait for.  Aliases count as names.  A
    number that differs keeps two apart (Room 101, Room 102), and so do types that differ.
    """
    rows = tx.all(
        "SELECT n.key, n.entity, n.name, e.type FROM entity_names n JOIN entities e ON e.id = n.entity"
        " WHERE n.scope = ? AND substr(n.key, 1, 1) <> '@'",
        (scope,),
    )
    of = {key: (entity, name, type_) for key, entity, name, type_ in rows}
    best: dict[tuple[str, str], float] = {}
    for pair in alike.likely({key: name for key, (_, name, _) in of.items()}):
        (one_id, name, kind), (two_id, other, kind2) = of[pair.first], of[pair.second]
        apart = one_id == two_id or dedupe.differing(name, other) in ("number", "date", "negation")
        if not apart and (kind == kind2 or "thing" in (kind, kind2)):
            ends = (min(one_id, two_id), max(one_id, two_id))
            best[ends] = max(best.get(ends, 0.0), pair.score)
    return sorted((first, second, score) for (first, second), score in best.items())


def note(tx: Tx, scope: str, found: Sequence[tuple[str, str, float]], *, at: float) -> int:
    """Propose what ``search`` found; returns how many are new.  What was judged already stays as it was."""
    before = _count(tx, scope)
    tx.many(
        "INSERT OR IGNORE INTO merges (scope, first, second, score, at) SELECT ?, ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM entities WHERE id IN (?, ?)) = 2",
        [(scope, first, second, score, at, first, second) for first, second, score in found],
    )
    return _count(tx, scope) - before


def proposals(tx: Tx, scope: str, *, limit: int = ROUND) -> list[Proposal]:
    """Open proposals of a scope, the most alike first."""
    rows = tx.all(
        "SELECT first, second, score FROM merges WHERE scope = ? AND state = 'open' ORDER BY score DESC, first, second"
        " LIMIT ?",
        (scope, limit),
    )
    found = [(entities.get(tx, first), entities.get(tx, second), score) for first, second, score in rows]
    return [Proposal(first, second, score) for first, second, score in found if first and second]


def is_open(tx: Tx, scope: str, one: str, two: str) -> bool:
    """Whether these two are proposed still: nobody has judged them meanwhile."""
    state = "SELECT 1 FROM merges WHERE scope = ? AND first = ? AND second = ? AND state = 'open'"
    return tx.value(state, (scope, min(one, two), max(one, two))) is not None


def never(tx: Tx, scope: str, one: str, two: str, *, at: float, rounds: int = NEVER_ROUNDS) -> None:
    """These two are different: they are not proposed again for so many rounds.  Ids; raises NotFound."""
    first, second = sorted((_of(tx, scope, one).id, _of(tx, scope, two).id))
    tx.execute(
        "INSERT INTO merges (scope, first, second, score, state, rounds, at) VALUES (?, ?, ?, 0, 'never', ?, ?)"
        " ON CONFLICT (scope, first, second) DO UPDATE SET state = 'never', rounds = excluded.rounds, at = excluded.at",
        (scope, first, second, rounds, at),
    )


def next_round(tx: Tx, scope: str) -> None:
    """A round is over: what was set aside for some is nearer to being asked again."""
    tx.execute("UPDATE merges SET rounds = rounds - 1 WHERE scope = ? AND state = 'never'", (scope,))
    tx.execute("DELETE FROM merges WHERE scope = ? AND state = 'never' AND rounds <= 0", (scope,))


def merge(tx: Tx, scope: str, keep: str, gone: str, *, at: float) -> Merged:
    """Make two entities one: facts, names and mentions of ``gone`` go to ``keep``, facts told twice become one, and of
    two that can not both hold the newer one does.

    Ids.  Raises NotFound; Conflict for an entity with itself, and for the person who speaks as ``gone`` (merge the
    other into them).
    """
    kept, other = _of(tx, scope, keep), _of(tx, scope, gone)
    if kept.id == other.id:
        raise Conflict("That is one entity already.")
    if _is_speaker(tx, other.id):
        raise Conflict("The person who speaks stays.", hint="Merge the other entity into theirs.")
    subjects = _ids(tx, "SELECT id FROM records WHERE subject = ?", other.id)
    objects = _ids(tx, "SELECT id FROM records WHERE object_entity = ?", other.id)
    names = [[key, name] for key, name in tx.all("SELECT key, name FROM entity_names WHERE entity = ?", (other.id,))]
    tx.execute("UPDATE records SET subject = ? WHERE subject = ?", (kept.id, other.id))
    tx.execute("UPDATE records SET object_entity = ? WHERE object_entity = ?", (kept.id, other.id))
    tx.execute("UPDATE entity_names SET entity = ? WHERE entity = ?", (kept.id, other.id))
    tx.execute(
        "UPDATE entities SET mentions = mentions + ?, updated_at = ?,"
        " type = CASE type WHEN 'thing' THEN ? ELSE type END WHERE id = ?",
        (other.mentions, at, other.type, kept.id),
    )
    merged_before = [id_ for (id_,) in tx.all("SELECT id FROM merged WHERE kept = ?", (other.id,))]
    tx.execute("UPDATE merged SET kept = ? WHERE kept = ?", (kept.id, other.id))
    tx.execute("DELETE FROM entities WHERE id = ?", (other.id,))
    moved = {*subjects, *objects}
    duplicates = _become_one(tx, scope, kept.id, moved, at)
    settled = _settle(tx, kept.id, moved, at)
    data = {
        "name": other.name, "type": other.type, "mentions": other.mentions, "created_at": other.created_at,
        "names": names, "subjects": subjects, "objects": objects, "kept_type": kept.type,
        "merged": merged_before, "settled": settled,
    }  # fmt: skip
    row = tx.one(
        "INSERT INTO merged (scope, kept, gone, data, at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (scope, kept.id, other.id, dumps(data), at),
    )
    assert row is not None
    tx.execute(
        "DELETE FROM merged WHERE scope = ?1 AND id NOT IN"
        " (SELECT id FROM merged WHERE scope = ?1 ORDER BY id DESC LIMIT ?2)",
        (scope, MERGED_KEPT),
    )
    return Merged(int(row[0]), kept.id, other.id, len(moved), duplicates)


def merged(tx: Tx, scope: str, *, limit: int = 20) -> list[tuple[int, str, str, float]]:
    """Merges that can be taken back, newest first: id, the entity that stayed, the name that went, when."""
    rows = tx.all(
        "SELECT id, kept, data ->> 'name', at FROM merged WHERE scope = ? ORDER BY id DESC LIMIT ?", (scope, limit)
    )
    return [(id_, kept, name, at) for id_, kept, name, at in rows]


def unmerge(tx: Tx, scope: str, id_: int, *, at: float) -> Entity:
    """Take a merge back: the entity is there again with its names and those of its facts that are still there.

    Facts that had become one stay one, with whoever was kept; what could not hold beside the other's holds again.
    Whoever had been merged into it before is with it again.  The two are not proposed again for some rounds.  Raises
    NotFound.
    """
    row = tx.one("SELECT kept, gone, data FROM merged WHERE id = ? AND scope = ?", (id_, scope))
    if row is None:
        raise NotFound("There is no such merge to take back.")
    kept, gone, data = str(row[0]), str(row[1]), _data(loads(row[2]))
    tx.execute(
        "INSERT INTO entities (id, scope, name, type, mentions, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",  # an import may have brought it
        (gone, scope, data["name"], data["type"], data["mentions"], data["created_at"], at),
    )
    for key, name in data["names"]:
        tx.execute(
            "INSERT INTO entity_names (scope, key, name, entity) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (scope, key) DO UPDATE SET entity = excluded.entity WHERE entity = ?",
            (scope, key, name, gone, kept),
        )
    for column, ids in (("subject", data["subjects"]), ("object_entity", data["objects"])):
        tx.execute(
            f"UPDATE records SET {column} = ? WHERE {column} = ? AND id IN (SELECT value FROM json_each(?))",
            (gone, kept, dumps(ids)),
        )
    tx.execute(
        "UPDATE merged SET kept = ? WHERE kept = ? AND id IN (SELECT value FROM json_each(?))",
        (gone, kept, dumps(data["merged"])),
    )
    _unsettle(tx, data["settled"], at)
    tx.execute(
        "UPDATE entities SET mentions = max(0, mentions - ?), type = ?, updated_at = ? WHERE id = ?",
        (data["mentions"], data["kept_type"], at, kept),
    )
    tx.execute("DELETE FROM merged WHERE id = ?", (id_,))
    never(tx, scope, kept, gone, at=at)
    back = entities.get(tx, gone)
    assert back is not None
    return back


def one(tx: Tx, scope: str, keep: str, gone: str, *, at: float) -> Record:
    """Make two records one by hand or because the law says so: evidence goes over, ``gone`` is deleted.

    Ids.  The better words stay, a person's before others; what the other said is kept as a revision.  Raises NotFound.
    """
    kept, other = stable.find(tx, scope, keep), stable.find(tx, scope, gone)
    if kept.id == other.id:
        raise Conflict("That is one record already.")
    better = kept.origin != "manual" and (other.origin == "manual" or dedupe.improves(kept.text, other.text))
    for item in evidence.items(tx, other.id):
        tx.execute(
            "INSERT OR IGNORE INTO evidence (record, event, first, last, excerpt, hash, at)"
            " SELECT ?, event, first, last, excerpt, hash, at FROM evidence WHERE id = ? AND upto = 0",
            (kept.id, item.id),
        )
    tx.execute("UPDATE OR IGNORE members SET record = ? WHERE record = ?", (kept.id, other.id))
    tx.execute("UPDATE records SET superseded_by = ? WHERE superseded_by = ? AND id <> ?", (kept.id, other.id, kept.id))
    values: dict[str, SqlValue] = {
        "times": kept.times + other.times, "confidence": max(kept.confidence, other.confidence),
        "importance": max(kept.importance, other.importance), "cited": kept.cited + other.cited,
        "untrusted": int(kept.untrusted and other.untrusted),
        "origin": "manual" if "manual" in (kept.origin, other.origin) else kept.origin,
    }  # fmt: skip
    stable.remove(tx, [other.id])
    if better:
        stable.revise(tx, kept, {**values, "text": other.text, "key": other.key}, why="merged", at=at)
    elif kept.key != other.key:
        said = replace(
            kept, title=other.title, text=other.text, importance=other.importance, tags=other.tags,
            updated_at=other.updated_at,
        )  # fmt: skip
        stable.revise(tx, said, values, why="merged", at=at)
    else:
        stable.update(tx, kept.id, values, at=at)
    found = stable.get(tx, kept.id)
    assert found is not None
    return found


def _become_one(tx: Tx, scope: str, entity: str, moved: Collection[str], at: float) -> int:
    """Facts that have come to an entity and say what one of its own says by the one law become one with that, whichever
    is older; returns how many went.

    Its own are not held against each other: whoever stored them has done that, and with thousands it takes minutes.
    """
    found = stable.select(
        tx,
        "scope = ?1 AND record = 'fact' AND status = 'active' AND (subject = ?2 OR object_entity = ?2) ORDER BY seq",
        (scope, entity),
    )
    words = {fact.id: (bag(fact.text), normal(fact.object)) for fact in found}
    own: defaultdict[tuple[object, ...], list[Record]] = defaultdict(list)
    for fact in found:
        if fact.id not in moved:
            own[_pool(fact)].append(fact)
    gone = 0
    for fact in found:
        beside = own[_pool(fact)] if fact.id in moved else []
        known = next((one for one in beside if _same(one, fact, words[one.id], words[fact.id])), None)
        if known is not None:
            stays, goes = (known, fact) if known.seq < fact.seq else (fact, known)
            made = one(tx, scope, stays.id, goes.id, at=at)
            beside[beside.index(known)] = made
            words[made.id] = (bag(made.text), normal(made.object))
            gone += 1
    return gone


def _pool(fact: Record) -> tuple[object, ...]:
    return (
        fact.reach, fact.project, fact.observer, fact.observed, fact.subject, fact.valid_from, fact.valid_until,
        fact.untrusted,
    )  # fmt: skip


def _same(a: Record, b: Record, of_a: _Words, of_b: _Words) -> bool:
    """By the one law, of two of one pool.  Their words are at hand: each is held against hundreds."""
    if not dedupe.compatible(a.kind, b.kind):
        return False
    if a.key == b.key:
        return True
    if a.relation and a.relation == b.relation and a.object and b.object:
        if a.object_entity:
            return a.object_entity == b.object_entity
        inflected = _CYRILLIC.search(of_a[1]) and _CYRILLIC.search(of_b[1])  # else no two forms of one word are known
        return of_a[1] == of_b[1] or (inflected is not None and dedupe.same_value(a.object, b.object))
    return jaccard(of_a[0], of_b[0]) >= dedupe.THRESHOLD and not dedupe.differing(a.text, b.text)


def _settle(tx: Tx, entity: str, moved: Collection[str], at: float) -> list[list[object]]:
    """Of two facts that can not both hold, now that they are of one, the newer does.  Of each that became history by
    it: its id, that of the one which holds, and until when it had held."""
    found = stable.select(
        tx, "subject = ? AND record = 'fact' AND status = 'active' AND relation <> '' ORDER BY seq", (entity,)
    )
    done: list[list[object]] = []
    for fact in found:
        now = stable.get(tx, fact.id) if fact.id in moved else None
        if now is None or now.status != "active":
            continue
        for other in rivals.of(tx, now):
            older, newer = sorted((now, other), key=lambda one: _weight(tx, one, moved))
            began = judge.begins(tx, newer)
            values: dict[str, SqlValue] = {"status": "superseded", "superseded_by": newer.id}
            if older.relation != "name" and began >= judge.begins(tx, older):
                values["valid_until"] = began if older.valid_until is None else min(began, older.valid_until)
            stable.update(tx, older.id, values, at=at)
            done.append([older.id, newer.id, older.valid_until])
            if older.id == now.id:
                break
    return done


def _unsettle(tx: Tx, settled: Sequence[tuple[str, str, float | None]], at: float) -> None:
    """What ``_settle`` made history holds again, unless something else was said or decided since."""
    for old, newer, until in settled:
        found = stable.get(tx, old)
        if found is None or found.status != "superseded":
            continue
        if found.superseded_by != newer and stable.get(tx, newer) is not None:
            continue  # where that one went, or became one with another, nobody decided about this one
        values: dict[str, SqlValue] = {"status": "active", "superseded_by": None, "valid_until": until}
        if not rivals.of(tx, replace(found, valid_until=until)) and not rivals.twin(tx, found, found.text):
            stable.update(tx, old, values, at=at)  # else something else was said of it since


def _weight(tx: Tx, fact: Record, moved: Collection[str]) -> tuple[bool, bool, float, int]:
    """Which of two holds: of names that of the entity that stayed, else what no stranger said, else the newer."""
    stays = fact.relation == "name" and fact.id not in moved
    return stays, not fact.untrusted, judge.begins(tx, fact), fact.seq


def _of(tx: Tx, scope: str, id_: str) -> Entity:
    found = entities.get(tx, id_)
    if found is None or found.scope != scope:
        raise NotFound("There is no such entity.")
    return found


def _is_speaker(tx: Tx, entity: str) -> bool:
    found = tx.value("SELECT 1 FROM entity_names WHERE entity = ? AND substr(key, 1, 1) = '@'", (entity,))
    return found is not None


def _ids(tx: Tx, query: str, entity: str) -> list[str]:
    return [str(id_) for (id_,) in tx.all(query, (entity,))]


def _count(tx: Tx, scope: str) -> int:
    return int(tx.value("SELECT count(*) FROM merges WHERE scope = ?", (scope,)))


def _data(found: Any) -> dict[str, Any]:
    """What ``merge`` wrote: name, type, mentions, created_at, names [key, name], subjects, objects, kept_type; and
    since this release merged, settled."""
    assert isinstance(found, dict)
    return {"merged": [], "settled": [], **found}
