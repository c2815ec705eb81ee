"""A small process in which an agent makes agents on the real store, to be killed; `turn_child` has the zygote.

"one" makes a resident agent and gives it something, makes one for a single task, and answers.  Both of them call a tool
once and report.  What the model does depends on the request alone, so it is the same after a restart.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.providers import pairing
from homed.providers.base import CallDelta, ChatRequest, ContentDelta, Done, Part, System, ToolResult, User
from homed.store.rows import Tx
from tests.kit.builders import OWNER, FakeHost, message
from tests.kit.cast import agents
from tests.kit.failpoints import KillAt
from tests.kit.turn_child import LIMIT, Order, note, serve

STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("resident_agents", {"action": "create", "name": "stays", "brief": "b"}),
    ("resident_agents", {"action": "send", "agent": "stays", "text": "do"}),
    ("spawn_child", {"task": "do", "name": "once"}),
)


def _reply(request: ChatRequest) -> tuple[str, dict[str, Any]] | str:
    system = next(m.text for m in request.messages if isinstance(m, System))
    asked = [m.text for m in request.messages if isinstance(m, User)]
    if "[agent " in asked[-1]:  # a report, that of one which joined the turn of another, too
        return "I see"
    last = max(at for at, m in enumerate(request.messages) if isinstance(m, User) and m.text in ("one", "do"))
    done = sum(1 for m in request.messages[last:] if isinstance(m, ToolResult))
    for name in ("stays", "once"):
        if f"Your name is {name}." in system:
            return ("mark", {}) if not done else f"{name} is done"
    return STEPS[done] if done < len(STEPS) else "all are at work"


class Model:
    """See the module; mixed into the cast by the stream alone."""

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        if problems := pairing.check(request.messages):
            raise AssertionError(problems)
        yield self._parts(_reply(request), len(request.messages))

    async def _parts(self, reply: tuple[str, dict[str, Any]] | str, at: int) -> AsyncIterator[Part]:
        await trio.lowlevel.checkpoint()
        if isinstance(reply, str):
            yield ContentDelta(reply)
            yield Done("stop")
            return
        yield CallDelta(0, f"call-{at}", reply[0], json.dumps(reply[1]))
        yield Done("tool_calls")


async def run(order: Order) -> None:
    """One child's life: the message is sent again each time, as clients do that got no answer."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    host = FakeHost()

    async def mark(_: Mapping[str, Any]) -> object:
        turn = host.invoked()[-1]["context"]["turn"]  # now: two agents may call at once
        await trio.lowlevel.checkpoint()
        note(folder, "tools.log", turn)
        return "marked"

    host.tool("mark", mark)
    with trio.fail_after(LIMIT):
        async with agents(folder, {}, host=host, failpoints=failpoints) as (agent, cast):
            cast.stream = Model().stream  # type: ignore[method-assign]
            one = await agent.conversations.inject(OWNER, message("one", client_msg_id="one"))
            await agent.conversations.wait(OWNER, one.input.id)
            with agent.bus.subscribe() as news:
                while await agent.store.read(_open):
                    with trio.move_on_after(0.05):  # what a task is marked with is no notice
                        await anext(aiter(news))
            await agent.conversations.wait_idle()


def _open(tx: Tx) -> bool:
    inputs = tx.value("SELECT count(*) FROM inputs WHERE outcome IS NULL")
    return bool(inputs or tx.value("SELECT count(*) FROM child_tasks WHERE told = 0"))


if __name__ == "__main__":
    serve(run)
