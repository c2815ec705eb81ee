"""Change sets as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from homed.errors import Conflict, NotFound
from homed.store.rows import Row, Tx, dumps, loads
from homed.wire.tracked import Change, State, checked_path, state_of

OPEN, DONE, UNTRACKED = "open", "done", "untracked"

UNTRACKED_KEPT = 20
"""Of those that could not be tracked, the newest: they say so, and hold nothing."""

_COLUMNS = (
    "seq, id, at, ended_at, state, plugin, tool, call, turn, thread, scope, peer, folder, undoes, forced, cut, note"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """What one call changed in one folder.  ``undoes``: a roll back's, of that set.  ``cut``: its plugin ended before
    it told, and what was different when it was looked at again is in it."""

    seq: int = 0
    id: str
    at: float
    ended_at: float | None = None
    state: str = OPEN
    plugin: str
    tool: str = ""
    call: str = ""
    turn: str = ""
    thread: str = ""
    scope: str = ""
    peer: str = ""
    folder: bytes
    undoes: str = ""
    forced: bool = False
    cut: bool = False
    note: str = ""


def begin(tx: Tx, set_: ChangeSet) -> None:
    """A set that its plugin works on from now on."""
    tx.execute(
        "INSERT INTO tracker_sets (id, at, state, plugin, tool, call, turn, thread, scope, peer, folder, undoes,"
        " forced) VALUES (?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            set_.id, set_.at, set_.plugin, set_.tool, set_.call, set_.turn, set_.thread, set_.scope, set_.peer,
            set_.folder, set_.undoes, int(set_.forced),
        ),
    )  # fmt: skip


def get(tx: Tx, id_: str) -> ChangeSet:
    """One, by its id or the end of it; NotFound, Conflict when several are meant."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM tracker_sets WHERE id = ?", (id_,))
    if not rows and len(id_) >= 4:
        rows = tx.all(f"SELECT {_COLUMNS} FROM tracker_sets WHERE substr(id, ?) = ? LIMIT 2", (-len(id_), id_))
    if not rows:
        raise NotFound(f"There is no change {id_[:80]}.", hint="`homed tracker list` has those that are kept.")
    if len(rows) > 1:
        raise Conflict(f"Several changes end in {id_}.", hint="Give more of the id.")
    return _from_row(rows[0])


def of_plugin(tx: Tx, id_: str, plugin: str) -> ChangeSet:
    """An open one of this plugin; NotFound for any other."""
    row = tx.one(f"SELECT {_COLUMNS} FROM tracker_sets WHERE id = ? AND plugin = ? AND state = 'open'", (id_, plugin))
    if row is None:
        raise NotFound("There is no such change under way.")
    return _from_row(row)


