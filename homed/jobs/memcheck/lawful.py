"""Whether records keep the law: nothing twice, one value at a time, a history that leads somewhere, nothing forgotten
that is there again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from homed.jobs.memcheck.check import Check, RowCheck
from homed.jobs.memcheck.findings import Status
from homed.jobs.memcheck.room import Room
from homed.jobs.memcheck.rows import Rows
from homed.memory import dedupe, entities, mutate, rivals, stable, tombstones
from homed.memory.relations import opposite
from homed.memory.stable import REVISIONS, Record
from homed.store.rows import Row, Tx

RECORDS = "records"
AHEAD = 86_400.0
"""Seconds that a time may lie ahead: of a clock that was set right since, or of another zone."""

LONGEST_CHAIN = 1_000
"""Records that one looks through for the end of a history."""

_SOURCE, _KEY, _ID = "records r", ("r.seq",), "r.id"


# -- nothing twice -----------------------------------------------------------------------------------------------------


def _set_keys(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many("UPDATE records SET key = ? WHERE seq = ?", [(dedupe.key(row[4]), row[0]) for row in rows])
    return len(rows)


def _twins(tx: Tx, id_: str) -> list[Record]:
    """Older facts that hold and that are the same by the law: the same words, kinds and things that go together, and
    times that meet."""
    mine = stable.get(tx, id_)
    if mine is None:
        return []
    found = stable.select(
        tx,
        "scope = ? AND key = ? AND seq < ? AND record = 'fact' AND status = 'active' AND reach = ? AND project = ?"
        " AND observer = ? AND observed = ? ORDER BY seq",
        (mine.scope, mine.key, mine.seq, mine.reach, mine.project, mine.observer, mine.observed),
    )
    return [other for other in found if _same(mine, other)]


def _same(a: Record, b: Record) -> bool:
    if not dedupe.compatible(a.kind, b.kind) or (a.level == "contradiction") != (b.level == "contradiction"):
        return False
    if a.subject and b.subject and a.subject != b.subject:
        return False
    if opposite(a.relation, b.relation) or (a.relation and a.relation == b.relation and a.object != b.object):
        return False
    since = max(one.valid_from if one.valid_from is not None else -math.inf for one in (a, b))
    until = min(one.valid_until if one.valid_until is not None else math.inf for one in (a, b))
    return since < until


def _combine(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """As a person does it on the page: one has the evidence of both, the other is history of it and can be put back.

    What was written by hand is the one that stays; else the older.
    """
    count = 0
    for row in rows:
        mine, others = stable.get(tx, row[1]), _twins(tx, row[1])
        if mine is None or not others:
            continue
        keep, gone = others[0], mine
        if gone.origin == "manual" and keep.origin != "manual":
            keep, gone = gone, keep
        mutate.combine(tx, keep, gone, at=room.now)
        count += 1
    return count


# -- history -----------------------------------------------------------------------------------------------------------


def _loops(tx: Tx, row: Row) -> bool:
    """Whether a record's history leads back to itself."""
    first, at = row[0], row[1]
    for _ in range(LONGEST_CHAIN):
        if at is None or at == first:
            return at is not None
        at = tx.value("SELECT superseded_by FROM records WHERE id = ?", (at,))
    return True


