"""Inputs in their table: accepted before any work, begun, and ended exactly once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields, replace

from homed.clock import new_id
from homed.errors import Conflict, InvalidInput, NotFound
from homed.memory import cold, events, ledger, threads
from homed.memory.records import Event, Input, InputState, NewEvent, NewInput, Outcome
from homed.store.rows import Row, Tx, dumps, loads

_FIELDS = tuple(field.name for field in fields(Input))
_COLUMNS = ", ".join(_FIELDS)
_BEYOND = 2**63 - 1  # no event has a higher seq


def accept(tx: Tx, new: NewInput, *, at: float) -> tuple[Input, bool]:
    """Store an input and return it with False; or with True the earlier one of the same ``client_msg_id``.

    The same means: of the same channel and peer.  Raises NotFound when its thread is not there.  Durable once the
    transaction is committed.
    """
    if new.client_msg_id and (before := sent_before(tx, new.channel, new.peer, new.client_msg_id)) is not None:
        return before, True
    threads.touch(tx, new.thread, at=at)
    row = tx.one(
        "INSERT INTO inputs (id, thread, scope, channel, peer, role, text, client_msg_id, no_memory, can_ask,"
        " untrusted, level, mark, project, accepted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        f" RETURNING {_COLUMNS}",
        (
            new_id("in"), new.thread, new.scope, new.channel, new.peer, new.role, new.text, new.client_msg_id,
            int(new.no_memory), int(new.can_ask), int(new.untrusted), new.level, new.mark, new.project, at,
        ),
    )  # fmt: skip
    assert row is not None
    return _from_row(row), False


def sent_before(tx: Tx, channel: str, peer: str, client_msg_id: str) -> Input | None:
    """The input that was accepted with this id of its sender's."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM inputs WHERE channel = ? AND peer = ? AND client_msg_id = ?",
        (channel, peer, client_msg_id),
    )
    return None if row is None else _from_row(row)


def get(tx: Tx, input_id: str) -> Input | None:
    """The input, or None."""
    row = tx.one(f"SELECT {_COLUMNS} FROM inputs WHERE id = ?", (input_id,))
    return None if row is None else _from_row(row)


def project_of(tx: Tx, turn: str) -> str:
    """The project that a turn works in, by its key; '' for none."""
    return str(tx.value("SELECT project FROM inputs WHERE id = (SELECT input FROM turns WHERE id = ?)", (turn,)) or "")


def unfinished(tx: Tx) -> list[Input]:
    """Every input without an outcome, oldest first: what a start must resume or report.

    Without those that were put into the turn of another one: they go on, and end, with that.
    """
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM inputs WHERE outcome IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = inputs.turn AND t.input <> inputs.id) ORDER BY seq"
    )
    return [_from_row(row) for row in rows]


def joined(tx: Tx, turn: str) -> list[Input]:
    """What was put into a turn that another input began and that has not ended, oldest first."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM inputs WHERE outcome IS NULL AND turn = ?1"
        " AND id <> (SELECT input FROM turns WHERE id = ?1) ORDER BY seq",
        (turn,),
    )
    return [_from_row(row) for row in rows]


def last_ended(tx: Tx, scope: str) -> Input | None:
    """The last input of a scope's conversations that has its outcome."""
    rows = tx.all(
        "SELECT (SELECT max(seq) FROM inputs i WHERE i.thread = t.id AND i.outcome IS NOT NULL AND i.turn <> '')"
        " FROM threads t WHERE t.scope = ? ORDER BY t.updated_at DESC LIMIT 8",
        (scope,),
    )
    newest = max((row[0] for row in rows if row[0] is not None), default=None)
    row = None if newest is None else tx.one(f"SELECT {_COLUMNS} FROM inputs WHERE seq = ?", (newest,))
    return None if row is None else _from_row(row)


def begin(tx: Tx, input_id: str, *, turn: str, at: float) -> Input:
    """A run of it begins: RUNNING, one attempt more.  The first run gives it ``turn``; a later one keeps the first's.

    Raises Conflict when it has ended already, NotFound when it is not there.
    """
    before = _open(tx, input_id)
    tx.execute(
        "UPDATE inputs SET state = 'running', attempts = attempts + 1, turn = ? WHERE id = ?",
        (before.turn or turn, input_id),
    )
    if not before.turn:
        tx.execute(
            "INSERT INTO turns (id, thread, input, started_at, state) VALUES (?, ?, ?, ?, 'running')",
            (turn, before.thread, input_id, at),
        )
    return _existing(tx, input_id)


def join(tx: Tx, input_id: str, *, turn: str) -> Input:
    """It goes into a turn that runs, and ends with that one: RUNNING.  Raises Conflict when it has ended, NotFound."""
    _open(tx, input_id)
    tx.execute("UPDATE inputs SET state = 'running', attempts = attempts + 1, turn = ? WHERE id = ?", (turn, input_id))
    return _existing(tx, input_id)


