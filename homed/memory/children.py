"""Agents that agents make, and what they were given to do, in their tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from homed.memory import inputs, threads
from homed.memory.records import Input
from homed.memory.temporary import Front, scope_of
from homed.store.rows import Row, Tx, dumps, loads

Kind = Literal["once", "resident"]

ONCE: Kind = "once"
RESIDENT: Kind = "resident"

_COLUMNS = (
    "id, kind, name, brief, thread, parent, parent_scope, root_scope, depth, peer, role, channel, untrusted, no_memory,"
    " can_ask, rounds, may, created_at"
)
_TASK = "t.id, t.child, t.thread, t.turn, t.scope, t.front, t.front_turn, t.front_scope, t.created_at"


@dataclass(frozen=True, slots=True)
class May:
    """What an agent was given.  None: everything that its maker may.

    ``tools`` and ``outputs`` by name; ``inputs``: PLUGIN, or PLUGIN:PEER, whose messages go to it; ``behalf``: channel
    and peer of those for whom it was made, whose rules bind it.
    """

    tools: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    inputs: tuple[str, ...] = ()
    behalf: tuple[tuple[str, str], ...] = ()

    def json(self) -> str:
        """As stored."""
        given = {"tools": _listed(self.tools), "outputs": _listed(self.outputs)}
        return dumps({**given, "inputs": list(self.inputs), "behalf": [list(one) for one in self.behalf]})

    @classmethod
    def of(cls, text: str) -> May:
        """From the table."""
        found: Mapping[str, Any] = loads(text) or {}
        behalf = tuple((str(channel), str(peer)) for channel, peer in found.get("behalf", ()))
        return cls(_set(found.get("tools")), _set(found.get("outputs")), tuple(found.get("inputs", ())), behalf)


@dataclass(frozen=True, slots=True)
class Child:
    """An agent.  ``thread`` is its own conversation, ``parent`` the one it was made in; ``rounds`` of tool calls in one
    of its turns; ``depth`` 1 was made in a person's conversation; ``role`` of the least of those it works for."""

    id: str
    kind: str
    name: str
    brief: str
    thread: str
    parent: str
    parent_scope: str
    root_scope: str
    depth: int
    peer: str
    role: str
    channel: str
    untrusted: bool
    no_memory: bool
    can_ask: bool
    rounds: int
    may: May
    created_at: float

    @property
    def scope(self) -> str:
        """Its own."""
        return scope_of(self.id)


@dataclass(frozen=True, slots=True)
class ChildTask:
    """Something it was given to do, in the ``turn`` of a ``thread`` of ``scope``."""

    id: str
    child: str
    thread: str
    turn: str
    scope: str
    front: Front
    created_at: float


@dataclass(frozen=True, slots=True)
class Rows:
    """What a temporary scope holds: ``auto`` rows, kept as its turns happened, in view and cold; ``own`` ones, which
    the agent itself kept; ``tokens`` of what is in view."""

    auto: int
    cold: int
    own: int
    tokens: int


def any_(tx: Tx) -> bool:
    """Whether there is an agent at all."""
    return tx.value("SELECT 1 FROM children LIMIT 1") is not None


def add(tx: Tx, child: Child) -> Child:
    """Store one and open its conversation; as it is stored, with its thread."""
    thread = threads.create(tx, scope=child.scope, channel=child.channel, title=child.name, at=child.created_at)
    tx.execute(
        f"INSERT INTO children ({_COLUMNS}, scope) VALUES ({', '.join('?' * 19)})",
        (
            child.id, child.kind, child.name, child.brief, thread.id, child.parent, child.parent_scope,
            child.root_scope, child.depth, child.peer, child.role, child.channel, int(child.untrusted),
            int(child.no_memory), int(child.can_ask), child.rounds, child.may.json(), child.created_at, child.scope,
        ),
    )  # fmt: skip
    stored = get(tx, child.id)
    assert stored is not None
    return stored


def get(tx: Tx, id_: str) -> Child | None:
    """One, or None."""
    row = tx.one(f"SELECT {_COLUMNS} FROM children WHERE id = ?", (id_,))
    return None if row is None else _child(row)


def all_(tx: Tx) -> list[Child]:
    """Those whose conversation is there, oldest first."""
    named = ", ".join(f"c.{name}" for name in _COLUMNS.split(", "))
    return [
        _child(row)
        for row in tx.all(
            f"SELECT {named} FROM children c JOIN threads t ON t.id = c.thread AND t.scope = c.scope ORDER BY c.rowid"
        )
    ]


def parentless(tx: Tx) -> list[str]:
    """Ids of those whose parent's conversation is gone, or is being removed."""
    rows = tx.all(
        "SELECT c.id FROM children c LEFT JOIN threads p ON p.id = c.parent AND p.scope = c.parent_scope"
        " WHERE p.id IS NULL"
    )
    return [str(id_) for (id_,) in rows]


def give(tx: Tx, task: ChildTask) -> None:
    """Store what it is given to do, before its message."""
    tx.execute(
        "INSERT INTO child_tasks (id, child, thread, turn, scope, front, front_turn, front_scope, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            task.id, task.child, task.thread, task.turn, task.scope, task.front.thread, task.front.turn,
            task.front.scope, task.created_at,
        ),
    )  # fmt: skip


