"""One lock a scope, and what its turns in flight use."""

from __future__ import annotations

import pytest
import trio

from homed.agent.scopes import Scopes, Use, ids
from homed.retrieval.asking import Question


def use(*events: str) -> Use:
    return Use("th_1", Question("what?"), frozenset(events), 1000)


async def test_a_scope_has_one_holder_at_a_time_and_other_scopes_go_on() -> None:
    scopes, order = Scopes(), []

    async def hold(scope: str, name: str, until: trio.Event) -> None:
        async with scopes.window(scope):
            order.append(name)
            await until.wait()

    first, then = trio.Event(), trio.Event()
    then.set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold, "owner", "first", first)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(hold, "owner", "second", then)
        nursery.start_soon(hold, "group:chat:1", "elsewhere", then)
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["first", "elsewhere"]
        first.set()
    assert order == ["first", "elsewhere", "second"]
    assert scopes._scopes == {}, "a scope at rest is forgotten"


def test_what_turns_in_flight_show_is_in_use_until_they_end() -> None:
    scopes = Scopes()
    scopes.use("owner", "t1", use("a", "b"))
    scopes.use("owner", "t2", use("b", "c"))
    assert ids(scopes.in_use("owner")) == {"a", "b", "c"}
    assert ids(scopes.in_use("owner", but="t1")) == {"b", "c"}
    assert ids(scopes.in_use("group:chat:1")) == frozenset()
    scopes.use("owner", "t1", use("d"))
    scopes.release("owner", "t2")
    assert ids(scopes.in_use("owner")) == {"d"}
    scopes.release("owner", "t1")
    scopes.release("owner", "t1")
    assert scopes._scopes == {}


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    scopes = Scopes()
    async with scopes.window("owner"):
        with trio.move_on_after(0) as gave_up:
            async with scopes.window("owner"):
                pytest.fail("it is held")
        assert gave_up.cancelled_caught
    assert scopes._scopes == {}
