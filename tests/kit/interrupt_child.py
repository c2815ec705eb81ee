"""A small process in which turns interrupt one another on the real store, to be killed; `turn_child` has the zygote.

"one" is a message; "two" interrupts it while its model call hangs; "three", of the level of "two", comes while the tool
of "two" runs, and is put into its turn.  What the model does depends on the request alone, so it is the same after a
restart: it hangs over "one" until "two" has been answered, calls a tool once for "two", and then answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from homed.failpoints import Failpoints, NoFailpoints
from homed.identity.roles import Identity
from homed.providers import pairing
from homed.providers.base import Assistant, CallDelta, ChatRequest, ContentDelta, Done, Part, ToolResult, User
from tests.kit.builders import OWNER, Agent, FakeHost, FakeModel, Setup, message, running_agent
from tests.kit.failpoints import KillAt
from tests.kit.turn_child import LIMIT, Order, note, serve

ANSWERS = {"one": "answer to one", "two": "answer to two"}


class Model(FakeModel):
    """See the module."""

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        if problems := pairing.check(request.messages):
            raise AssertionError(problems)
        yield self._reply(request)

    async def _reply(self, request: ChatRequest) -> AsyncIterator[Part]:
        told = request.messages
        asked = [m.text for m in told if isinstance(m, User)]
        await trio.lowlevel.checkpoint()
        if "two" not in asked and "one" in asked:
            yield ContentDelta("I was going to say ")
            self.hanging.set()
            await trio.sleep_forever()
        last = "one" if asked[-1] == "one" else "two"
        since = max(at for at, m in enumerate(told) if isinstance(m, User) and m.text == last)
        if not any(isinstance(m, ToolResult) for m in told[since:]):
            yield CallDelta(0, f"call-{last}", "mark", "{}")
            yield Done("tool_calls")
            return
        if last == "one":
            assert any(isinstance(m, Assistant) and m.text == ANSWERS["two"] for m in told)
        yield ContentDelta(ANSWERS[last])
        yield Done("stop")


async def run(order: Order) -> None:
    """One child's life: all three are sent again each time, as clients do that got no answer."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    model, host, marking = Model(), FakeHost(), trio.Event()

    async def mark(_: Mapping[str, Any]) -> object:
        given = host.invoked()[-1]
        note(folder, "tools.log", given["context"]["turn"])
        marking.set()
        await trio.sleep(0.02)  # so that what comes now comes while it runs
        return "marked"

    host.tool("mark", mark)
    with trio.fail_after(LIMIT):
        async with running_agent(folder, Setup(model=model, host=host, failpoints=failpoints)) as agent:
            await _talk(agent, folder, marking)
            await agent.conversations.wait_idle()


async def _talk(agent: Agent, folder: Path, marking: trio.Event) -> None:
    conversations = agent.conversations
    one = await conversations.inject(OWNER, message("one", client_msg_id="one"))
    note(folder, "accepted.log", "one")
    await _either(agent.model.hanging, conversations.wait, one.input.id)  # after a restart it may not hang any more
    for text in ("two", "three"):
        said = message(text, client_msg_id=text, thread=one.thread.id)
        receipt, _, _ = await conversations.interrupt(OWNER, said, 2)
        note(folder, "accepted.log", text)
        if text == "two":
            await _either(marking, conversations.wait, receipt.input.id)
    for text in ("one", "two", "three"):
        again = await conversations.inject(OWNER, message(text, client_msg_id=text, thread=one.thread.id))
        await conversations.wait(OWNER, again.input.id)


async def _either(event: trio.Event, wait: Callable[[Identity, str], Awaitable[object]], input_id: str) -> None:
    """Until something is so, or the input has ended."""
    async with trio.open_nursery() as nursery:

        async def ended() -> None:
            await wait(OWNER, input_id)
            nursery.cancel_scope.cancel()

        nursery.start_soon(ended)
        await event.wait()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    serve(run)
