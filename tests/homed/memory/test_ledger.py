"""What a turn was shown: ids, scores and counts, of a bounded size, never text."""

from __future__ import annotations

import pytest

from homed.memory import inputs, ledger
from homed.memory.records import Input, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import new_input


@pytest.fixture
def turn(tx: Tx, thread: Thread) -> Input:
    return begun(tx, thread, "turn1")


def begun(tx: Tx, thread: Thread, name: str) -> Input:
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    return inputs.begin(tx, accepted.id, turn=name, at=1.0)


def test_records_come_back_in_order_with_where_they_belong(tx: Tx, turn: Input, thread: Thread) -> None:
    ledger.record(tx, turn, "select", {"kept": 3, "scores": {"ev1": 0.123456}}, at=2.0)
    ledger.record(tx, turn, "recall", {"shown": ["ev1"], "late": []}, at=3.0)
    first, second = ledger.of_turn(tx, "turn1")
    assert (first.kind, first.at, first.data) == ("select", 2.0, {"kept": 3, "scores": {"ev1": 0.1235}})
    assert (first.turn, first.scope, first.thread) == ("turn1", "owner", thread.id)
    assert second.seq > first.seq
    assert ledger.of_turn(tx, "turn2") == []


@pytest.mark.parametrize("data", [{"why": "x" * 81}, {"a": [{"b": "x" * 81}]}, {"a": {"x" * 81: 1}}])
def test_text_does_not_come_in(tx: Tx, turn: Input, data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ids and scores"):
        ledger.record(tx, turn, "select", data, at=1.0)
    assert ledger.of_turn(tx, "turn1") == []


def test_a_long_list_is_cut_and_says_so(tx: Tx, turn: Input) -> None:
    ledger.record(tx, turn, "sink", {"ids": [f"ev{n}" for n in range(1_000)]}, at=1.0)
    [entry] = ledger.of_turn(tx, "turn1")
    listed = entry.data["ids"]
    assert isinstance(listed, list)
    assert (len(listed), listed[0], entry.data["ids_more"]) == (200, "ev0", 800)


def test_a_turn_that_goes_round_and_round_does_not_fill_the_disk(tx: Tx, turn: Input) -> None:
    made = [ledger.record(tx, turn, "guard", {}, at=1.0) for _ in range(100)]
    assert (sum(made), made[-1]) == (64, False)
    assert ledger.record(tx, turn, "select", {}, at=1.0), "other kinds have room of their own"


def test_an_unknown_kind_is_refused_by_the_table(tx: Tx, turn: Input) -> None:
    with pytest.raises(Exception, match="CHECK"):
        ledger.record(tx, turn, "nonsense", {}, at=1.0)
    assert ledger.KINDS == ("select", "recall", "guard", "peek", "confirm", "sink")
    assert all(ledger.record(tx, turn, kind, {}, at=1.0) for kind in ledger.KINDS)


def test_what_turns_recalled_is_read_for_a_whole_page(tx: Tx, turn: Input, thread: Thread) -> None:
    other = begun(tx, thread, "turn2")
    ledger.record(tx, turn, "recall", {"shown": ["ev9"]}, at=1.0)
    ledger.record(tx, turn, "recall", {"shown": ["ev1", "ev2"], "cold": ["ev3", "ev1"]}, at=2.0)
    ledger.record(tx, other, "select", {"kept": 1}, at=2.0)
    assert ledger.recalled(tx, ["turn1", "turn2", "turn3"]) == {"turn1": ["ev1", "ev2", "ev3"]}
    assert ledger.of_turns(tx, ["turn2"], "select")["turn2"].data == {"kept": 1}
    assert ledger.recalled(tx, []) == {}
