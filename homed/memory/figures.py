"""How much is remembered, and how it stands: counts, from indexes and small tables alone.

No text is read, so that a hundred thousand events are counted in some 50 ms by a reader, and no writer waits.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from homed.memory import browse
from homed.memory.passes import JOB, gates, written
from homed.store.rows import Tx, dumps, loads

WEEK = 7 * 86_400.0
NEWEST = 10
"""Revisions that are named, and runs of jobs."""

LAYERS = ("context", "cold", "archived")

_AMONG = "(SELECT value FROM json_each(?))"


def records(tx: Tx, scopes: Collection[str]) -> dict[str, object]:
    """Records by what they are, how they stand, and where those that hold come from."""
    rows = tx.all(
        "SELECT record, kind, status, reach, count(*), sum(untrusted), sum(recheck) FROM records"
        f" WHERE scope IN {_AMONG} GROUP BY record, kind, status, reach",
        (dumps(sorted(scopes)),),
    )
    found: dict[str, dict[str, int]] = {"record": {}, "kind": {}, "status": {}, "reach": {}}
    untrusted = rechecked = 0
    for record, kind, status, reach, count, doubted, looked_at in rows:
        _add(found["status"], status, count)
        if status == "active":
            for name, value in (("record", record), ("kind", kind), ("reach", reach)):
                _add(found[name], value, count)
            untrusted, rechecked = untrusted + doubted, rechecked + looked_at
    total = sum(found["status"].values())
    return {"total": total, **found, "untrusted": untrusted, "recheck": rechecked, "evidence": _coverage(tx, scopes)}


def _coverage(tx: Tx, scopes: Collection[str]) -> dict[str, int]:
    """Of those that hold: how many come from where."""
    case = " ".join(f"WHEN {sql} THEN '{name}'" for name, sql in browse.MARKED.items())
    rows = tx.all(
        f"SELECT CASE {case} END, count(*) FROM records WHERE scope IN {_AMONG} AND status = 'active' GROUP BY 1",
        (dumps(sorted(scopes)),),
    )
    return {**dict.fromkeys(browse.MARKED, 0), **{name: count for name, count in rows if name}}


def layers(tx: Tx, scopes: Collection[str]) -> dict[str, dict[str, int]]:
    """Events, their tokens and their files by layer.  Of the layer ``stable`` are files of archived events."""
    found = {layer: {"events": 0, "tokens": 0, "files": 0, "bytes": 0} for layer in LAYERS}
    for scope in scopes:  # one by one: they are counted in the order of the index then, ten times faster than sorted
        for layer, events, tokens in tx.all(
            "SELECT layer, count(*), sum(tokens) FROM events WHERE scope = ? GROUP BY layer", (scope,)
        ):
            _add(found[layer], "events", events)
            _add(found[layer], "tokens", tokens)
    for holder, files, size in tx.all(
        "SELECT b.holder_layer, count(*), sum(b.bytes) FROM blocks b CROSS JOIN events e ON e.id = b.event"
        f" WHERE e.scope IN {_AMONG} GROUP BY b.holder_layer",  # from the few to the many
        (dumps(sorted(scopes)),),
    ):
        found["archived" if holder == "stable" else holder] |= {"files": files, "bytes": size}
    return found


def graph(tx: Tx, scopes: Collection[str]) -> dict[str, int]:
    """Entities, the facts that hold between them, and entities that may be one."""
    listed = dumps(sorted(scopes))
    entities = tx.value(f"SELECT count(*) FROM entities WHERE scope IN {_AMONG}", (listed,))
    edges = tx.value(
        f"SELECT count(*) FROM records WHERE scope IN {_AMONG} AND record = 'fact' AND status = 'active'"
        " AND subject IS NOT NULL AND relation <> ''",
        (listed,),
    )
    merges = tx.value(f"SELECT count(*) FROM merges WHERE scope IN {_AMONG} AND state = 'open'", (listed,))
    return {"entities": int(entities), "edges": int(edges), "merges": int(merges)}


def use(tx: Tx, scopes: Collection[str], now: float) -> dict[str, object]:
    """What answers cited and turns were told; of the last seven days besides, and day by day where we are."""
    listed = dumps(sorted(scopes))
    cited, records_ = tx.all(
        f"SELECT coalesce(sum(cited), 0), coalesce(sum(cited > 0), 0) FROM records WHERE scope IN {_AMONG}", (listed,)
    )[0]
    modes = tx.all(
        f"SELECT mode, count(*), sum(chars), max(ms) FROM injections WHERE scope IN {_AMONG} AND at >= ? GROUP BY mode",
        (listed, now - WEEK),
    )
    days: dict[str, int] = dict(
        tx.all(
            f"SELECT date(at, 'unixepoch', 'localtime'), count(*) FROM injections WHERE scope IN {_AMONG} AND at >= ?"
            " GROUP BY 1",
            (listed, now - WEEK),
        )
    )
    week: dict[str, object] = {
        "turns": sum(count for _, count, _, _ in modes), "chars": sum(chars for _, _, chars, _ in modes),
        "modes": {mode: count for mode, count, _, _ in modes},
        "slowest_ms": max((ms for *_, ms in modes), default=0.0), "days": days,
    }  # fmt: skip
    recent = tx.value(
        f"SELECT count(*) FROM citations c JOIN records r ON r.id = c.record WHERE r.scope IN {_AMONG} AND c.at >= ?",
        (listed, now - WEEK),
    )
    return {"citations": {"total": cited, "records": records_, "week": int(recent)}, "injections": week}


def newest_revisions(tx: Tx, scopes: Collection[str]) -> list[dict[str, object]]:
    """The records that were changed last, with why; no texts."""
    rows = tx.all(
        "SELECT r.id, r.record, r.kind, r.revision, r.updated_at, v.why FROM records r"
        " JOIN revisions v ON v.record = r.id AND v.revision = r.revision - 1"
        f" WHERE r.scope IN {_AMONG} AND r.status <> 'hidden' ORDER BY r.updated_at DESC LIMIT ?",
        (dumps(sorted(scopes)), NEWEST),
    )
    names = ("id", "record", "kind", "revision", "at", "why")
    return [dict(zip(names, row, strict=True)) for row in rows]


def passes(tx: Tx, scopes: Collection[str]) -> dict[str, object]:
    """Turns that something is still to be made of, and what was stopped at which gate since the beginning."""
    listed = dumps(sorted(scopes))
    waiting, oldest = tx.all(
        f"SELECT count(*), min(p.at) FROM passes p JOIN threads h ON h.id = p.thread WHERE h.scope IN {_AMONG}",
        (listed,),
    )[0]
    stopped = gates(tx, scopes)
    blocked = sum(count for gate, count in stopped.items() if gate.split(":")[0] == "secret")
    return {"waiting": waiting, "oldest": oldest, "gates": stopped, "blocked": blocked}


def unread(tx: Tx, scopes: Collection[str]) -> dict[str, object]:
    """Turns that no pass has read, and when the job that reads them is due at the latest (UTC seconds; a turn that ends
    wakes it before).  ``due`` None while it is ``paused``, or was never planned yet; ``held``: left alone after
    failures."""
    waiting, held = tx.all(
        "SELECT count(*), coalesce(sum(EXISTS (SELECT 1 FROM job_units u WHERE u.job = ? AND u.unit = p.turn AND"
        f" u.held = 1)), 0) FROM passes p JOIN threads h ON h.id = p.thread WHERE p.told = 0 AND h.scope IN {_AMONG}",
        (JOB, dumps(sorted(scopes))),
    )[0]
    return {"count": int(waiting), "held": int(held), **due(tx)}


def of_turn(tx: Tx, scopes: Collection[str], turn: str) -> dict[str, object] | None:
    """What is made of one turn: ``state`` and ``records`` as ``passes.written`` has them, and when more may come; None
    for one of another scope, or that runs still."""
    own = f"SELECT t.ended_at FROM turns t JOIN threads h ON h.id = t.thread WHERE t.id = ? AND h.scope IN {_AMONG}"
    if tx.value(own, (turn, dumps(sorted(scopes)))) is None:
        return None
    made = written(tx, turn)
    open_ = made.state in ("waiting", "told")
    return {
        "turn": turn, "state": made.state, "records": {kind: list(ids) for kind, ids in made.records.items()},
        **(due(tx) if open_ else {"due": None, "paused": False}),
    }  # fmt: skip


def due(tx: Tx) -> dict[str, object]:
    """When turns are read next at the latest."""
    row = tx.one("SELECT due_at, paused FROM jobs WHERE name = ?", (JOB,))
    paused = row is not None and bool(row[1])
    return {"due": None if row is None or paused else float(row[0]), "paused": paused}


def runs(tx: Tx, jobs: Collection[str]) -> list[dict[str, object]]:
    """The last runs of these jobs, the newest first: counts and reasons, never what was remembered."""
    rows = tx.all(
        "SELECT job, started_at, ended_at, state, seen, made, drops, errors, error FROM job_runs"
        f" WHERE job IN {_AMONG} ORDER BY id DESC LIMIT ?",
        (dumps(sorted(jobs)), NEWEST),
    )
    names = ("job", "started_at", "ended_at", "state", "seen", "made", "drops", "errors", "error")
    found: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
    return [{**one, "drops": loads(one["drops"]) or {}} for one in found]


def vectors(tx: Tx, fingerprint: str) -> dict[str, object]:
    """Of everything that is to have vectors, by kind: how many have one in this space, wait, and were given up.

    Of all scopes: an index is of all.
    """
    space = tx.value("SELECT id FROM vector_spaces WHERE fingerprint = ?", (fingerprint,))
    number = -1 if space is None else space
    have = tx.all(  # in the order of an index that has all of it: no vector is read
        "SELECT kind, count(DISTINCT item) FROM vectors WHERE kind IN ('event', 'block', 'record', 'entity')"
        " AND +space = ? GROUP BY kind",
        (number,),
    )
    kinds = {kind: {"have": 0, "waiting": 0, "failed": 0} for kind in ("event", "record", "entity", "block")}
    for kind, count in have:
        kinds[kind]["have"] = count
    for kind, waiting, failed in tx.all(
        "SELECT kind, sum(failures < 5), sum(failures >= 5) FROM vector_todo GROUP BY kind"
    ):
        kinds[kind] |= {"waiting": waiting, "failed": failed}
    spaces = tx.all("SELECT space, count(*) FROM vectors GROUP BY space")
    foreign = sum(count for of, count in spaces if of != number)
    return {"kinds": kinds, "foreign": foreign}


def by_scope(tx: Tx) -> list[dict[str, object]]:
    """How much each scope has, the largest first; for owners, who see counts of others and no words."""
    rows = tx.all(
        "SELECT scope, sum(records), sum(events) FROM (SELECT scope, count(*) AS records, 0 AS events FROM records"
        " GROUP BY scope UNION ALL SELECT scope, 0, count(*) FROM events GROUP BY scope) WHERE scope <> ''"
        " GROUP BY scope ORDER BY 2 DESC, 3 DESC LIMIT 100"
    )
    return [{"scope": scope, "records": records_, "events": events} for scope, records_, events in rows]


def media_bytes(tx: Tx) -> int:
    """Bytes of all attachments, each once."""
    return int(tx.value("SELECT coalesce(sum(bytes), 0) FROM (SELECT max(bytes) AS bytes FROM blocks GROUP BY hash)"))


def _add(counts: dict[str, int], name: str, count: int) -> None:
    counts[name] = counts.get(name, 0) + count
