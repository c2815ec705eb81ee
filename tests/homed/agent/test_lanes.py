"""One queue a thread, one turn at a time in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from homed.agent.lanes import QUEUE, Lanes
from homed.agent.turn import Ending, Turn
from homed.errors import Unavailable
from homed.identity.roles import Identity, Role
from homed.memory.records import Input, InputState


def input_of(thread: str, text: str) -> Input:
    return Input(
        f"{thread}-{text}", thread, "owner", "webui", "webui:owner", "owner", text, "", False, False,
        InputState.ACCEPTED, 0, "", 1.0,
    )  # fmt: skip


def turn_of(given: Input, gate: trio.Lock) -> Turn:
    return Turn("turn_1", given, Identity("webui:owner", "webui", "", Role.OWNER, "owner"), gate=gate)


def lanes_of(run: Callable[[Turn], Awaitable[None]]) -> Lanes:
    async def dropped(input_: Input) -> None:
        pytest.fail(f"{input_.id} was dropped")

    async def ended(turn: Turn, _: Ending) -> None:
        pytest.fail(f"{turn.id} was ended")

    return Lanes(turn_of, run, dropped, ended)


async def test_turns_of_a_thread_run_in_order_and_threads_at_once() -> None:
    log: list[str] = []
    both = trio.Event()

    async def run(turn: Turn) -> None:
        log.append(f"begin {turn.input.id}")
        if len(log) == 2:
            both.set()
        await both.wait()
        log.append(f"end {turn.input.id}")

    lanes = lanes_of(run)
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        for thread, text in (("a", "1"), ("a", "2"), ("b", "1")):
            lanes.put(input_of(thread, text))
        with trio.fail_after(60):
            await lanes.wait_idle()
    assert sorted(log[:2]) == ["begin a-1", "begin b-1"]
    assert log.index("end a-1") < log.index("begin a-2")
    assert lanes.get("a") is None
    assert lanes.counts == (0, 0, 0)


async def test_what_came_before_the_nursery_runs_once_it_is_there() -> None:
    ran: list[str] = []

    async def run(turn: Turn) -> None:
        await trio.lowlevel.checkpoint()
        ran.append(turn.input.id)

    lanes = lanes_of(run)
    lanes.put(input_of("a", "early"))
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        await lanes.wait_idle()
    assert ran == ["a-early"]


async def test_once_closed_the_running_turn_ends_and_no_other_begins() -> None:
    go = trio.Event()
    ran: list[str] = []

    async def run(turn: Turn) -> None:
        ran.append(turn.input.id)
        await go.wait()

    lanes = lanes_of(run)
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        lanes.put(input_of("a", "1"))
        lanes.put(input_of("a", "2"))
        await trio.testing.wait_all_tasks_blocked()
        lanes.close()
        lanes.put(input_of("b", "1"))
        go.set()
        with trio.fail_after(60):
            await lanes.wait_idle()
    assert ran == ["a-1"]


async def test_places_are_counted_while_inputs_are_being_stored() -> None:
    async def run(turn: Turn) -> None:
        await trio.sleep_forever()

    lanes = lanes_of(run)
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        for number in range(QUEUE):
            lanes.put(input_of("a", str(number)))
        with lanes.place("a"), pytest.raises(Unavailable), lanes.place("a"):
            pass
        with lanes.place("a"):
            pass
        nursery.cancel_scope.cancel()


async def test_a_shut_thread_takes_nothing_and_begins_nothing_until_it_is_open_again() -> None:
    ran: list[str] = []
    go_on = trio.Event()

    async def run(turn: Turn) -> None:
        await go_on.wait()
        ran.append(turn.input.id)

    lanes = lanes_of(run)
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        for text in ("1", "2"):
            lanes.put(input_of("a", text))
        with lanes.shut("a") as quiet:
            assert quiet.is_set()
            with pytest.raises(Unavailable, match="being deleted"), lanes.place("a"):
                pass
            with pytest.raises(Unavailable, match="being deleted"), lanes.shut("a"):
                pass
            lanes.put(input_of("b", "1"))
            go_on.set()
            await trio.testing.wait_all_tasks_blocked()
            assert sorted(ran) == ["a-1", "b-1"], "the one that ran ends, the next does not begin, others go on"
            assert lanes.counts == (0, 1, 0)
        with trio.fail_after(60):
            await lanes.wait_idle()
    assert sorted(ran) == ["a-1", "a-2", "b-1"]


async def test_what_is_on_its_way_in_when_a_thread_is_shut_is_waited_for() -> None:
    async def run(_: Turn) -> None:
        await trio.lowlevel.checkpoint()

    lanes = lanes_of(run)
    await trio.lowlevel.checkpoint()
    with lanes.place("a"), lanes.place("a"), lanes.shut("a") as quiet:
        assert not quiet.is_set()
    with lanes.place("a"):
        pass
    held = lanes.place("a")
    held.__enter__()
    with lanes.shut("a") as quiet:
        assert not quiet.is_set()
        held.__exit__(None, None, None)
        assert quiet.is_set()


async def test_what_waits_can_be_taken_out_and_nothing_is_left_of_an_idle_thread() -> None:
    async def run(_: Turn) -> None:
        await trio.sleep_forever()

    lanes = lanes_of(run)
    assert lanes.take("a") == []
    async with trio.open_nursery() as nursery:
        lanes.open(nursery)
        for text in ("1", "2", "3"):
            lanes.put(input_of("a", text))
        with lanes.shut("a"):
            assert [input_.id for input_ in lanes.take("a")] == ["a-2", "a-3"]
        assert lanes.counts == (1, 0, 0)
        nursery.cancel_scope.cancel()
    with lanes.shut("b"):
        lanes.put(input_of("b", "1"))
        assert [input_.id for input_ in lanes.take("b")] == ["b-1"]
        assert lanes.get("b") is None