def replace_text(tx: Tx, input_id: str, text: str) -> None:
    """Put what ``on_input`` left in the place of what came.  Raises Conflict when it has ended, NotFound."""
    _open(tx, input_id)
    tx.execute("UPDATE inputs SET text = ? WHERE id = ?", (text, input_id))


def finish(
    tx: Tx, input_id: str, outcome: Outcome, new: Sequence[NewEvent], *, at: float, no_memory: bool = False
) -> list[Event]:
    """Store the last events of the turn, the one outcome and the end of the turn together, and return those events.

    Raises Conflict when it has ended already (whatever the second outcome is), NotFound, and InvalidInput when the
    outcome's state is not terminal.  A no_memory event is archived here: it never reaches a later prompt.  With
    ``no_memory`` that is every event of the turn, also those stored before anybody said so.  What was put into the turn
    ends with the same outcome.  Answered, and only then: the cold events that the turn looked at are back in the
    window.
    """
    if not outcome.state.terminal:
        raise InvalidInput(f"{outcome.state.value} is not an end.")
    before = _open(tx, input_id)
    marked = [replace(event, no_memory=event.no_memory or no_memory) for event in new]
    stored = [events.append(tx, before, event, at=at) for event in marked]
    tx.execute(
        "UPDATE inputs SET state = ?, outcome = ?, ended_at = ? WHERE id = ?",
        (outcome.state.value, _outcome_json(outcome), at, input_id),
    )
    if before.turn:
        tx.execute(
            "UPDATE inputs SET state = ?1, outcome = ?2, ended_at = ?3 WHERE turn = ?4 AND outcome IS NULL"
            " AND EXISTS (SELECT 1 FROM turns t WHERE t.id = ?4 AND t.input = ?5)",
            (outcome.state.value, _outcome_json(outcome), at, before.turn, input_id),
        )
    tx.execute(
        "UPDATE turns SET ended_at = ?, state = ?, usage = ? WHERE id = ?",
        (at, outcome.state.value, dumps(dict(outcome.usage)), before.turn),
    )
    tx.execute(
        "UPDATE events SET layer = 'archived', no_memory = 1"
        " WHERE thread = ? AND turn = ? AND (no_memory = 1 OR ?) AND layer = 'context'",
        (before.thread, before.turn, int(no_memory)),
    )
    threads.touch(tx, before.thread, at=at)
    if outcome.state is InputState.ANSWERED:
        _bring_back(tx, before, at)
    return [replace(event, layer="archived") if event.no_memory else event for event in stored]


def _bring_back(tx: Tx, given: Input, at: float) -> None:
    """What the answered turn looked at comes back into the window, and the record says which another had brought."""
    there, back = cold.there(tx, given.turn), cold.confirm(tx, given.turn)
    if back or there:
        ledger.record(tx, given, "confirm", {"back": back, **({"there": there} if there else {})}, at=at)


def ended_before(tx: Tx, turns: Collection[str], *, before: int | None) -> list[Input]:
    """Of these turns, the inputs of those that have ended with no event at ``before`` or after it; oldest first.

    For a page of history that goes up to ``before``: a turn that reaches into the next page ends there.
    """
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM inputs WHERE outcome IS NOT NULL"
        " AND id IN (SELECT input FROM turns WHERE id IN (SELECT value FROM json_each(?)))"
        " AND NOT EXISTS (SELECT 1 FROM events WHERE events.turn = inputs.turn AND events.seq >= ?) ORDER BY seq",
        (dumps(sorted(turns)), _BEYOND if before is None else before),
    )
    return [_from_row(row) for row in rows]


def _open(tx: Tx, input_id: str) -> Input:
    found = _existing(tx, input_id)
    if found.state.terminal:
        raise Conflict(f"Input {input_id} has already ended: {found.state.value}.", detail={"state": found.state.value})
    return found


def _existing(tx: Tx, input_id: str) -> Input:
    found = get(tx, input_id)
    if found is None:
        raise _not_found(input_id)
    return found


def _not_found(input_id: str) -> NotFound:
    return NotFound(f"There is no input {input_id}.")


def _outcome_json(outcome: Outcome) -> str:
    return dumps({**asdict(outcome), "state": outcome.state.value})


def _outcome(text: str | None) -> Outcome | None:
    found = loads(text)
    return None if found is None else Outcome(**{**found, "state": InputState(found["state"])})


def _from_row(row: Row) -> Input:
    found = dict(zip(_FIELDS, row, strict=True))
    for flag in ("no_memory", "can_ask", "untrusted"):
        found[flag] = bool(found[flag])
    found["state"], found["outcome"] = InputState(found["state"]), _outcome(found["outcome"])
    return Input(**found)
