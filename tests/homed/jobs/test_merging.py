"""Names that may mean the same, for a person: listed, made one, kept apart, taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from homed.errors import Conflict, NotFound
from homed.jobs.merging import Merging
from homed.memory import entities, facts, merges
from homed.memory.newfact import NewFact
from homed.retrieval import index
from homed.store.db import Store, open_store
from homed.store.rows import Tx

NAMES = ("Johannes Gutenberg", "Johanes Gutenberg")


def known(tx: Tx, scope: str, name: str, count: int) -> None:
    """So many facts of it, and its name mentioned as often."""
    for n in range(count):
        new = NewFact(scope=scope, text=f"{name} printed book {n}.", subject=name, relation="printed",
                      object=f"book {n}", extractor="manual", origin="manual")  # fmt: skip
        assert facts.put(tx, new, at=1.0).outcome == "new"
    index.catch_up(tx)


def propose(tx: Tx, scope: str) -> None:
    merges.note(tx, scope, merges.search(tx, scope), at=1.0)


def told(tx: Tx, scope: str) -> None:
    known(tx, scope, NAMES[0], 1)
    known(tx, scope, NAMES[1], 3)
    propose(tx, scope)


@asynccontextmanager
async def merging(folder: Path, *scopes: str) -> AsyncIterator[tuple[Merging, Store]]:
    async with open_store(folder / "homed.db") as store:
        for scope in scopes or ("owner",):
            await store.write(partial(told, scope=scope))
        yield Merging(store, lambda: 9.0), store


async def names(store: Store, scope: str = "owner") -> list[str]:
    return [str(n) for (n,) in await store.read(
        lambda tx: tx.all("SELECT name FROM entities WHERE scope = ? ORDER BY name", (scope,)))]  # fmt: skip


async def test_what_is_proposed_is_listed_the_better_known_first_with_what_is_known(tmp_path: Path) -> None:
    async with merging(tmp_path, "owner", "guest:1") as (made, _):
        proposed, done = await made.list_()
        assert {one.scope for one in proposed} == {"owner", "guest:1"}
        assert done == []
        for one in proposed:
            assert [side.entity.name for side in one.sides] == [NAMES[1], NAMES[0]]
            assert len(one.sides[0].facts) == 3
            assert one.wire()["merge"] == one.merge


async def test_what_is_known_in_a_scope_that_one_does_not_see_is_not_shown(tmp_path: Path) -> None:
    """B14: an owner decides about the names of all, and reads what guests said no more than elsewhere."""
    async with merging(tmp_path, "owner", "guest:1") as (made, _):
        proposed, _ = await made.list_(frozenset({"owner"}))
        known_ = {one.scope: [len(side.facts) for side in one.sides] for one in proposed}
        assert known_ == {"owner": [3, 1], "guest:1": [0, 0]}


async def test_accepted_they_are_one_and_it_can_be_taken_back(tmp_path: Path) -> None:
    async with merging(tmp_path, "owner", "guest:1") as (made, store):
        (one,) = [p for p in (await made.list_())[0] if p.scope == "owner"]
        done = await made.accept(one.merge)
        assert (done.kept, done.gone, done.at) == (NAMES[1], NAMES[0], 9.0)
        assert await names(store) == [NAMES[1]]
        assert await names(store, "guest:1") == sorted(NAMES), "another scope's are theirs"
        found = await store.read(lambda tx: entities.must(tx, "owner", NAMES[0]))
        assert found.name == NAMES[1], "the other name means it now"
        with pytest.raises(NotFound):
            await made.accept(one.merge)
        proposed, dones = await made.list_()
        assert [p.scope for p in proposed] == ["guest:1"]
        assert dones == [done]
        assert await made.undo(done.done) == NAMES[0]
        assert await names(store) == sorted(NAMES)
        with pytest.raises(NotFound):
            await made.undo(done.done)


async def test_which_stays_can_be_said(tmp_path: Path) -> None:
    async with merging(tmp_path) as (made, store):
        ((one,), _) = await made.list_()
        assert (await made.accept(one.merge, keep=2)).kept == NAMES[0]
        assert await names(store) == [NAMES[0]]


async def test_rejected_they_stay_two_and_are_not_proposed_again(tmp_path: Path) -> None:
    async with merging(tmp_path) as (made, store):
        ((one,), _) = await made.list_()
        await made.reject(one.merge)
        await store.write(lambda tx: propose(tx, "owner"))
        assert (await made.list_())[0] == []
        assert await names(store) == sorted(NAMES)
        with pytest.raises(NotFound):
            await made.reject(one.merge)


async def test_whoever_speaks_stays_and_a_wish_against_it_is_refused(tmp_path: Path) -> None:
    async with merging(tmp_path) as (made, store):

        def speaks(tx: Tx) -> None:
            me = entities.speaker(tx, "owner", at=1.0)
            assert me is not None
            tx.execute("UPDATE entities SET name = 'Johannnes Gutenberg', mentions = 2 WHERE id = ?", (me.id,))
            entities.alias(tx, me, "Johannnes Gutenberg")
            propose(tx, "owner")

        await store.write(speaks)
        proposed, _ = await made.list_()
        one = next(p for p in proposed if {s.entity.name for s in p.sides} == {"Johannnes Gutenberg", NAMES[1]})
        at = [side.entity.name for side in one.sides].index(NAMES[1]) + 1
        with pytest.raises(Conflict):
            await made.accept(one.merge, keep=at)
        assert (await made.accept(one.merge)).kept == "Johannnes Gutenberg"
