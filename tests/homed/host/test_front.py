"""What callers of one plugin are told: table of states, and a lazy plugin that comes up for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from homed.errors import TimedOut, Unavailable
from homed.host.facilities import Facilities, Provider
from homed.host.front import Front
from homed.host.life import Plan
from homed.host.registry import Registry
from homed.host.states import State, Trust
from homed.wire.manifest import Manifest, ToolSpec
from tests.kit.fake_child import FakeRunning


def make(*, lazy: bool = True, facilities: Facilities | None = None) -> tuple[Front, Registry]:
    manifest = Manifest(
        "mole", "1", "x", activation="lazy" if lazy else "eager", needs=("scenes",),
        tools=(ToolSpec("dig", "Digs.", {}),),
    )  # fmt: skip
    registry = Registry()
    registry.claim(manifest, Trust.PACKAGED)
    plan = Plan(manifest, Path("/"), Trust.PACKAGED, frozenset())
    return Front(plan, registry, facilities or Facilities.standing(), trio.current_time), registry


async def called(front: Front, into: list[str], timeout: float = 9.0) -> None:
    try:
        async with front.serving(timeout) as (_, left):
            into.append(f"served, {left:g} s left")
    except (Unavailable, TimedOut) as error:
        into.append(f"{error.message} {error.hint}".strip())


REFUSED = [
    (State.BACKOFF, "exit code 1; can be started again in 1 s", "Try again in a moment."),
    (State.STOPPED, "needs attention: 4 crashes", "Start it: homed plugin start mole."),
    (State.DISABLED, "disabled until a person starts it", "Start it: homed plugin start mole."),
]


@pytest.mark.parametrize(("state", "reason", "hint"), REFUSED)
async def test_a_lazy_plugin_that_cannot_come_says_so_at_once_and_to_those_who_wait_already(
    autojump_clock: MockClock, state: State, reason: str, hint: str
) -> None:
    front, registry = make()
    said: list[str] = []
    front.set(State.LAZY, "")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(called, front, said)
        await wait_all_tasks_blocked()
        assert front.wake.is_set()
        front.set(State.STARTING, "")
        front.set(state, reason)
    assert registry.tools() == {}
    await called(front, said)
    assert said == [f"The plugin mole is not running: {state.value} ({reason}). {hint}"] * 2
    assert trio.current_time() == 0


async def test_a_blocked_one_says_by_what(autojump_clock: MockClock) -> None:
    facilities = Facilities([Provider("scenes", "")])
    front, registry = make(facilities=facilities)
    front.set(State.WAITING, "waiting for scenes")
    said: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(called, front, said)
        await wait_all_tasks_blocked()
        assert (set(registry.tools()), said) == ({"dig"}, [])
        facilities.fail("scenes", "no model")
        front.set(State.WAITING, "blocked on scenes: no model")
    assert said == [
        "The plugin mole is not running: waiting (blocked on scenes: no model)."
        " It starts once that is mended; homed status shows it."
    ]
    assert registry.tools() == {}
    assert front.blocked
    with pytest.raises(Unavailable, match="blocked on scenes"):
        await front.wait_callable()


async def test_calls_wait_for_the_start_in_their_time_and_begin_together(autojump_clock: MockClock) -> None:
    front, _ = make()
    front.set(State.LAZY, "")
    said: list[str] = []
    async with trio.open_nursery() as nursery:
        for timeout in (9.0, 9.0, 1.0):
            nursery.start_soon(called, front, said, timeout)
        await trio.sleep(2)
        assert said == ["The plugin mole was not up within 1 s (lazy); the call was not made."]
        front.running = FakeRunning()
        front.demand.serve(front.running)
    assert said[1:] == ["served, 7 s left"] * 2
    await called(front, said, 5.0)
    assert said[-1] == "served, 5 s left"


async def test_a_call_that_is_cancelled_is_counted_no_longer(autojump_clock: MockClock) -> None:
    front, _ = make()
    front.set(State.LAZY, "")
    with trio.move_on_after(1):
        await called(front, [])
    assert not front.demand.any


@pytest.mark.parametrize("state", [State.ABSENT, State.WAITING, State.STARTING, State.STOPPING, State.BACKOFF])
async def test_an_eager_plugin_that_is_not_ready_keeps_nobody_waiting(autojump_clock: MockClock, state: State) -> None:
    front, registry = make(lazy=False)
    front.set(state, "why")
    said: list[str] = []
    await called(front, said)
    shown = "absent" if state is State.ABSENT else f"{state.value} (why)"
    assert said == [f"The plugin mole is not running: {shown}. Try again in a moment."] or state is State.ABSENT
    assert registry.tools() == {}


async def test_whoever_waits_for_the_end_of_homed_is_let_go(autojump_clock: MockClock) -> None:
    front, _ = make()
    front.set(State.LAZY, "")
    said: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(called, front, said)
        await wait_all_tasks_blocked()
        front.close("homed is stopping")
    await called(front, said)
    assert said[0] == "The plugin mole takes no more calls: homed is stopping."
    assert said[1].startswith(said[0])


@pytest.mark.parametrize(
    ("state", "reason", "settled"),
    [(State.ABSENT, "", False), (State.WAITING, "", False), (State.WAITING, "waiting for scenes", True),
     (State.STARTING, "", False), (State.STOPPING, "", False), (State.LAZY, "", True), (State.READY, "", True),
     (State.BACKOFF, "", True), (State.STOPPED, "", True), (State.DISABLED, "", True)],
)  # fmt: skip
async def test_where_a_start_has_led_somewhere(state: State, reason: str, settled: bool) -> None:
    front, _ = make()
    front.state, front.reason = state, reason
    assert front.settled is settled


async def test_since_is_the_time_of_the_state_not_of_its_reason(autojump_clock: MockClock) -> None:
    front, _ = make()
    await trio.sleep(1)
    assert front.set(State.WAITING, "waiting for a, b")
    await trio.sleep(1)
    assert front.set(State.WAITING, "waiting for b")
    assert not front.set(State.WAITING, "waiting for b")
    assert (front.since, str(front)) == (1.0, "waiting (waiting for b)")
