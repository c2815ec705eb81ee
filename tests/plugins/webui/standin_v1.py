"""The stand-in kernel with what ``/v1`` uses of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from homed.errors import NotFound

from .standin import StandIn


class Programs(StandIn):
    """With what programs need of the kernel: ``io.wait`` with calls, ``io.results``, ``io.stop`` of an input."""

    def __init__(self, script: Any = None) -> None:
        super().__init__(script)
        self.news = trio.Event()
        self.over: dict[str, dict[str, Any]] = {}
        self.open_calls: list[dict[str, Any]] = []
        self.stopped: list[str] = []

    async def call(self, method: str, params: Mapping[str, object]) -> Any:
        if method == "io.wait" and method not in self.fail:
            self.calls.append((method, dict(params)))
            return await self._waited(str(params["input"]))
        return await super().call(method, params)

    async def _waited(self, input_: str) -> Any:
        while input_ not in self.over and not self.open_calls:
            await self.news.wait()
        if self.open_calls:
            return {"input": input_, "outcome": None, "calls": self.open_calls, "usage": {"prompt": 7}, "seq": self.seq}
        return {"input": input_, "outcome": self.over[input_], "seq": self.seq}

    def changed(self) -> None:
        self.news.set()
        self.news = trio.Event()

    def io_inject(self, peer: str, text: str, client_msg_id: str = "", *_: Any, **given: Any) -> Any:
        for name in ("place", "client_tools", "client_parallel", "client_must"):
            given.pop(name, None)
        return super().io_inject(peer, text, client_msg_id or f"m{next(self.ids)}", **given)

    def io_stop(self, peer: str, thread: str, input: str = "") -> Any:
        self.stopped.append(input)
        return super().io_stop(peer, thread)

    def io_results(self, peer: str, results: list[dict[str, str]]) -> Any:
        raise NotFound("No call waits for such a result.")

    async def _run(self, talk: Any, text: str, input_: str, blocks: list[dict[str, Any]]) -> None:
        await super()._run(talk, text, input_, blocks)
        end = next(one for one in talk.ended.values() if one["input"] == input_)
        said = next((e["text"] for e in reversed(talk.events) if e["kind"] == "assistant"), "")
        self.over[input_] = {"state": end["state"], "text": said, "error": "", "hint": "", "usage": end["usage"]}
        self.changed()