def _break_loops(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """What was made last in a loop is followed by nothing: the end of a history, as the newest is."""
    count = 0
    for row in rows:
        if not _loops(tx, (row[3], tx.value("SELECT superseded_by FROM records WHERE seq = ?", (row[0],)))):
            continue  # an earlier one of these was in the same loop
        ring, at = [], row[3]
        while at not in ring:
            ring.append(at)
            at = tx.value("SELECT superseded_by FROM records WHERE id = ?", (at,))
        newest = max(ring, key=lambda id_: tx.value("SELECT seq FROM records WHERE id = ?", (id_,)))
        tx.execute("UPDATE records SET superseded_by = NULL, updated_at = ? WHERE id = ?", (room.now, newest))
        count += 1
    return count


def _end_history(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """As when what took its place is deleted: nothing is said of what followed it."""
    del room
    tx.many("UPDATE records SET superseded_by = NULL WHERE seq = ?", [(row[0],) for row in rows])
    return len(rows)


def _number_on(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """The record counts on from its history, of which the newest twenty stay."""
    del room
    for seq, id_, *_ in rows:
        tx.execute("DELETE FROM revisions WHERE record = ? AND revision < 1", (id_,))
        tx.execute(
            "DELETE FROM revisions WHERE record = ?1 AND revision <="
            " (SELECT revision FROM revisions WHERE record = ?1 ORDER BY revision DESC LIMIT 1 OFFSET ?2)",
            (id_, REVISIONS),
        )
        tx.execute(
            "UPDATE records SET revision = max(1, revision, 1 + coalesce((SELECT max(revision) FROM revisions"
            " WHERE record = records.id), 0)) WHERE seq = ?",
            (seq,),
        )
    return len(rows)


def _drop_orphans(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """What a record said before goes with it, as by its foreign key."""
    del room
    tx.many("DELETE FROM revisions WHERE record = ? AND revision = ?", [(row[0], row[1]) for row in rows])
    return len(rows)


def _two_values(tx: Tx, row: Row) -> bool:
    mine = stable.get(tx, row[0])
    return mine is not None and any(other.seq < mine.seq for other in rivals.of(tx, mine))


# -- forgotten ---------------------------------------------------------------------------------------------------------


def _back_again(tx: Tx, row: Row) -> bool:
    """Whether what a record says, or the record itself, was forgotten."""
    id_, scope, text, subject, relation, object_ = row
    triple = (entities.form(tx, subject), relation, object_) if subject and relation else None
    return tombstones.buried(tx, scope, text, triple) or bool(tombstones.known_ids(tx, scope, "record", [id_]))


def _hide(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """Nobody is told it any more, and nothing is lost: a person forgets it for good, or brings it back."""
    tx.many("UPDATE records SET status = 'hidden', updated_at = ? WHERE seq = ?", [(room.now, row[0]) for row in rows])
    return len(rows)


# -- times and numbers -------------------------------------------------------------------------------------------------


def _to_now(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    """What cannot have happened yet counts as of now; what a message says of its time is left as it is."""
    tx.many(
        "UPDATE records SET created_at = min(created_at, ?1), updated_at = min(updated_at, ?1),"
        " cited_at = min(cited_at, ?1) WHERE seq = ?2",
        [(room.now, row[0]) for row in rows],
    )
    return len(rows)


def _recount(tx: Tx, rows: Sequence[Row], room: Room) -> int:
    del room
    tx.many(
        "UPDATE records SET cited = (SELECT count(*) FROM citations c WHERE c.record = records.id),"
        " cited_at = coalesce((SELECT max(at) FROM citations c WHERE c.record = records.id), cited_at) WHERE seq = ?",
        [(row[0],) for row in rows],
    )
    return len(rows)


_CITED = "(SELECT count(*) FROM citations c WHERE c.record = r.id)"
_HISTORY = "(SELECT {0} FROM revisions v WHERE v.record = r.id)"

CHECKS: tuple[Check, ...] = (
    RowCheck(
        id="record_keys", name="Keys of statements", what=RECORDS, fault="have another key than their words",
        fix="Repair makes the keys anew: by them homed knows that something is known already.",
        rows=Rows(
            _SOURCE, _KEY, _ID, also=("r.key", "r.text"), judge=lambda _, row: row[0] != dedupe.key(row[1]),
            weight="octet_length(r.text)",
        ),
        cure=_set_keys,
    ),
    RowCheck(
        id="duplicates", name="Facts kept twice", what="facts that hold", fault="say what an older one says",
        fix="Repair makes one of two, with the evidence of both; the other stays as history and can be put back.",
        rows=Rows(
            _SOURCE, _KEY, _ID, also=("r.id",), where="r.record = 'fact' AND r.status = 'active'",
            judge=lambda tx, row: _many_of(tx, row[0]) and bool(_twins(tx, row[0])),
        ),
        cure=_combine,
    ),
    RowCheck(
        id="two_values", name="One value at a time", what="facts that hold",
        fault="give another value than an older one that holds as well, where there can be one",
        fix="Open both: supersede, hide or edit the one that does not hold; homed does not decide that.",
        rows=Rows(
            _SOURCE, _KEY, _ID, also=("r.id",), judge=lambda tx, row: _two_values(tx, row),
            where="r.record = 'fact' AND r.status = 'active' AND r.subject IS NOT NULL AND r.relation <> ''",
        ),
    ),
    RowCheck(
        id="superseded_loop", name="Histories that end", what="records with something newer",
        fault="are, by way of others, newer than themselves",
        fix="Repair ends each such history at what was made last; put back what holds.",
        rows=Rows(
            _SOURCE, _KEY, _ID, also=("r.id", "r.superseded_by"), where="r.superseded_by IS NOT NULL",
            judge=lambda tx, row: _loops(tx, row),
        ),
        cure=_break_loops,
    ),
    RowCheck(
        id="superseded_gone", name="What took a record's place", what="records with something newer",
        fault="name something newer that is gone, or another scope's, or hold all the same",
        fix="Repair says no more what followed them.",
        rows=Rows(
            "records r LEFT JOIN records n ON n.id = r.superseded_by", _KEY, _ID,
            "n.id IS NULL OR n.scope <> r.scope OR r.status = 'active'", where="r.superseded_by IS NOT NULL",
        ),
        cure=_end_history,
    ),
    RowCheck(
        id="superseded_hidden", name="Superseded by what is hidden", what="superseded records",
        fault="were superseded by something that is hidden, so that nothing of both is told",
        fix="Put back the older one (undo the supersession), or restore the newer.", status=Status.WARN,
        rows=Rows(
            "records r JOIN records n ON n.id = r.superseded_by", _KEY, _ID, "n.status = 'hidden'",
            where="r.status = 'superseded'",
        ),
    ),
    RowCheck(
        id="revision_numbers", name="Numbers of revisions", what=RECORDS,
        fault="have a history that their number of revisions does not fit",
        fix="Repair counts on from the history; of each the newest 20 steps stay.",
        rows=Rows(
            _SOURCE, _KEY, _ID,
            f"r.revision < 1 OR {_HISTORY.format('max(v.revision) >= r.revision')}"
            f" OR {_HISTORY.format('min(v.revision) < 1')} OR {_HISTORY.format('count(*)')} > {REVISIONS}",
        ),
        cure=_number_on,
    ),
    RowCheck(
        id="revision_gaps", name="Whole histories", what="records with a history",
        fault="lack a step between what they said before and what they say now",
        fix="Nothing brings the step back but a backup; what the record says now is whole.", status=Status.WARN,
        rows=Rows(
            _SOURCE, _KEY, _ID,
            f"{_HISTORY.format('max(v.revision) < r.revision - 1')}"
            f" OR {_HISTORY.format('max(v.revision) - min(v.revision) + 1 > count(*)')}",
            where="EXISTS (SELECT 1 FROM revisions v WHERE v.record = r.id)",
        ),
    ),
    RowCheck(
        id="revision_orphans", name="Histories of nothing", what="revisions", fault="are of a record that is gone",
        fix="Repair removes them, as homed does with a record.",
        rows=Rows(
            "revisions v", ("v.record", "v.revision"), "v.record",
            "NOT EXISTS (SELECT 1 FROM records r WHERE r.id = v.record)", start=("", 0),
        ),
        cure=_drop_orphans,
    ),
    RowCheck(
        id="forgotten_again", name="What was forgotten", what="records that are told",
        fault="say what was forgotten", fix="Repair hides them; forget them for good, or bring them back by hand.",
        rows=Rows(
            _SOURCE, _KEY, _ID, also=("r.id", "r.scope", "r.text", "r.subject", "r.relation", "r.object"),
            judge=_back_again, weight="octet_length(r.text)",
            where="r.status = 'active' AND r.origin <> 'manual'",
        ),
        cure=_hide,
    ),
    RowCheck(
        id="citations", name="How often records were cited", what=RECORDS,
        fault="count other citations than answers made of them", fix="Repair counts them anew.",
        # what was cited before citations were kept, or elsewhere before an import, has more than there are rows
        rows=Rows(
            _SOURCE, _KEY, _ID,
            f"r.cited < {_CITED} OR (r.origin <> 'import' AND r.cited > {_CITED} AND {_CITED} > 0)",
        ),
        cure=_recount,
    ),
    RowCheck(
        id="future", name="Times of records", what=RECORDS, fault="were made, changed or cited in the future",
        fix="The clock was wrong then. Repair sets these times to now, so that nothing counts as newest for ever.",
        rows=lambda room: Rows(
            _SOURCE, _KEY, _ID,
            f"max(r.created_at, r.updated_at, coalesce(r.cited_at, 0)) > {room.now + AHEAD:f}",
        ),
        cure=_to_now,
    ),
)  # fmt: skip
"""In this order."""


def _many_of(tx: Tx, id_: str) -> bool:
    """A quick look whether its key is there more than once at all."""
    found = "SELECT count(*) > 1 FROM records o, records m WHERE m.id = ? AND o.scope = m.scope AND o.key = m.key"
    return bool(tx.value(found, (id_,)))