def open_rollbacks(tx: Tx) -> list[ChangeSet]:
    """Roll backs that were broken off."""
    rows = tx.all(f"SELECT {_COLUMNS} FROM tracker_sets WHERE state = 'open' AND undoes <> '' ORDER BY seq")
    return [_from_row(row) for row in rows]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sets: ``before`` this number; of these scopes (None: all), this thread, this turn."""

    limit: int = 50
    before: int | None = None
    scopes: Collection[str] | None = None
    thread: str = ""
    turn: str = ""


def listed(tx: Tx, wanted: Wanted) -> tuple[list[ChangeSet], bool]:
    """The newest first, and whether there are more."""
    scopes = None if wanted.scopes is None else dumps(sorted(wanted.scopes))
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM tracker_sets WHERE (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR scope IN (SELECT value"
        " FROM json_each(?2))) AND (?3 = '' OR thread = ?3) AND (?4 = '' OR turn = ?4) ORDER BY seq DESC LIMIT ?5",
        (wanted.before, scopes, wanted.thread, wanted.turn, wanted.limit + 1),
    )
    return [_from_row(row) for row in rows[: wanted.limit]], len(rows) > wanted.limit


def counts(tx: Tx, sets: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
    """By set, how many entries were created, changed, deleted."""
    rows = tx.all(
        "SELECT seq, sum(before = ''), sum(before <> '' AND after <> ''), sum(after = '') FROM tracker_files"
        " WHERE seq IN (SELECT value FROM json_each(?)) GROUP BY seq",
        (dumps(list(sets)),),
    )
    return {seq: {"created": made, "changed": changed, "deleted": gone} for seq, made, changed, gone in rows}


def undone_by(tx: Tx, sets: Collection[str]) -> Mapping[str, str]:
    """By set, the newest roll back of it."""
    rows = tx.all(
        "SELECT undoes, id FROM tracker_sets WHERE undoes IN (SELECT value FROM json_each(?)) AND state = 'done'"
        " ORDER BY seq",
        (dumps(sorted(sets)),),
    )
    return dict(rows)


def changes(tx: Tx, seq: int, *, after: int = 0, limit: int = 1_000_000) -> list[Change]:
    """Entries of a set from the one of this number on."""
    rows = tx.all(
        "SELECT path, before, after FROM tracker_files WHERE seq = ? AND number >= ? ORDER BY number LIMIT ?",
        (seq, after, limit),
    )
    return [Change(bytes(path), _state(before), _state(now)) for path, before, now in rows]


def add(tx: Tx, seq: int, found: Sequence[Change], *, at: int) -> None:
    """Entries of an open set, numbered from ``at``; told again they replace what was told."""
    tx.many(
        "INSERT OR REPLACE INTO tracker_files (seq, number, path, before, after, before_hash, after_hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                seq, at + number, checked_path(one.path), _json(one.before), _json(one.after),
                one.before.hash if one.before else "", one.after.hash if one.after else "",
            )
            for number, one in enumerate(found)
        ],
    )  # fmt: skip


def names(tx: Tx, seq: int, hash_: str, *, column: str) -> bool:
    """Whether a set names this content, ``before`` or ``after``."""
    found = tx.value(f"SELECT EXISTS (SELECT 1 FROM tracker_files WHERE seq = ? AND +{column}_hash = ?)", (seq, hash_))
    return bool(found)


def known(tx: Tx, hashes: Collection[str]) -> set[str]:
    """Which of these contents are kept."""
    rows = tx.all(
        "SELECT hash FROM tracker_blobs WHERE hash IN (SELECT value FROM json_each(?))", (dumps(sorted(hashes)),)
    )
    return {hash_ for (hash_,) in rows}


def keep(tx: Tx, hash_: str, size: int, stored: int) -> None:
    """This content is on the disk."""
    tx.execute("INSERT OR REPLACE INTO tracker_blobs (hash, size, stored) VALUES (?, ?, ?)", (hash_, size, stored))


def finish(tx: Tx, set_: ChangeSet, *, at: float, cut: bool, problem: str = "") -> str:
    """End a set: what it is now, ``done`` or ``untracked``; empty, and it is gone, when nothing was changed."""
    empty = not tx.value("SELECT EXISTS (SELECT 1 FROM tracker_files WHERE seq = ?)", (set_.seq,))
    if empty and not problem:
        tx.execute("DELETE FROM tracker_sets WHERE seq = ?", (set_.seq,))
        return ""
    state = UNTRACKED if problem else DONE
    tx.execute(
        "UPDATE tracker_sets SET state = ?, ended_at = ?, cut = ?, note = ? WHERE seq = ?",
        (state, at, int(cut), problem, set_.seq),
    )
    return state


def drop(tx: Tx, seqs: Collection[int]) -> int:
    """Forget sets; how many there were."""
    tx.execute("DELETE FROM tracker_sets WHERE seq IN (SELECT value FROM json_each(?))", (dumps(sorted(seqs)),))
    return tx.changes()


def drop_path(tx: Tx, path: bytes) -> int:
    """Forget one file, or all below a folder, by its absolute path, in every set; how many entries."""
    rows = tx.all("SELECT f.seq, f.number, s.folder, f.path FROM tracker_files f JOIN tracker_sets s USING (seq)")
    full = [(seq, number, bytes(folder).rstrip(b"/") + b"/" + bytes(name)) for seq, number, folder, name in rows]
    path = path.rstrip(b"/")
    gone = [(seq, number) for seq, number, name in full if name == path or name.startswith(path + b"/")]
    tx.many("DELETE FROM tracker_files WHERE seq = ? AND number = ?", gone)
    tx.execute(
        "DELETE FROM tracker_sets WHERE state = 'done' AND NOT EXISTS (SELECT 1 FROM tracker_files f WHERE f.seq ="
        " tracker_sets.seq)"
    )
    return len(gone)


def thin(tx: Tx, *, keep: int, stored: int) -> None:
    """Forget the oldest: all but so many, and more while contents take over ``stored`` bytes."""
    for state, most in ((DONE, keep), (UNTRACKED, UNTRACKED_KEPT)):
        tx.execute(
            "DELETE FROM tracker_sets WHERE seq IN (SELECT seq FROM tracker_sets WHERE state = ? ORDER BY seq DESC"
            " LIMIT -1 OFFSET ?)",
            (state, most),
        )
    while True:
        unneeded(tx)
        if int(tx.value("SELECT coalesce(sum(stored), 0) FROM tracker_blobs")) <= stored:
            return
        oldest = tx.value("SELECT min(seq) FROM tracker_sets WHERE state = 'done'")
        if oldest is None:
            return
        tx.execute("DELETE FROM tracker_sets WHERE seq = ?", (oldest,))


def unneeded(tx: Tx) -> None:
    """Forget contents that no set names."""
    tx.execute(
        "DELETE FROM tracker_blobs WHERE NOT EXISTS (SELECT 1 FROM tracker_files WHERE before_hash = hash AND"
        " before_hash <> '') AND NOT EXISTS (SELECT 1 FROM tracker_files WHERE after_hash = hash AND after_hash <> '')"
    )


def _json(state: State | None) -> str:
    return "" if state is None else dumps(state.wire())


def _state(text: str) -> State | None:
    return state_of(loads(text)) if text else None


def _from_row(row: Row) -> ChangeSet:
    seq, id_, at, ended, state, plugin, tool, call, turn, thread, scope, peer, folder, undoes, forced, cut, note = row
    return ChangeSet(
        seq=seq, id=id_, at=at, ended_at=ended, state=state, plugin=plugin, tool=tool, call=call, turn=turn,
        thread=thread, scope=scope, peer=peer, folder=bytes(folder), undoes=undoes, forced=bool(forced), cut=bool(cut),
        note=note,
    )  # fmt: skip
