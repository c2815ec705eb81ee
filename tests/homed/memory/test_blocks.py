"""Uploads and blocks in their tables: one occurrence and one owner each, no file forgotten or taken too early."""

from __future__ import annotations

from typing import Any

import pytest

from homed.errors import InvalidInput, NotFound, Unavailable
from homed.memory import blocks, events, inputs
from homed.memory.blocks import Block, Waiting
from homed.memory.records import Event, EventKind, Input, NewEvent, Thread
from homed.store.rows import Tx
from tests.homed.memory.build import ANSWERED, new_input

PEER = "cli:owner"
A, B = "a" * 64, "b" * 64


def block(id_: str, hash_: str = A, **more: Any) -> Block:
    return Block(**{"id": id_, "hash": hash_, "name": "cat.png", "media_type": "image/png", "bytes": 3, **more})


def put(tx: Tx, *found: Block, peer: str = PEER, at: float = 1.0, limits: Waiting | None = None) -> None:
    for one in found:
        blocks.announce(tx, peer, one, limits or Waiting())
        blocks.put(tx, peer, one, at=at)


def begun(tx: Tx, thread: Thread) -> Input:
    input_, _ = inputs.accept(tx, new_input(thread), at=1.0)
    return inputs.begin(tx, input_.id, turn=f"turn_{input_.id}", at=1.0)


def heard(tx: Tx, input_: Input) -> Event:
    event = events.append(tx, input_, NewEvent(EventKind.USER, "look"), at=1.0)
    return blocks.adopt(tx, event, input_.id, at=1.0)


def owners(tx: Tx, id_: str) -> int:
    """How many rows stand for one occurrence of a file."""
    return sum(int(tx.value(f"SELECT count(*) FROM {table} WHERE id = ?", (id_,))) for table in ("blocks", "uploads"))


def test_an_upload_becomes_a_block_of_the_same_id_and_never_has_two_owners(tx: Tx, thread: Thread) -> None:
    """E50"""
    put(tx, block("one", tokens=1000), block("two", B, tokens=10))
    input_ = begun(tx, thread)
    assert [b.id for b in blocks.take(tx, PEER, ["two", "one"], input_.id)] == ["two", "one"]
    assert [b.id for b in blocks.waiting_in(tx, thread.id)[input_.id]] == ["two", "one"]
    assert owners(tx, "one") == owners(tx, "two") == 1
    event = heard(tx, input_)
    assert owners(tx, "one") == owners(tx, "two") == 1
    assert [b.id for b in blocks.of_events(tx, [event.id])[event.id]] == ["two", "one"]
    assert blocks.of_input(tx, input_.id) == []
    assert blocks.loose(tx, 10) == []
    plain = events.append(tx, input_, NewEvent(EventKind.USER, "look"), at=1.0)
    assert event.tokens == plain.tokens + 1010
    assert tx.value("SELECT tokens FROM events WHERE id = ?", (event.id,)) == event.tokens


def test_a_block_follows_its_event_from_layer_to_layer(tx: Tx, thread: Thread) -> None:
    put(tx, block("one"))
    input_ = begun(tx, thread)
    blocks.take(tx, PEER, ["one"], input_.id)
    event = heard(tx, input_)
    for layer, holder in (("cold", "cold"), ("context", "context"), ("archived", "stable")):
        tx.execute("UPDATE events SET layer = ? WHERE id = ?", (layer, event.id))
        assert tx.value("SELECT holder_layer FROM blocks WHERE id = 'one'") == holder


@pytest.mark.parametrize("peer", ["cli:other", "webui:owner"])
def test_somebody_elses_upload_is_not_there(tx: Tx, thread: Thread, peer: str) -> None:
    put(tx, block("one"), peer=peer)
    input_ = begun(tx, thread)
    with pytest.raises(NotFound, match="no such upload"):
        blocks.take(tx, PEER, ["one"], input_.id)
    assert not blocks.drop(tx, PEER, "one")


