"""Asking again for what is being forgotten: whoever asks later means what came before they asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from homed.errors import StorageError
from homed.jobs.forget import ForgetPorts, Forgetting, delete_quietly
from homed.jobs.proof import Proof
from homed.memory import forgets
from tests.kit.failpoints import RaiseAt
from tests.kit.forgetting import World, in_fork, standing, world

PEER = "telegram:zoya_4711"
EARLY = "The blue flowerpot is mine."
LATE = "And the red flowerpot is mine, too."
forgetting_her = partial(forgets.ask, kind="peer", target=PEER, wide=False)


@dataclass
class Held:
    """Removes no files before it may, the first time: rows are gone by then, and the wish is not done yet."""

    reached: trio.Event = field(default_factory=trio.Event)
    go_on: trio.Event = field(default_factory=trio.Event)

    async def __call__(self) -> None:
        self.reached.set()
        await self.go_on.wait()


def slow(here: World, held: Held) -> Forgetting:
    return Forgetting(
        ForgetPorts(
            store=here.store, data=here.folder, search=in_fork(here.folder), collect=held,
            delete_thread=partial(delete_quietly, here.store), wall=lambda: 100.0,
        )
    )  # fmt: skip


async def test_what_somebody_said_while_they_were_being_forgotten_goes_with_the_second_wish(tmp_path: Path) -> None:
    held, proofs = Held(), list[Proof]()
    async with world(tmp_path, run=False) as here, trio.open_nursery() as nursery:
        forgetting = slow(here, held)

        async def forget() -> None:
            proofs.append(await forgetting.forget("peer", PEER))

        await here.say(EARLY, "So it is.", scope="group:telegram:7", peer=PEER)
        nursery.start_soon(forgetting.run)
        with trio.fail_after(60):
            async with trio.open_nursery() as both:
                both.start_soon(forget)
                await held.reached.wait()
                await here.say(LATE, "So it is.", scope="group:telegram:7", peer=PEER)
                both.start_soon(forget)
                while await here.value("SELECT count(*) FROM forgets") == 1:
                    pass
                held.go_on.set()
        assert await here.value("SELECT count(*) FROM inputs") == 0
        nursery.cancel_scope.cancel()
    assert [proof.removed["events"] for proof in proofs] == [2, 2]
    assert [proof.clean for proof in proofs] == [False, True], "the first sees their name in what they said meanwhile"
    assert standing(tmp_path, "flowerpot", PEER) == {}


async def test_one_asked_for_again_while_another_is_being_done_means_what_came_since(tmp_path: Path) -> None:
    held = Held()
    async with world(tmp_path, run=False) as here, trio.open_nursery() as nursery:
        forgetting = slow(here, held)
        await here.say(EARLY, scope="group:telegram:7", peer=PEER)
        other, _ = await here.say("The river is cold.")
        await here.store.write(partial(forgets.ask, kind="event", target=other.id, wide=False, at=40.0))
        await here.store.write(partial(forgetting_her, at=50.0))
        nursery.start_soon(forgetting.run)
        with trio.fail_after(60):
            await held.reached.wait()
            await here.say(LATE, scope="group:telegram:7", peer=PEER)
            async with trio.open_nursery() as both:
                both.start_soon(forgetting.forget, "peer", PEER)
                while await here.value("SELECT count(*) FROM forgets WHERE at = 100.0") == 0:
                    pass
                held.go_on.set()
        assert await here.value("SELECT count(*) FROM forgets") == 2
        nursery.cancel_scope.cancel()
    assert standing(tmp_path, "flowerpot", PEER) == {}


async def test_one_that_waits_still_is_the_one_that_is_asked_for_and_means_what_came_since(tmp_path: Path) -> None:
    async with world(tmp_path, run=False) as here:
        await here.say(EARLY, scope="group:telegram:7", peer=PEER)
        first = await here.store.write(partial(forgetting_her, at=50.0))
        await here.say(LATE, scope="group:telegram:7", peer=PEER)
        again = await here.store.write(partial(forgetting_her, at=60.0))
        assert (again.id, again.at) == (first.id, 60.0)
        assert again.upto > first.upto
        begun = await here.store.write(partial(forgetting_her, at=70.0, begun=first.id))
        assert begun.id != first.id
        assert (await here.store.write(partial(forgetting_her, at=80.0, begun=first.id))).id == begun.id


async def test_one_asked_for_again_after_a_crash_is_proven_as_what_a_crash_cut_off(tmp_path: Path) -> None:
    """Nobody knows any more what it removed before: it was not looked for."""
    broken = RaiseAt("forget.removing", StorageError("No more for now."))
    async with world(tmp_path, run=False, failpoints=broken, searcher=in_fork(tmp_path)) as here:
        await here.say(EARLY, scope="group:telegram:7", peer=PEER)
        await here.say(LATE, "What?", scope="group:telegram:8", peer=PEER)
        await here.store.write(partial(forgetting_her, at=50.0))
        [request] = await here.store.read(forgets.waiting)
        with pytest.raises(StorageError):
            await here.forgetting.do(request)
        async with trio.open_nursery() as nursery:
            proofs = list[Proof]()

            async def forget() -> None:
                proofs.append(await here.forgetting.forget("peer", PEER))
                nursery.cancel_scope.cancel()

            nursery.start_soon(forget)
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.start_soon(here.forgetting.run)
    assert [(proof.resumed, proof.clean) for proof in proofs] == [(True, False)]


async def test_one_that_failed_and_is_asked_for_again_is_proven_so_too(tmp_path: Path) -> None:
    broken = RaiseAt("forget.removing", StorageError("No more for now."))
    async with world(tmp_path, failpoints=broken, searcher=in_fork(tmp_path)) as here:
        asked, _ = await here.say(EARLY)
        fact = await here.learn("There is a blue flowerpot.", asked)
        await here.learn("The flowerpot stands in the cellar.", asked)
        with pytest.raises(StorageError):
            await here.forgetting.forget("thread", asked.thread)
        proof = await here.forgetting.forget("thread", asked.thread)
        assert (proof.resumed, proof.clean) == (True, False), fact
    assert standing(tmp_path, "flowerpot") == {}
