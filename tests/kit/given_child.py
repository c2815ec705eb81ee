"""A small process whose tool gives a picture back in each turn, and that is killed at it; driven as `turn_child` is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from homed.agent.uploads import Piece
from homed.failpoints import Failpoints, NoFailpoints
from homed.identity.tokens import CallIdentity
from homed.providers import pairing
from homed.providers.base import CallDelta, ChatRequest, ContentDelta, Done, Part, ToolResult, User
from tests.kit.builders import OWNER, FakeModel, Setup, message, running_agent
from tests.kit.failpoints import KillAt
from tests.kit.giving import Camera
from tests.kit.turn_child import LIMIT, Order, note, serve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)


class LookingModel(FakeModel):
    """Asks for a picture, then says what it sees right behind the result."""

    def __init__(self) -> None:
        super().__init__(vision=True)

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        if problems := pairing.check(request.messages):
            raise AssertionError(problems)
        yield self._reply(request)

    async def _reply(self, request: ChatRequest) -> AsyncIterator[Part]:
        last = request.messages[-1]
        await trio.lowlevel.checkpoint()
        if isinstance(last, ToolResult) or (isinstance(last, User) and last.images):
            seen = [image.data[len(PNG) :].decode() for image in last.images] if isinstance(last, User) else ["nothing"]
            yield ContentDelta(f"I see {', '.join(seen)}")
            yield Done("stop")
            return
        assert isinstance(last, User)
        yield CallDelta(0, f"call-{last.text}", "shot", "{}")
        yield Done("tool_calls")


def camera(folder: Path) -> Camera:
    """Its picture comes in two pieces, and tells of which call it is."""

    async def shot(camera: Camera, lent: CallIdentity, _: Mapping[str, Any]) -> Mapping[str, Any]:
        turn, place = camera.agent.conversations.calling.attaching(lent)
        uploads = camera.agent.uploads
        id_, _at = await uploads.of_call(turn, place, Piece(data=PNG, name="shot.png"))
        await uploads.of_call(turn, place, Piece(data=lent.turn.encode(), upload=id_, offset=len(PNG), last=True))
        note(folder, "tools.log", lent.turn)
        return {"content": "took it", "files": [id_]}

    host = Camera()
    host.gives("shot", shot)
    return host


async def run(order: Order) -> None:
    """One child's life."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    host = camera(folder)
    with trio.fail_after(LIMIT):
        async with running_agent(folder, Setup(model=LookingModel(), host=host, failpoints=failpoints)) as agent:
            host.agent = agent
            for text in order.messages:
                receipt = await agent.conversations.inject(OWNER, message(text, client_msg_id=text))
                await agent.conversations.wait(OWNER, receipt.input.id)
            await agent.conversations.wait_idle()
            await agent.uploads.collect()


if __name__ == "__main__":
    serve(run)
