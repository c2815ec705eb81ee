"""Who may know of whom: the owner of everybody, anybody else of those they speak with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from homed.errors import NotFound
from homed.identity.peers import Directory
from homed.identity.people import People
from homed.identity.roles import Identity, Role
from homed.memory import inputs, threads
from homed.memory.records import NewInput
from homed.store.db import Store, open_store
from homed.store.rows import Tx

OWNER = Identity("webui:owner", "webui", "", Role.OWNER, "owner")
OWNER_IN_GROUP = Identity("tg:boss", "tg", "", Role.OWNER, "group:tg:g1")
GUEST = Identity("tg:ann", "tg", "", Role.GUEST, "guest:tg:ann")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "homed.db") as opened:
        directory = Directory(opened, lambda: 5.0)
        for peer, name in (("tg:ann", "Ann"), ("tg:bob", "Bob"), ("tg:boss", "Boss"), ("webui:owner", "")):
            await directory.identify(peer.partition(":")[0], peer, name=name)
        for peer in ("tg:bob", "tg:boss"):
            await opened.write(partial(_said, peer, "group:tg:g1"))
        yield opened


def _said(peer: str, scope: str, tx: Tx) -> None:
    thread = threads.create(tx, scope=scope, channel="tg", title="", at=1.0)
    inputs.accept(tx, NewInput(thread.id, scope, "tg", peer, "guest", "hi"), at=1.0)


@pytest.mark.parametrize(
    ("who", "known"),
    [
        (OWNER, ["tg:ann", "tg:bob", "tg:boss", "webui:owner"]),
        (OWNER_IN_GROUP, ["tg:bob", "tg:boss"]),
        (GUEST, ["tg:ann"]),
    ],
)
async def test_who_knows_whom(store: Store, who: Identity, known: list[str]) -> None:
    people = People(store)
    assert [person.id for person in await people.list_(who)] == known
    for peer in ("tg:ann", "tg:bob", "tg:boss", "webui:owner", "tg:nobody"):
        if peer in known:
            assert (await people.get(who, peer)).id == peer
        else:
            with pytest.raises(NotFound, match="is known here"):
                await people.get(who, peer)


async def test_a_list_goes_page_by_page_and_is_searched_by_name(store: Store) -> None:
    people = People(store)
    assert [p.id for p in await people.list_(OWNER, limit=2)] == ["tg:ann", "tg:bob"]
    assert [p.id for p in await people.list_(OWNER, limit=2, after="tg:bob")] == ["tg:boss", "webui:owner"]
    assert [p.id for p in await people.list_(OWNER, "BO")] == ["tg:bob", "tg:boss"]
    assert [p.id for p in await people.list_(GUEST, "bo")] == []


async def test_the_name_the_owner_gives_goes_before_that_of_the_channel(store: Store) -> None:
    directory, people = Directory(store, lambda: 5.0), People(store)
    assert await directory.set_name("tg:ann", "  Auntie\n ") == "Auntie"
    assert (await people.get(OWNER, "tg:ann")).name == "Auntie"
    who = await directory.identify("tg", "tg:ann", name="Ann2")
    assert who.name == "Auntie"
    assert [p.id for p in await people.list_(OWNER, "auntie")] == ["tg:ann"]
    assert await directory.set_name("tg:ann", "") == ""
    assert (await people.get(OWNER, "tg:ann")).name == "Ann2"
    with pytest.raises(NotFound):
        await directory.set_name("tg:nobody", "X")


async def test_a_name_the_owner_gave_costs_no_write_a_message(store: Store) -> None:
    await Directory(store, lambda: 5.0).set_name("tg:ann", "Auntie")
    later = Directory(store, lambda: 6.0)
    await later.identify("tg", "tg:ann", name="Ann")
    assert await store.read(lambda tx: tx.value("SELECT seen_at FROM peers WHERE id = 'tg:ann'")) == 5.0
    await later.identify("tg", "tg:ann", name="Anna")  # that is news
    assert await store.read(lambda tx: tx.value("SELECT seen_at FROM peers WHERE id = 'tg:ann'")) == 6.0
