"""The kernel's methods as a plugin calls them: names and parameters as docs/wire.md has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.sdk.client import Context, Invocation, Kernel
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
