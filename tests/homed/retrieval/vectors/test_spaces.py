"""B11, E26: another embedder has another space, and never are two compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import InvalidInput
from homed.memory.ports import Space
from homed.retrieval.embed.fake import FakeEmbedder
from homed.retrieval.vectors import refill, todo
from homed.retrieval.vectors.counts import GIVE_UP, Counts
from tests.homed.retrieval.vectors.conftest import items
from tests.homed.retrieval.vectors.filling import Filled, Poisoned, opened
from tests.kit.failpoints import RaiseAt

A, B, C = FakeEmbedder("a", 64), FakeEmbedder("b", 32), FakeEmbedder("c", 64)
TEXTS = [f"heron{n} word{n}" for n in range(100)]


async def counts(house: Filled) -> Counts:
    space = house.embedder.space.fingerprint
    return await house.store.read(lambda tx: house.vectors.counts(tx, space))


async def test_b11_model_after_model_everything_has_a_vector_of_the_last(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=A) as house:
        await house.say(*TEXTS)
        await house.all_done()
        for embedder in (B, C):
            house.chosen.use(embedder)
            assert await counts(house) == Counts(0, 100, 0, 0), "skipped, and counted"
            assert await house.find("heron7") == [], "never compared"
            await house.all_done()
            assert await counts(house) == Counts(100, 0, 0, 0)
            assert items(await house.find("heron7 word7", limit=1)) == [8]
        assert await house.value("SELECT count(*) FROM vector_spaces") == 1


async def test_the_search_goes_on_with_what_there_is_and_the_old_ones_stay_until_all_is_new(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=A) as house:
        await house.say(*TEXTS)
        await house.all_done()
        house.chosen.use(other := FakeEmbedder("b", 32))
        async with house.running():
            other.hang = True
            await wait_all_tasks_blocked()
            assert await counts(house) == Counts(0, 100, 100, 0)
            house.chosen.use(A)
            assert items(await house.find("heron7 word7", limit=1)) == [8], "back before anything was lost"
            await wait_all_tasks_blocked()
            other.release()
        assert (await counts(house)).have == 100


async def test_old_ones_stay_while_a_text_is_to_be_tried_again_and_going_back_makes_what_came_meanwhile(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, embedder=A) as house:
        await house.say("poison")
        await house.all_done()
        house.chosen.use(Poisoned("b", 32))
        await house.say("two")
        await house.all_done()
        assert await counts(house) == Counts(1, 1, 1, 0)
        house.chosen.use(A)
        await house.all_done()
        assert (await house.have(), await counts(house)) == ([1, 2], Counts(2, 0, 0, 0))


async def test_old_ones_go_once_the_last_text_was_given_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=A) as house:
        await house.say("poison", "two")
        await house.all_done()
        house.chosen.use(Poisoned("b", 32))
        async with house.running():
            await trio.sleep((GIVE_UP + 1) * (refill.LOOK + 1))
        assert await counts(house) == Counts(1, 0, 0, 1)


async def test_a_restart_with_the_same_embedder_makes_nothing_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.say(*TEXTS)
        await house.all_done()
    async with opened(tmp_path, embedder=FakeEmbedder()) as house:
        await house.all_done()
        assert house.embedder.embedded == []


async def test_a_kill_while_everything_is_put_on_the_list_is_made_up_for(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(todo, "SLICE", 30)
    async with opened(tmp_path, embedder=A) as house:
        await house.say(*TEXTS)
        await house.all_done()

        def begin(tx: object) -> None:
            number, all_ = todo.enter(tx, B.space)  # type: ignore[arg-type]
            assert all_
            assert todo.enlist(tx, "event", number, 1 << 62) == 71  # type: ignore[arg-type]

        await house.store.write(begin)
    async with opened(tmp_path, embedder=FakeEmbedder("b", 32)) as house:
        await house.all_done()
        assert await counts(house) == Counts(100, 0, 0, 0)


async def test_failures_in_one_space_do_not_count_in_another(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder("b")) as house:
        await house.say("one")
        await house.store.write(lambda tx: tx.execute("UPDATE vector_todo SET failures = 9"))
        await house.all_done()
        assert await counts(house) == Counts(1, 0, 0, 0)


async def test_an_embedder_that_lies_about_itself_makes_none(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, embedder=FakeEmbedder("a", 64)) as house:
        await house.say("one")
        await house.all_done()
        with pytest.raises(InvalidInput, match="64"):
            await house.store.write(lambda tx: todo.enter(tx, Space("a", 32, 0.2)))
        house.chosen.use(FakeEmbedder("a", 32))
        await house.say("two")
        async with house.running():
            await trio.sleep(100)
            assert "64" in house.refill.trouble
        assert await house.value("SELECT count(*) FROM vectors") == 1


async def test_a_store_that_refuses_is_asked_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    from homed.errors import StorageError

    failing = RaiseAt("refill.batch", StorageError("The disk is full."))
    async with opened(tmp_path, embedder=FakeEmbedder(), alter=lambda p: replace(p, failpoints=failing)) as house:
        await house.say("one")
        async with house.running():
            await trio.sleep(1)
            assert house.refill.trouble == "The disk is full."
            await trio.sleep(10)
            assert (house.refill.trouble, await house.have()) == ("", [1])
