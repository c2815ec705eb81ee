"""A turn that is resumed into a window that has become too small, and level 4 on level 4 (F.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from homed.agent.intake import Signal
from homed.agent.schedule import Phase, Way
from homed.agent.turn import Turn
from homed.memory.records import InputState
from homed.providers.base import ErrorKind, ProviderError, User
from tests.homed.agent.test_interrupts import begin, ended, interrupt, said, texts
from tests.kit.builders import OWNER, FakeModel, Setup, fails, hangs, message, running_agent, says


async def test_a_resumed_turn_rebuilds_its_messages_and_what_came_meanwhile_has_to_fit(tmp_path: Path) -> None:
    long = "a long tale of bees " * 1500
    model = FakeModel(hangs("x "), says(long), says("done"), context_window=8192)
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        first = await begin(agent, "my question")
        second, _ = await interrupt(agent, "tell me about bees", first.thread.id)
        assert said(*await ended(agent, first)) == ["done"]
        assert (await ended(agent, second))[0].state is InputState.ANSWERED
        sent = model.requests[-1]
        assert sum(len(m.text) for m in sent.messages if hasattr(m, "text")) < len(long)
        assert isinstance(sent.messages[-1], User)
        assert "my question" in texts(sent)[-1]


async def test_a_source_that_refuses_the_resumed_request_as_too_long_is_asked_again_with_less(tmp_path: Path) -> None:
    full = ProviderError(ErrorKind.CONTEXT_FULL, "too long")
    model = FakeModel(hangs("x "), says("word " * 400), fails(full), says("done"))
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        phases: list[Phase] = []
        guard = agent.conversations._loop._step._guard
        make_room = guard._make_room

        async def watched(turn: Turn, *more: Any) -> None:
            lane = agent.conversations._lanes.get(turn.input.thread)
            assert lane is not None
            assert lane.schedule.running is not None
            phases.append(lane.schedule.running.phase)
            await make_room(turn, *more)

        guard._make_room = watched  # type: ignore[method-assign, assignment]
        first = await begin(agent, "my question")
        second, _ = await interrupt(agent, "more words", first.thread.id)
        assert said(*await ended(agent, first)) == ["done"]
        assert (await ended(agent, second))[0].state is InputState.ANSWERED
        sizes = [sum(map(len, texts(request))) for request in model.requests[2:]]
        assert sizes[1] < sizes[0]
        assert phases == [Phase.CRITICAL], "half of it done would count, and be done again"
        assert agent.conversations.dump()["counters"]["started"] == 2  # type: ignore[index]


async def test_level_4_on_level_4_loses_no_frame(tmp_path: Path) -> None:
    script = (hangs("a "), hangs("b "), says("A"))
    async with running_agent(tmp_path, Setup(model=FakeModel(*script))) as agent:
        first = await begin(agent, "first")
        agent.model.hanging = trio.Event()
        one = await agent.conversations.signal(Signal(who=OWNER, text="[kernel] one", thread=first.thread.id))
        await agent.model.hanging.wait()
        rest = [
            await agent.conversations.signal(Signal(who=OWNER, text=f"[kernel] {at}", thread=first.thread.id))
            for at in range(8)
        ]
        shown = agent.conversations.dump()["threads"][0]  # type: ignore[index]
        assert len(shown["suspended"]) == 1, "none of them stands on another"
        assert await agent.conversations.stop(OWNER, first.thread.id)
        agent.model.script = [says(str(at)) for at in range(8)] + [says("A")]
        done = await ended(agent, one, *rest, first)
        assert [input_.state.value for input_ in done] == ["stopped", *["answered"] * 9]
        assert said(*done)[1:] == [*map(str, range(8)), "A"]


async def test_an_interrupt_does_not_cut_off_what_a_model_step_must_finish(tmp_path: Path) -> None:
    """P6: as the making of room, which would be counted and be done again."""
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("a "), says("B"), says("A")))) as agent:
        first = await agent.conversations.inject(OWNER, message("first"))
        await agent.model.hanging.wait()
        lane = agent.conversations._lanes.get(first.thread.id)
        assert lane is not None
        assert lane.running is not None
        with lane.running.place.critical():
            second, way = await interrupt(agent, "second", first.thread.id)
            await trio.testing.wait_all_tasks_blocked()
            assert (way, agent.model.open) == (Way.SUSPENDS, 1)
        assert said(*await ended(agent, first, second)) == ["A", "B"]
