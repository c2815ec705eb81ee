"""Agents that are made at the same moment, or whose task is refused: no name twice, and nothing left over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.children import Wish
from homed.agent.turn import Turn
from homed.errors import Conflict, HomedError, Unavailable
from tests.kit.builders import OWNER, Agent, FakeHost, calls, message, says
from tests.kit.cast import MAIN, agents


async def working(agent: Agent, running: trio.Event) -> Turn:
    """A turn that waits in a tool."""
    receipt = await agent.conversations.inject(OWNER, message("go"))
    with trio.fail_after(60):
        await running.wait()
    lane = agent.conversations.lane(receipt.thread.id)
    assert lane is not None
    assert lane.current is not None
    return lane.current


def holding() -> tuple[FakeHost, trio.Event, trio.Event]:
    host, running, go_on = FakeHost(), trio.Event(), trio.Event()

    async def wait(_: Mapping[str, Any]) -> object:
        running.set()
        await go_on.wait()
        return "done"

    host.tool("wait", wait)
    return host, running, go_on


async def at_once(*asked: Any) -> list[HomedError]:
    refused: list[HomedError] = []

    async def one(ask: Any) -> None:
        try:
            await ask()
        except HomedError as error:
            refused.append(error)

    async with trio.open_nursery() as nursery:
        for ask in asked:
            nursery.start_soon(one, ask)
    return refused


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Wish("resident", "mail", "b", 5), Wish("resident", "mail", "b", 5)),
        (Wish("resident", "one", "b", 5, inputs=("chat",)), Wish("resident", "two", "b", 5, inputs=("chat",))),
    ],
    ids=["one name", "one input"],
)
async def test_of_two_that_are_made_at_once_one_is(tmp_path: Path, first: Wish, second: Wish) -> None:
    host, running, go_on = holding()
    async with agents(tmp_path, {MAIN: [calls(("wait", "{}")), says("done")]}, host=host) as (agent, _):
        turn = await working(agent, running)
        children = agent.conversations.children.need()
        refused = await at_once(lambda: children.make(turn, first), lambda: children.make(turn, second))
        assert [type(error) for error in refused] == [Conflict]
        assert len(children.roster.residents("owner")) == 1
        assert children.roster.taken == set()
        go_on.set()


async def test_of_an_agent_whose_task_is_refused_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, running, go_on = holding()
    async with agents(tmp_path, {MAIN: [calls(("wait", "{}")), says("done")]}, host=host) as (agent, _):
        turn = await working(agent, running)
        children = agent.conversations.children.need()

        async def refused(*_: object) -> None:
            await trio.lowlevel.checkpoint()
            raise Unavailable("No room.")

        monkeypatch.setattr(children, "give", refused)
        with pytest.raises(Unavailable, match="No room"):
            await children.spawn(turn, Wish("once", "helper", "b", 5), "do it")
        assert children.roster.threads == {}
        assert await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM children")) == 0
        assert children.roster.count("owner") == 0
        go_on.set()
