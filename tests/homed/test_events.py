"""The stream of notices: post and forget, bounded, and a slow reader knows what it lost."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from homed import events
from homed.events import Bus, Notice


def wall() -> float:
    return 1000.0


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown notice type"):
        Bus(wall).post("gossip")


def test_numbers_grow_by_one_and_time_is_the_wall_clocks() -> None:
    bus = Bus(wall)
    first, second = bus.post(events.SYSTEM), bus.post(events.SYSTEM)
    assert (first.seq, second.seq, first.at, bus.seq) == (1, 2, 1000.0, 2)


async def test_a_reader_gets_what_is_posted_while_it_waits_and_only_its_types() -> None:
    bus = Bus(wall)
    seen: list[int] = []

    async def read() -> None:
        with bus.subscribe(frozenset({events.TURN})) as subscription:
            async for notice in subscription:
                seen.append(notice.seq)
                if len(seen) == 2:
                    return

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            bus.post(events.SYSTEM)
            bus.post(events.TURN)
            await wait_all_tasks_blocked()
            bus.post(events.TURN)
    assert seen == [2, 3]


async def test_a_slow_reader_loses_the_oldest_and_is_told_how_many() -> None:
    bus = Bus(wall)
    with bus.subscribe(size=3) as subscription:
        for _ in range(10):
            bus.post(events.SYSTEM)
        subscription.close()
        assert [n.seq async for n in subscription] == [8, 9, 10]
        assert (subscription.take_lost(), subscription.take_lost()) == (7, 0)


async def test_cancelling_a_reader_between_two_notices_loses_nothing() -> None:
    bus = Bus(wall)
    with bus.subscribe() as subscription:
        with trio.move_on_after(0):
            async for _ in subscription:
                pass
        bus.post(events.SYSTEM)
        subscription.close()
        assert [n.seq async for n in subscription] == [1]


def test_without_content_only_ids_and_counts_are_left() -> None:
    notice = Notice(1, 0.0, events.TOOL_CALL, data={"call": "c", "tool": "t", "args": {"x": 1}, "result": "secret"})
    assert notice.without_content().data == {"call": "c", "tool": "t"}


SAID = {
    events.RAW_INPUT: ({"input", "peer", "client_msg_id"}, {"text", "blocks"}),
    events.TURN: ({"phase", "input", "state", "usage", "ms"}, {"error", "hint"}),
    events.CONTENT_DELTA: ({"step", "at"}, {"text"}),
    events.REASONING_DELTA: ({"step", "at"}, {"text"}),
    events.TOOL_CALL: (
        {"call", "step", "tool", "plugin", "class", "status", "ms", "within"},
        {"args", "result"},
    ),
    events.APPROVAL: ({"approval", "status", "tool", "plugin", "class", "expires_at", "yes"}, {"args", "reason"}),
    events.RECALL: ({"input", "kept", "shown", "cold", "chars", "late", "mode", "counts"}, set()),
    events.REASONING: ({"step"}, {"text"}),
    events.AGENT_LLM_CHAIN: ({"step", "usage"}, {"text", "reasoning", "calls"}),
    events.AGENT_OUTPUT: ({"input", "state"}, {"text"}),
    events.AGENT_ERROR: ({"input"}, {"error", "hint"}),
    events.THREAD: ({"channel", "created", "deleted"}, {"title"}),
    events.PLUGIN_STATE: ({"plugin", "state"}, {"reason"}),
    events.STAGE: ({"stage", "plugin"}, {"error"}),
    events.PROGRESS: ({"what", "done", "total"}, set()),
    events.TERMINAL_OUTPUT: ({"plugin", "terminal", "at", "ended"}, {"text"}),
    events.SKILL_DETECTED: ({"plugin", "skill"}, {"title"}),
    events.SYSTEM: ({"code", "plugin", "kind"}, {"message", "hint"}),
    events.MEMORY: ({"what", "events", "chars", "more", "state", "made", "records"}, set()),
    events.CHILD: ({"child", "in", "phase", "state", "step", "tool", "call", "status", "ms"}, {"name", "error"}),
}
"""Type → keys of its data that anybody may hear, and those with what somebody said; as in ``docs/wire.md``.

The reason of a plugin's state is among the latter: it may cite a line that the plugin printed."""


@pytest.mark.parametrize("type_", sorted(events.TYPES))
def test_nothing_that_somebody_said_reaches_who_may_not_read_it(type_: str) -> None:
    plain, said = SAID[type_]
    data: dict[str, object] = dict.fromkeys(plain, 1) | dict.fromkeys(said | {"new"}, "a private word")
    assert Notice(1, 0.0, type_, data=data).without_content().data == dict.fromkeys(plain, 1)


def test_a_subscription_ends_with_its_block() -> None:
    bus = Bus(wall)
    with bus.subscribe() as subscription:
        pass
    bus.post(events.SYSTEM)
    assert subscription.take_lost() == 0


@pytest.mark.parametrize("size", [0, -1])
def test_a_queue_without_room_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size"), Bus(wall).subscribe(size=size):
        pass
