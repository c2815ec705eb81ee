"""The kernel's methods as a plugin calls them: names and parameters as docs/wire.md has them."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.sdk.client import PIECE, Context, Invocation, Kernel
from homed.wire.methods import TO_KERNEL


class Recorder:
    """A link that notes calls and gives one answer."""

    def __init__(self, answer: object = None) -> None:
        self.calls: list[tuple[str, Mapping[str, object] | None]] = []
        self.answer = answer

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        await trio.lowlevel.checkpoint()
        assert method in TO_KERNEL
        self.calls.append((method, params))
        return self.answer


def kernel_on(link: Recorder) -> Kernel:
    return Kernel(link, settings={}, data_dir=Path("/d"))


Step = Callable[[Kernel], Awaitable[Any]]


@pytest.mark.parametrize(
    ("step", "method", "params"),
    [
        (lambda k: k.inject("a:1", "hi", thread="t", wait=True), "io.inject",
         {"peer": "a:1", "text": "hi", "thread": "t", "wait": True}),
        (lambda k: k.wait("a:1", "in_1"), "io.wait", {"peer": "a:1", "input": "in_1"}),
        (lambda k: k.history("a:1", "t"), "io.history", {"peer": "a:1", "thread": "t", "limit": 50}),
        (lambda k: k.history("a:1", "t", before=9), "io.history",
         {"peer": "a:1", "thread": "t", "limit": 50, "before": 9}),
        (lambda k: k.threads({"id": "a:1", "name": "Ada"}, query="x"), "io.threads",
         {"peer": {"id": "a:1", "name": "Ada"}, "query": "x", "limit": 50}),
        (lambda k: k.rename("a:1", "t", "T"), "io.thread_rename", {"peer": "a:1", "thread": "t", "title": "T"}),
        (lambda k: k.inject("a:1", "", attachments=["blk_1"]), "io.inject",
         {"peer": "a:1", "text": "", "attachments": ["blk_1"]}),
        (lambda k: k.event("a:1", "ev_1", offset=9), "io.event", {"peer": "a:1", "event": "ev_1", "offset": 9}),
        (lambda k: k.delete("a:1", "t"), "io.thread_delete", {"peer": "a:1", "thread": "t"}),
        (lambda k: k.approve("a:1", "ap", "allow", remember="thread"), "io.approve",
         {"peer": "a:1", "approval": "ap", "decision": "allow", "remember": "thread"}),
        (lambda k: k.announce("url", "http://x"), "core.announce", {"kind": "url", "address": "http://x"}),
        (lambda k: k.log("info", "m"), "core.log", {"level": "info", "message": "m"}),
        (lambda k: k.set_setting("k", [1]), "core.settings_set", {"key": "k", "value": [1]}),
    ],
)  # fmt: skip
async def test_a_method_says_what_the_contract_says(step: Step, method: str, params: Mapping[str, object]) -> None:
    link = Recorder()
    await step(kernel_on(link))
    assert link.calls == [(method, params)]


async def test_answers_are_unwrapped_where_there_is_one_thing_in_them() -> None:
    assert await kernel_on(Recorder({"stopped": True})).stop("a:1", "t")
    assert await kernel_on(Recorder({"approvals": [{"approval": "x"}]})).approvals("a:1") == [{"approval": "x"}]
    link = Recorder({"seq": 7})
    assert await kernel_on(link).subscribe({"turn", "approval"}, content=False) == 7
    assert link.calls == [("events.subscribe", {"content": False, "types": ["approval", "turn"]})]


class Keeper:
    """A link to something that takes files and gives them out, as ``io.upload`` and ``io.block`` do."""

    def __init__(self) -> None:
        self.pieces: list[Mapping[str, object]] = []
        self.data = b""

    async def request(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        await trio.lowlevel.checkpoint()
        given: dict[str, Any] = dict(params or {})
        if method == "io.upload":
            self.pieces.append(given)
            assert given["offset"] == len(self.data)
            self.data += base64.b64decode(given["data"])
            return {"upload": "blk_1", "bytes": len(self.data)}
        data = self.data[given["offset"] :][: given["length"]]
        return {"name": "x", "bytes": len(self.data), "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 5])
async def test_a_file_goes_in_pieces_and_comes_back(size: int) -> None:
    link = Keeper()
    kernel = Kernel(link, settings={}, data_dir=Path("/d"))
    data = bytes(n % 251 for n in range(size))
    assert await kernel.upload("a:1", "x.bin", data, media_type="a/b") == "blk_1"
    assert link.data == data
    first, *more = link.pieces
    assert (first["name"], first["media_type"], "upload" in first) == ("x.bin", "a/b", False)
    assert all(piece["upload"] == "blk_1" for piece in more)
    assert [piece["last"] for piece in link.pieces] == [False] * len(more) + [True]
    assert (await kernel.block("a:1", "blk_1", offset=3, length=7))["data"] == data[3:10]


async def test_only_a_context_presents_its_token_and_only_where_it_counts() -> None:
    link = Recorder()
    plain = kernel_on(link)
    ctx = Context(plain, Invocation("tok"))
    await ctx.inject("a:1", "hi")
    await ctx.log("info", "m")
    await plain.inject("a:1", "hi")
    assert [params.get("call") for _, params in link.calls if params] == ["tok", None, None]


def test_settings_cannot_be_written_past_the_kernel() -> None:
    kernel = Kernel(Recorder(), settings={"a": 1}, data_dir=Path("/d"))
    with pytest.raises(TypeError):
        kernel.settings["a"] = 2  # type: ignore[index]
