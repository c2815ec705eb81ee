"""A plugin of the test's own process whose tools give files back, as ``core.attach`` and their answer do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio

from homed.agent.uploads import Piece
from homed.identity.tokens import CallIdentity
from tests.kit.builders import Agent, FakeHost

Give = Callable[["Camera", CallIdentity, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


async def nothing(_: Mapping[str, Any]) -> None:
    """What stands for the tool in the registry; ``Camera`` answers itself."""
    await trio.lowlevel.checkpoint()


class Camera(FakeHost):
    """Its tools send files by the token of their call, and name them in the answer; ``agent`` is set once it runs."""

    agent: Agent

    def __init__(self) -> None:
        super().__init__()
        self._given: dict[str, Give] = {}

    def gives(self, name: str, give: Give, **entry: Any) -> None:
        """Register a tool; ``give`` returns ``{"content", "files"?, "is_error"?}``."""
        self.tool(name, nothing, **entry)
        self._given[name] = give

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        answer = await super().call(plugin, method, params, timeout=timeout)
        if method != "tool.invoke":
            return answer
        lent, args = self.agent.tokens.resolve(plugin, str(params["call"])), params["args"]
        assert isinstance(args, Mapping)
        return {"is_error": False, **await self._given[str(params["tool"])](self, lent, args)}

    async def send(self, lent: CallIdentity, data: bytes, name: str = "shot.png", *, last: bool = True) -> str:
        """A file of one piece; its id."""
        turn, place = self.agent.conversations.calling.attaching(lent)
        id_, _ = await self.agent.uploads.of_call(turn, place, Piece(data=data, name=name, last=last))
        return id_
