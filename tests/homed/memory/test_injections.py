"""The ledger of injections: written with its turn, read by turn, record and scope, gone with its turn, never text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import apsw
import pytest

from homed.errors import StorageError
from homed.memory import forget, injections, inputs, removal, threads
from homed.memory.injections import Injection, Line
from homed.memory.records import EventKind, Input, InputState, NewEvent, Outcome, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import new_input

FACT = Line("fact_0000000011111111", "fact", 2, "immediate", "hit", 0.512345, 0.6, "source", 60, shortened=True)
COLD = Line("ev_1", "event", 0, "working", "cold", 0.2, 0.2, "", 90)


def begun(tx: Tx, thread: Thread, name: str, text: str = "Where does Ida live?", **more: Any) -> Input:
    accepted, _ = inputs.accept(tx, new_input(thread, text, **more), at=1.0)
    return inputs.begin(tx, accepted.id, turn=name, at=1.0)


def told(given: Input, *lines: Line, at: float = 5.0, **more: Any) -> Injection:
    row = Injection(given.turn, given.scope, given.thread, at, "hit", 300, 12.345, lines=lines or (FACT, COLD))
    return replace(row, **more)


def test_a_row_comes_back_as_it_was_written_line_by_line(tx: Tx, thread: Thread) -> None:
    given = begun(tx, thread, "t1")
    full = told(given, late=("vector",), below=3, cut=1, channels={"words": 1})
    assert injections.record(tx, full)
    (row,) = injections.of_turn(tx, "t1")
    assert row == replace(full, seq=row.seq, ms=12.35, lines=(replace(FACT, score=0.5123), COLD))
    assert row.seq > 0
    assert row.counts == {"fact": 1, "event": 1}
    assert injections.of_turn(tx, "t2") == []


def test_nothing_told_is_no_row_and_the_same_again_is_no_second_one(tx: Tx, thread: Thread) -> None:
    """A turn that makes room selects anew: only what it was told besides is a row of its own."""
    given = begun(tx, thread, "t1")
    assert not injections.record(tx, replace(told(given), lines=()))
    assert injections.record(tx, told(given, COLD))
    assert not injections.record(tx, told(given, COLD, at=6.0))
    assert injections.record(tx, told(given, FACT, at=7.0))
    assert not injections.record(tx, told(given, replace(FACT, score=0.7, chars=20), at=8.0)), "the very same record"
    assert [one.at for one in injections.of_turn(tx, "t1")] == [5.0, 7.0]
    assert injections.of_turns(tx, ["t1", "t9"])["t1"].at == 7.0


def test_it_is_found_by_record_and_by_scope_newest_first_page_by_page(tx: Tx, thread: Thread) -> None:
    other = threads.create(tx, scope="guest:x", channel="cli", title="", at=1.0)
    for number in range(5):
        injections.record(tx, told(begun(tx, thread, f"t{number}")))
    injections.record(tx, told(begun(tx, other, "theirs")))
    first = injections.of_scopes(tx, ["owner"], limit=3)
    assert [one.turn for one in first] == ["t4", "t3", "t2"]
    rest = injections.of_scopes(tx, ["owner"], limit=3, before=first[-1].seq)
    assert [one.turn for one in rest] == ["t1", "t0"]
    assert [one.turn for one in injections.of_scopes(tx, ["owner"], thread=other.id)] == [], "B14"
    assert [one.turn for one in injections.of_scopes(tx, ["guest:x"])] == ["theirs"]
    by_record = injections.of_record(tx, FACT.id, limit=2)
    assert [one.turn for one in by_record] == ["theirs", "t4"]
    assert by_record[0].lines[1].id == "ev_1", "with all of its lines"
    assert injections.of_record(tx, FACT.id, before=by_record[-1].seq)[0].turn == "t3"
    assert [one.turn for one in injections.by_seq(tx, [first[0].seq])] == ["t4"]


def test_the_question_is_the_turns_input_and_is_kept_nowhere_else(tx: Tx, db: apsw.Connection, thread: Thread) -> None:
    given = begun(tx, thread, "t1", "Where does Ida live? zebra")
    injections.record(tx, told(given))
    begun(tx, thread, "t2", "my pin is zebra", no_memory=True)
    assert injections.questions(tx, ["t1", "t2"]) == {"t1": "Where does Ida live? zebra", "t2": ""}
    for table in ("injections", "injected"):
        assert not [row for row in db.execute(f"SELECT * FROM {table}") if "zebra" in str(row)]


def test_ids_that_are_nowhere_any_more_are_known(tx: Tx, thread: Thread) -> None:
    given = begun(tx, thread, "t1")
    done = Outcome(InputState.ANSWERED, "ok")
    (event,) = inputs.finish(tx, given.id, done, [NewEvent(EventKind.ASSISTANT, "ok")], at=2.0)
    assert injections.gone(tx, [event.id, FACT.id]) == {FACT.id}


def test_a_row_goes_when_nothing_of_its_turn_is_left_and_with_its_thread(
    tx: Tx, db: apsw.Connection, thread: Thread
) -> None:
    given = begun(tx, thread, "t1")
    said = [NewEvent(EventKind.USER, "Ida?"), NewEvent(EventKind.ASSISTANT, "ok")]
    first, last = inputs.finish(tx, given.id, Outcome(InputState.ANSWERED, "ok"), said, at=2.0)
    injections.record(tx, told(given))
    forget.remove_events(tx, [first.id], at=3.0)
    assert injections.questions(tx, ["t1"]) == {"t1": ""}, "the question went; what was told is ids"
    assert len(injections.of_turn(tx, "t1")) == 1
    forget.remove_events(tx, [last.id], at=3.0)
    assert injections.of_turn(tx, "t1") == []
    injections.record(tx, told(begun(tx, thread, "t2")))
    removal.hide(tx, thread.id)
    while removal.remove_some(tx, thread.id):
        pass
    left = db.execute("SELECT (SELECT count(*) FROM injections) + (SELECT count(*) FROM injected)")
    assert list(left) == [(0,)]


def test_a_thread_that_is_being_removed_gets_no_row(tx: Tx, thread: Thread) -> None:
    given = begun(tx, thread, "t1")
    inputs.finish(tx, given.id, Outcome(InputState.ANSWERED, "ok"), [], at=2.0)
    removal.hide(tx, thread.id)
    assert not injections.record(tx, told(given))


def test_old_rows_are_dropped_some_at_a_time(tx: Tx, db: apsw.Connection, thread: Thread) -> None:
    for number in range(4):
        injections.record(tx, told(begun(tx, thread, f"t{number}"), at=float(number)))
    seqs = injections.older(tx, 3.0, 2)
    assert len(seqs) == 2
    injections.drop(tx, seqs)
    assert [one.at for one in injections.of_scopes(tx, ["owner"])] == [3.0, 2.0]
    assert list(db.execute("SELECT count(*) FROM injected")) == [(4,)]


@pytest.mark.parametrize("column", ["mode", "band", "record"])
def test_the_tables_refuse_what_they_do_not_know(tx: Tx, thread: Thread, column: str) -> None:
    given = begun(tx, thread, "t1")
    bad: Any = "nonsense"
    row = told(given, mode=bad) if column == "mode" else told(given, replace(FACT, **{column: bad}))
    with pytest.raises(StorageError, match="CHECK"):
        injections.record(tx, row)