def tell(tx: Tx, task: str) -> None:
    """What came of it reached whoever gave it."""
    tx.execute("UPDATE child_tasks SET told = 1 WHERE id = ?", (task,))


def untold(tx: Tx) -> list[ChildTask]:
    """What is still owed, oldest first."""
    return [_task(row) for row in tx.all(f"SELECT {_TASK} FROM child_tasks t WHERE t.told = 0 ORDER BY t.rowid")]


def tasks_of(tx: Tx, child: str) -> list[ChildTask]:
    """Everything it was given to do, oldest first."""
    rows_ = tx.all(f"SELECT {_TASK} FROM child_tasks t WHERE t.child = ? ORDER BY t.rowid", (child,))
    return [_task(row) for row in rows_]


def input_of(tx: Tx, thread: str, mark: str) -> Input | None:
    """The input of an agent's conversation that this raised; None if it never came."""
    row = tx.one("SELECT id FROM inputs WHERE thread = ? AND mark = ?", (thread, mark))
    return None if row is None else inputs.get(tx, row[0])


SHOWN = 8
"""Tool calls of a task that a page shows, the newest."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is.  ``state``: of its input, '' where that never came; ``tools``: the newest calls, name and
    status; ``count`` of all."""

    task: ChildTask
    child: Child
    state: str
    error: str
    count: int
    tools: tuple[tuple[str, str], ...]


def progress(tx: Tx, front: str, turns: Collection[str]) -> list[Progress]:
    """What was given to agents in these turns of a conversation, oldest first."""
    rows_ = tx.all(
        f"SELECT {_TASK} FROM child_tasks t WHERE t.front = ? AND t.front_turn IN (SELECT value FROM json_each(?))"
        " ORDER BY t.rowid",
        (front, dumps(sorted(turns))),
    )
    found = []
    for task in map(_task, rows_):
        child = get(tx, task.child)
        if child is not None:
            given = input_of(tx, child.thread, f"parent:{task.id}")
            found.append(_progress(tx, task, child, given))
    return found


def _progress(tx: Tx, task: ChildTask, child: Child, given: Input | None) -> Progress:
    if given is None:
        return Progress(task, child, "", "", 0, ())
    called = tx.all(
        "SELECT data ->> 'name', data ->> 'status' FROM events WHERE turn = ? AND turn <> '' AND kind = 'tool'"
        " ORDER BY seq",
        (given.turn,),
    )
    error = given.outcome.error if given.outcome else ""
    tools = tuple((str(name), str(status)) for name, status in called[-SHOWN:])
    return Progress(task, child, given.state.value, error, len(called), tools)


def unfinished(tx: Tx, kind: Kind) -> list[Input]:
    """Inputs of agents of this kind that have no outcome yet, oldest first; as ``inputs.unfinished``."""
    theirs = {str(thread) for (thread,) in tx.all("SELECT thread FROM children WHERE kind = ?", (kind,))}
    return [given for given in inputs.unfinished(tx) if given.thread in theirs]


def rows(tx: Tx, child: Child) -> Rows:
    """What its scope holds now."""
    scope = child.scope
    counted = tx.one(
        "SELECT count(*) FILTER (WHERE layer = 'context'), count(*) FILTER (WHERE layer = 'cold'),"
        " total(tokens) FILTER (WHERE layer = 'context') FROM events WHERE scope = ? AND no_memory = 0",
        (scope,),
    )
    assert counted is not None
    own = tx.value("SELECT count(*) FROM records WHERE scope = ? AND status = 'active'", (scope,))
    return Rows(int(counted[0]), int(counted[1]), int(own), int(counted[2] or 0))


def clear(tx: Tx, child: Child) -> int:
    """Take its auto rows out of its window and the cold layer, but for those of turns that run; how many.

    They stay as evidence of what it kept itself, which nothing shows and no search finds, and go with the agent.
    """
    tx.execute(
        "UPDATE events SET layer = 'archived' WHERE scope = ? AND thread = ? AND layer IN ('context', 'cold')"
        " AND turn IN (SELECT id FROM turns WHERE ended_at IS NOT NULL)",
        (child.scope, child.thread),
    )
    return tx.changes()


def old(tx: Tx, parent: str, keep: int, running: Collection[str]) -> list[str]:
    """Ids of one-shot agents of a conversation beyond the newest ``keep``; none that runs."""
    rows_ = tx.all(
        "SELECT id FROM children WHERE parent = ? AND kind = 'once' AND id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY rowid DESC LIMIT -1 OFFSET ?",
        (parent, dumps(sorted(running)), keep),
    )
    return [str(id_) for (id_,) in rows_]


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _set(names: object) -> frozenset[str] | None:
    return frozenset(map(str, names)) if isinstance(names, list) else None


def _child(row: Row) -> Child:
    found: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    for flag in ("untrusted", "no_memory", "can_ask"):
        found[flag] = bool(found[flag])
    found["may"] = May.of(found["may"])
    return Child(**found)


def _task(row: Row) -> ChildTask:
    id_, child, thread, turn, scope, *front, created_at = row
    return ChildTask(id_, child, thread, turn, scope, Front(*front), created_at)
