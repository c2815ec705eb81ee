"""What has cooled: 72 hours idle and at most two accesses, in whole units, of turns that are over."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import pytest

from homed.memory import cold, cooling, inputs
from homed.memory.cooling import MODEL, RULES, Place, Rule
from homed.memory.records import Event, EventKind, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input
from tests.kit.memory_check import faults

HOUR = 3600.0
DAY = 24 * HOUR
IDLE = 72 * HOUR
SAID, SUNK = 1_000_000.0, 1_000_000.0 + DAY


def turn(tx: Tx, thread: Thread, text: str = "I moved to Bern.", *, calls: bool = False) -> list[Event]:
    accepted, _ = inputs.accept(tx, new_input(thread, text), at=SAID)
    begun = inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=SAID)
    said = [NewEvent(EventKind.USER, text)]
    if calls:
        made = [{"id": "A", "name": "web", "arguments": {}}]
        said.append(NewEvent(EventKind.ASSISTANT, "", {"calls": made}))
        said.append(NewEvent(EventKind.TOOL, "a page", {"call_id": "A", "name": "web", "untrusted": True}))
    said.append(NewEvent(EventKind.ASSISTANT, "How nice.", {"final": True}))
    return inputs.finish(tx, begun.id, ANSWERED, said, at=SAID)


def sunk(tx: Tx, thread: Thread, text: str = "I moved to Bern.", *, calls: bool = False) -> list[Event]:
    made = turn(tx, thread, text, calls=calls)
    assert len(cold.sink(tx, "owner", [event.id for event in made], at=SUNK)) == len(made)
    return made


def rule(now: float, accesses: int = 2) -> Rule:
    return Rule(now, IDLE, accesses)


def found(tx: Tx, now: float, accesses: int = 2) -> list[str]:
    return cooling.cooled(tx, rule(now, accesses), Place(), 100)[0]


def looked(tx: Tx, event: Event, at: float, *, times: int = 1) -> None:
    for n in range(times):
        tx.execute("INSERT INTO accesses VALUES (?, ?, ?)", (f"looking{n}_{at}", event.id, at - n))


def layers(tx: Tx, made: Sequence[Event]) -> list[str]:
    return [str(tx.value("SELECT layer FROM events WHERE id = ?", (event.id,))) for event in made]


def test_it_takes_72_hours_from_sinking(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    assert found(tx, SUNK + IDLE - 1) == []
    assert found(tx, SUNK + IDLE) == [made[0].turn]


def test_an_event_of_an_earlier_release_counts_from_when_it_was_said(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    tx.execute("UPDATE events SET sunk_at = 0")
    assert found(tx, SAID + IDLE - 1) == []
    assert found(tx, SAID + IDLE) == [made[0].turn]


def test_a_look_begins_it_anew_and_more_than_two_in_thirty_days_keep_it(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    looked(tx, made[0], SUNK + DAY, times=2)
    early = cooling.piece(tx, made[0].turn, rule(SUNK + DAY + IDLE - 1))
    assert early is not None
    assert early.cooled == {made[1].id}, "its answer, which nobody looked at"
    assert found(tx, SUNK + DAY + IDLE) == [made[0].turn]
    looked(tx, made[1], SUNK + DAY, times=3)
    piece = cooling.piece(tx, made[0].turn, rule(SUNK + DAY + IDLE))
    assert piece is not None
    assert piece.cooled == {made[0].id}
    later = rule(SUNK + DAY + cold.REMEMBERED + 1)
    whole = cooling.piece(tx, made[0].turn, later)
    assert whole is not None
    assert whole.cooled == {event.id for event in made}, "accesses older than 30 days no longer count"


def test_a_call_stays_as_long_as_its_result_does(tx: Tx, db: apsw.Connection, thread: Thread) -> None:
    made = sunk(tx, thread, calls=True)
    looked(tx, made[2], SUNK + DAY)
    piece = cooling.piece(tx, made[0].turn, rule(SUNK + IDLE))
    assert piece is not None
    assert piece.cooled == {made[0].id, made[3].id}
    assert cooling.archive(tx, made[0].turn, rule(SUNK + IDLE)) == 2
    assert layers(tx, made) == ["archived", "cold", "cold", "archived"]
    assert faults(db) == []


def test_a_turn_is_told_with_what_is_still_in_the_window_and_what_taints_it(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread, calls=True)
    tx.execute("UPDATE events SET layer = 'context' WHERE id = ?", (made[3].id,))
    piece = cooling.piece(tx, made[0].turn, rule(SUNK + IDLE))
    assert piece is not None
    assert [event.id for event in piece.events] == [event.id for event in made]
    assert piece.cooled == {event.id for event in made[:3]}
    assert piece.said == "I moved to Bern."
    assert (piece.tainted, piece.foreign, piece.peer) == (True, False, "cli:owner")


def test_what_a_pass_covered_is_not_covered_again(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    cooling.cover(tx, [made[0].id], RULES)
    piece = cooling.piece(tx, made[0].turn, rule(SUNK + IDLE))
    assert piece is not None
    assert piece.fresh == {made[1].id}
    cooling.cover(tx, [event.id for event in made], MODEL)
    assert tx.all("SELECT pass FROM events ORDER BY seq") == [(RULES,), (MODEL,)]


def test_what_was_looked_at_or_taken_back_meanwhile_is_not_archived(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    now = rule(SUNK + IDLE)
    looked(tx, made[0], SUNK + IDLE - 1)
    tx.execute("UPDATE events SET layer = 'context' WHERE id = ?", (made[1].id,))
    assert cooling.archive(tx, made[0].turn, now) == 0
    assert layers(tx, made) == ["cold", "context"]


def test_blocks_go_along_and_have_one_holder(tx: Tx, db: apsw.Connection, thread: Thread) -> None:
    made = sunk(tx, thread)
    tx.execute(
        "INSERT INTO blocks (id, hash, media_type, bytes, event, holder_layer, created_at)"
        " VALUES ('b', 'h', 'image/png', 1, ?, 'cold', 1)",
        (made[0].id,),
    )
    cooling.archive(tx, made[0].turn, rule(SUNK + IDLE))
    assert tx.value("SELECT holder_layer FROM blocks") == "stable"
    assert faults(db) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE turns SET ended_at = NULL",
        "UPDATE threads SET scope = ''",
        "UPDATE events SET no_memory = 1",
        "UPDATE events SET layer = 'context'",
        "UPDATE events SET layer = 'archived'",
    ],
)
def test_what_runs_is_private_removed_or_elsewhere_is_not_among_them(tx: Tx, thread: Thread, change: str) -> None:
    sunk(tx, thread)
    assert len(found(tx, SUNK + IDLE)) == 1
    tx.execute(change)
    assert found(tx, SUNK + IDLE) == []


def test_they_come_in_parts_and_none_is_left_out(tx: Tx, thread: Thread) -> None:
    turns = [sunk(tx, thread, f"fact {n}")[0].turn for n in range(7)]
    seen: list[str] = []
    place: Place | None = Place()
    while place is not None:
        some, place = cooling.cooled(tx, rule(SUNK + IDLE), place, 3)
        seen += some
    assert list(dict.fromkeys(seen)) == turns


def test_times_of_a_clock_that_went_far_ahead_keep_nothing_from_cooling(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    far = SUNK + 3_650 * DAY
    tx.execute("UPDATE events SET sunk_at = ?, created_at = ?", (far, far))
    looked(tx, made[0], far, times=3)
    assert cooling.set_right(tx, SUNK) == len(made)
    assert cooling.set_right(tx, SUNK) == 0
    assert found(tx, SUNK + IDLE - 1) == []
    assert found(tx, SUNK + IDLE) == [made[0].turn]


def test_who_looks_while_the_clock_is_put_right_by_a_little_keeps_it(tx: Tx, thread: Thread) -> None:
    made = sunk(tx, thread)
    for event in made:
        looked(tx, event, SUNK + IDLE + 2.0)
    assert found(tx, SUNK + IDLE) == []
