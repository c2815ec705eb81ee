"""What a turn left with the agents it made: where they worked at it, and where what they reported was answered.

It goes with the whole of the turn.  A resident agent stays, with its name and what it is for: only what the turn gave
it to do goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from homed.memory.children import ONCE
from homed.store.rows import Tx, dumps

_AMONG = "(SELECT value FROM json_each(?))"
_FRAME = re.compile(r"\[agent ag_[0-9a-f]+\] .*|</?data\b[^<>]*>|`child_result` with .*")
_TOOLS = frozenset({"spawn_child", "child_result", "resident_agents"})


@dataclass(frozen=True, slots=True)
class Left:
    """``threads``: of agents made for a single task, each after those that agents in it made; they go whole.
    ``events``: elsewhere, of what resident agents did for it and of the turns that reports began.  ``turns``: how many
    these are, both together.  ``busy``: some of it is under way, or a report still to come."""

    threads: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    turns: int = 0
    busy: bool = False


def left(tx: Tx, event: str) -> Left:
    """What the turn of an event left, with what was made and given in those turns again."""
    turn = str(tx.value("SELECT turn FROM events WHERE id = ?", (event,)) or "")
    if not turn or tx.value("SELECT 1 FROM child_tasks LIMIT 1") is None:
        return Left()
    seen, todo, busy = {turn}, [turn], False
    threads: dict[str, None] = {}
    lone: set[str] = set()
    while todo:
        given = todo.pop()
        for task, told, child, kind, thread, asker in tx.all(
            "SELECT t.id, t.told, c.id, c.kind, c.thread, t.thread FROM child_tasks t JOIN children c ON c.id = t.child"
            " WHERE t.turn = ? ORDER BY t.rowid",
            (given,),
        ):
            busy = busy or not told
            if kind == ONCE:
                threads |= dict.fromkeys((*below(tx, thread), thread))
            for where, mark in ((thread, f"parent:{task}"), (asker, f"child:{child}")):
                begun, joined = _heard(tx, where, mark, task)
                lone |= joined
                todo += begun - seen
                seen |= begun
    among, within = dumps(sorted(seen - {turn})), dumps(list(threads))
    events = tx.all(f"SELECT id FROM events WHERE turn IN {_AMONG} AND thread NOT IN {_AMONG}", (among, within))
    counted = f"SELECT count(*) FROM turns WHERE id IN {_AMONG} OR thread IN {_AMONG}"
    runs = f"SELECT EXISTS (SELECT 1 FROM inputs WHERE outcome IS NULL AND (turn IN {_AMONG} OR thread IN {_AMONG}))"
    return Left(
        tuple(threads), tuple(sorted(lone | {str(id_) for (id_,) in events})), int(tx.value(counted, (among, within))),
        busy or bool(tx.value(runs, (among, within))),
    )  # fmt: skip


def below(tx: Tx, thread: str) -> list[str]:
    """Conversations of agents that were made in one, and in theirs; the deepest first."""
    found: list[str] = []
    for (one,) in tx.all("SELECT thread FROM children WHERE parent = ? ORDER BY rowid", (thread,)):
        found += (*below(tx, str(one)), str(one))
    return found


def briefs(tx: Tx, thread: str) -> list[str]:
    """What the agent of a conversation is for."""
    return [str(brief) for (brief,) in tx.all("SELECT brief FROM children WHERE thread = ?", (thread,))]


def words(text: str, data: Mapping[str, object]) -> str:
    """What of an event is somebody's words: without what homed puts around the report of an agent, and without the ids
    that its tools give.  Other reports of the same agent have those too, and they say nothing."""
    if str(data.get("mark", "")).startswith("child:"):
        return "\n".join(line for line in text.splitlines() if not _FRAME.fullmatch(line.strip()))
    if data.get("name") not in _TOOLS:
        return text
    try:
        given = json.loads(text)
    except ValueError:
        return text
    said = (part for part in given.values() if isinstance(part, str)) if isinstance(given, dict) else (text,)
    return "\n".join(part for part in said if not part.isidentifier())


def _heard(tx: Tx, thread: str, mark: str, task: str) -> tuple[set[str], set[str]]:
    """Turns that messages of this mark and task began; and events of those that were put into a turn of others."""
    begun: set[str] = set()
    joined: set[str] = set()
    for input_, turn, its in tx.all(
        "SELECT i.id, i.turn, t.input FROM inputs i LEFT JOIN turns t ON t.id = i.turn WHERE i.thread = ?1"
        " AND i.mark = ?2 AND i.turn <> '' AND substr(i.client_msg_id, -length(?3) - 1) = ':' || ?3",
        (thread, mark, task),
    ):
        if its == input_:
            begun.add(str(turn))
        else:
            rows = tx.all("SELECT id FROM events WHERE turn = ? AND data ->> 'input' = ?", (turn, input_))
            joined |= {str(id_) for (id_,) in rows}
    return begun, joined
