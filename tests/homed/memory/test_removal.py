"""A thread is hidden at once and removed in pieces; nothing of it is left, and nothing of others is touched."""

from __future__ import annotations

import pytest

from homed.errors import NotFound
from homed.memory import blocks, events, inputs, ledger, removal, threads
from homed.memory.blocks import Block
from homed.memory.records import Event, EventKind, Input, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input

PEER = "cli:owner"
TABLES = ("events", "inputs", "turns", "threads", "blocks", "accesses", "ledger", "rules")
A, B, C = "a" * 64, "b" * 64, "c" * 64


def put(tx: Tx, id_: str, hash_: str) -> None:
    block = Block(id_, hash_, "cat.png", "image/png", 3)
    blocks.announce(tx, PEER, block)
    blocks.put(tx, PEER, block, at=1.0)


def turn(tx: Tx, thread: Thread, files: list[str], text: str = "look") -> tuple[Input, Event]:
    """A message that was answered, with a row in every table."""
    accepted, _ = inputs.accept(tx, new_input(thread), at=1.0)
    begun = inputs.begin(tx, accepted.id, turn=f"turn_{accepted.id}", at=1.0)
    blocks.take(tx, PEER, files, begun.id)
    event = events.append(tx, begun, NewEvent(EventKind.USER, text), at=1.0)
    blocks.adopt(tx, event, begun.id, at=1.0)
    tx.execute("INSERT INTO accesses VALUES (?, ?, 1.0)", (begun.turn, event.id))
    assert ledger.record(tx, begun, "select", {}, at=1.0)
    tx.execute("INSERT INTO rules (id, thread, decision, created_at) VALUES (?, ?, 'allow', 1)", (event.id, thread.id))
    inputs.finish(tx, begun.id, ANSWERED, [], at=2.0)
    return begun, event


def counts(tx: Tx) -> dict[str, int]:
    return {table: int(tx.value(f"SELECT count(*) FROM {table}")) for table in TABLES}


def remove(tx: Tx, thread: str) -> int:
    calls = 1
    while removal.remove_some(tx, thread):
        calls += 1
    return calls


def test_a_removed_thread_leaves_nothing_but_what_others_hold(tx: Tx, thread: Thread) -> None:
    other = threads.create(tx, scope="owner", channel="cli", title="other", at=1.0)
    for id_, hash_ in (("mine", A), ("same", A), ("alone", B), ("queued", C)):
        put(tx, id_, hash_)
    turn(tx, other, ["same"])
    kept = counts(tx)
    turn(tx, thread, ["mine", "alone"])
    waiting, _ = inputs.accept(tx, new_input(thread), at=1.0)
    blocks.take(tx, PEER, ["queued"], waiting.id)
    assert removal.size(tx, thread.id) == (1, 3)
    removal.hide(tx, thread.id)
    remove(tx, thread.id)
    assert counts(tx) == kept | {"threads": 1}
    assert tx.value("SELECT count(*) FROM uploads") == 0
    assert blocks.loose(tx, 10) == [B, C]
    assert tx.all("PRAGMA foreign_key_check") == []
    assert removal.hidden(tx) == []
    with pytest.raises(NotFound):
        removal.hide(tx, thread.id)


def test_hidden_it_is_nobodys_and_nothing_in_it_is_taken_up_again(tx: Tx, thread: Thread) -> None:
    for id_ in ("one", "two"):
        put(tx, id_, A)
    over, _ = turn(tx, thread, ["one"])
    crashed, _ = inputs.accept(tx, new_input(thread), at=1.0)
    crashed = inputs.begin(tx, crashed.id, turn="turn_crashed", at=1.0)
    queued, _ = inputs.accept(tx, new_input(thread), at=1.0)
    blocks.take(tx, PEER, ["two"], queued.id)
    removal.hide(tx, thread.id)
    assert removal.hidden(tx) == [thread.id]
    assert threads.list_(tx, ["owner"]) == ([], False)
    assert blocks.visible(tx, "one", peer=PEER, scopes=["owner"]) is None
    assert blocks.visible(tx, "two", peer=PEER, scopes=["owner"]) is None
    assert inputs.unfinished(tx) == []
    assert [turn for (turn,) in tx.all("SELECT id FROM turns")] == [over.turn]
    assert tx.value("SELECT count(*) FROM rules") == 0
    assert not ledger.record(tx, over, "sink", {}, at=3.0), "what comes behind an answer writes nothing any more"
    with pytest.raises(NotFound):
        removal.hide(tx, thread.id)
    assert tx.all("PRAGMA foreign_key_check") == []


def test_no_piece_is_larger_than_others_can_wait_for(tx: Tx, thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "ROWS", 3)
    for _ in range(10):
        turn(tx, thread, [])
    before = counts(tx)
    removal.hide(tx, thread.id)
    left = counts(tx)
    assert left == before | {"rules": 0}
    while removal.remove_some(tx, thread.id):
        now = counts(tx)
        assert all(left[table] - now[table] <= 3 for table in TABLES)
        assert now != left
        left = now
    assert counts(tx) == dict.fromkeys(TABLES, 0)


def test_of_long_events_a_piece_takes_fewer(tx: Tx, thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "BYTES", 1000)
    for _ in range(6):
        turn(tx, thread, [], "界" * 200)
    removal.hide(tx, thread.id)
    sizes = []
    last = 6
    while removal.remove_some(tx, thread.id):
        now = counts(tx)["events"]
        sizes += [last - now] if now != last else []
        last = now
    assert sizes == [2, 2, 2]


def test_a_thread_that_is_not_hidden_keeps_its_row(tx: Tx, thread: Thread) -> None:
    assert not removal.remove_some(tx, thread.id)
    assert threads.get(tx, thread.id) is not None