def test_an_upload_is_taken_once_and_not_twice_in_one_message(tx: Tx, thread: Thread) -> None:
    put(tx, block("one"))
    first, second = begun(tx, thread), begun(tx, thread)
    with pytest.raises(InvalidInput, match="twice"):
        blocks.take(tx, PEER, ["one", "one"], first.id)
    with pytest.raises(InvalidInput, match="10 files"):
        blocks.take(tx, PEER, [f"u{n}" for n in range(11)], first.id)
    blocks.take(tx, PEER, ["one"], first.id)
    with pytest.raises(NotFound):
        blocks.take(tx, PEER, ["one"], second.id)


def test_the_same_bytes_twice_are_two_blocks_and_one_file_which_goes_with_the_last(tx: Tx, thread: Thread) -> None:
    put(tx, block("one"), block("two"))
    input_ = begun(tx, thread)
    blocks.take(tx, PEER, ["one"], input_.id)
    heard(tx, input_)
    assert blocks.drop(tx, PEER, "two")
    assert blocks.loose(tx, 10) == []
    tx.execute("DELETE FROM blocks WHERE id = 'one'")
    assert blocks.loose(tx, 10) == [A]
    put(tx, block("three"))
    assert blocks.loose(tx, 10) == []
    assert blocks.drop(tx, PEER, "three")
    assert blocks.loose(tx, 10) == [A]
    blocks.removed(tx, [A])
    assert blocks.loose(tx, 10) == []


def test_a_file_that_is_announced_and_not_named_is_loose(tx: Tx) -> None:
    """A crash between putting it in its place and its row."""
    blocks.announce(tx, PEER, block("one"))
    assert blocks.loose(tx, 10) == [A]
    blocks.put(tx, PEER, block("one"), at=1.0)
    assert blocks.loose(tx, 10) == []
    blocks.announce(tx, PEER, block("two"))
    assert blocks.loose(tx, 10) == []


def test_what_one_peer_may_have_waiting_is_bounded(tx: Tx) -> None:
    limits = Waiting(files=3, bytes=10, all=15)
    put(tx, block("1"), block("2"), block("3"), limits=limits)
    with pytest.raises(Unavailable, match="Too many files"):
        put(tx, block("4"), limits=limits)
    put(tx, block("5", bytes=5), peer="cli:two", limits=limits)
    with pytest.raises(Unavailable):
        put(tx, block("6", bytes=6), peer="cli:two", limits=limits)
    with pytest.raises(Unavailable):
        put(tx, block("7"), peer="cli:three", limits=limits)
    assert blocks.room(tx, PEER) == (3, 9, 14)


def test_leftovers_go_after_a_day_and_what_waits_in_a_queue_stays(tx: Tx, thread: Thread) -> None:
    put(tx, block("old", "1" * 64), block("queued", "2" * 64), block("ended", "3" * 64))
    put(tx, block("young", "4" * 64), at=blocks.LEFTOVER)
    waits, over = begun(tx, thread), begun(tx, thread)
    blocks.take(tx, PEER, ["queued"], waits.id)
    blocks.take(tx, PEER, ["ended"], over.id)
    inputs.finish(tx, over.id, ANSWERED, [], at=2.0)
    assert blocks.drop_leftovers(tx, at=2.0 + blocks.LEFTOVER) == 2
    assert [id_ for (id_,) in tx.all("SELECT id FROM uploads ORDER BY id")] == ["queued", "young"]
    assert blocks.loose(tx, 10) == ["1" * 64, "3" * 64]


def test_who_may_see_a_file(tx: Tx, thread: Thread) -> None:
    put(tx, block("one"), block("two", B))

    def see(id_: str, peer: str, scope: str) -> Block | None:
        return blocks.visible(tx, id_, peer=peer, scopes={scope})

    assert see("one", PEER, "owner") is not None
    assert see("one", "cli:uid7", "guest:cli:uid7") is None
    assert see("one", "webui:owner", "owner") is None, "before it is sent it is its sender's alone"
    input_ = begun(tx, thread)
    blocks.take(tx, PEER, ["one"], input_.id)
    assert see("one", "webui:owner", "owner") is not None, "the queue is seen by all of the scope"
    assert see("one", PEER, "group:qq:1") is None
    heard(tx, input_)
    assert see("one", "webui:owner", "owner") == block("one")
    assert see("one", PEER, "guest:x") is None
    assert see("nothing", PEER, "owner") is None
