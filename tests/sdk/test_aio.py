"""Handlers on asyncio: results, errors, calls back, cancellation both ways, a clean stop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from homed import sdk
from homed.errors import ConfigError, Denied
from homed.sdk import aio
from homed.sdk.areas import BulkLink
from homed.sdk.check import check
from homed.sdk.pack import describe
from homed.sdk.testing import harness


class Sample:
    """A plugin whose library knows asyncio only."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.plugin = plugin = sdk.Plugin("sample")
        self.served = threading.Event()

        @plugin.tool(cls="read", parallel_safe=True)
        async def add(ctx: sdk.Context, a: int, b: int = 1) -> int:
            """Add two numbers."""
            await asyncio.sleep(0)
            return a + b

        @plugin.tool(cls="read")
        async def fail(ctx: sdk.Context, how: str) -> str:
            """Fail."""
            match how:
                case "tool":
                    raise sdk.ToolError("It did not work.", hint="Try again.")
                case "exit":
                    raise SystemExit(3)
                case "cancelled":
                    raise asyncio.CancelledError
            raise ValueError(how)

        @plugin.tool(cls="read")
        async def tell(ctx: sdk.Context) -> str:
            """Ask the kernel."""
            async with ctx.busy("asking"):
                found = await asyncio.gather(ctx.call("core.settings_get", {"key": "a"}), ctx.call("core.log", {}))
            return f"{ctx.peer} {ctx.settings['mood']} {found}"

        @plugin.tool(cls="read")
        async def wait(ctx: sdk.Context, deaf: bool = False) -> str:
            """Wait for ever."""
            self.log.append("waiting")
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                self.log.append("cancelled")
                if deaf:
                    await asyncio.sleep(1000)
                raise
            return "never"

        @plugin.tool(cls="read")
        async def wait_for_kernel(ctx: sdk.Context) -> str:
            """Wait for an answer, but not long."""
            try:
                await asyncio.wait_for(ctx.call("io.wait", {"input": "x"}), 0.05)
            except TimeoutError:
                return "gave up"
            return "got it"

        @plugin.tool(cls="read")
        def plain(ctx: sdk.Context) -> str:
            """A plain function."""
            return threading.current_thread().name

        @plugin.stage("on_input")
        async def shout(ctx: sdk.Context, fields: Mapping[str, Any]) -> dict[str, str]:
            await asyncio.sleep(0)
            return {"raw_message": fields["raw_message"].upper()}

        @plugin.output("out")
        async def send(ctx: sdk.Context, content: object) -> str:
            await asyncio.sleep(0)
            return "ok"

        @plugin.on_start
        async def start(kernel: sdk.Kernel) -> None:
            await asyncio.sleep(0)
            if kernel.settings.get("mood") == "bad":
                raise ConfigError("Not in this mood.")
            self.left = asyncio.create_task(self.forever("left"))

        @plugin.main
        async def main(kernel: sdk.Kernel) -> None:
            await self.forever("main")

        @plugin.on("event")
        async def hear(notice: sdk.Notice) -> None:
            await asyncio.sleep(0)
            self.log.append(f"heard {notice.type}")

    async def forever(self, name: str) -> None:
        self.served.set()
        try:
            await asyncio.sleep(1000)
        finally:
            self.log.append(f"{name} ended")

    async def seen(self, line: str) -> None:
        with trio.fail_after(60):
            while line not in self.log:
                await trio.lowlevel.checkpoint()


async def test_every_handler_runs_on_asyncio_and_a_plain_one_in_a_thread() -> None:
    sample = Sample()
    async with harness(aio.adapted(sample.plugin), settings={"mood": "good"}) as kernel:
        kernel.reply("core.settings_get", {"value": 5})
        assert (await kernel.invoke("add", a=2)).content == 3
        assert (await kernel.invoke("add", a=2.0, b=5)).content == 7
        assert (await kernel.invoke("tell")).content == "test:local good [{'value': 5}, {}]"
        held = [call.params["held"] for call in kernel.calls if call.method == "core.busy"]
        assert held == [True, False]
        assert "asyncio" not in (await kernel.invoke("plain")).content
        assert await kernel.stage("on_input", {"raw_message": "hi"}) == {"raw_message": "HI"}
        assert await kernel.output("out", "x") == {"status": "ok"}
        await kernel.emit("turn")
        await sample.seen("heard turn")
    assert sample.log == ["heard turn", "main ended", "left ended"]


@pytest.mark.parametrize(
    ("how", "text"),
    [("tool", "It did not work. Try again."), ("value", "ValueError: value"), ("exit", "SystemExit: 3"),
     ("cancelled", "fail was cancelled.")],
)  # fmt: skip
async def test_a_failure_is_a_result_and_the_loop_goes_on(how: str, text: str) -> None:
    async with harness(aio.adapted(Sample().plugin), settings={"mood": ""}) as kernel:
        result = await kernel.invoke("fail", how=how)
        assert (result.content, result.is_error) == (text, True)
        assert (await kernel.invoke("add", a=1)).content == 2


async def test_an_error_of_the_kernel_comes_as_what_it_is() -> None:
    async with harness(aio.adapted(Sample().plugin), settings={"mood": ""}) as kernel:
        kernel.reply("core.settings_get", Denied("You may not."))
        result = await kernel.invoke("tell")
        assert result.is_error
        assert "You may not" in result.content
        with trio.fail_after(60):  # the lease goes back, though the work failed
            while [c.params["held"] for c in kernel.calls if c.method == "core.busy"] != [True, False]:
                await trio.lowlevel.checkpoint()


async def test_stopping_a_call_cancels_its_task() -> None:
    sample = Sample()
    async with harness(aio.adapted(sample.plugin), settings={"mood": ""}) as kernel:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kernel.invoke, "wait")
            await sample.seen("waiting")
            nursery.cancel_scope.cancel()
        assert "cancelled" in sample.log
        assert (await kernel.invoke("add", a=1)).content == 2


async def test_giving_up_on_the_kernel_cancels_the_call_there() -> None:
    ended = trio.Event()

    async def never(_: Mapping[str, Any]) -> object:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with harness(aio.adapted(Sample().plugin), settings={"mood": ""}) as kernel:
        kernel.reply("io.wait", never)
        assert (await kernel.invoke("wait_for_kernel")).content == "gave up"
        with trio.fail_after(60):
            await ended.wait()


async def test_a_task_that_will_not_end_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_GRACE", 0.1)
    sample = Sample()
    async with harness(aio.adapted(sample.plugin), settings={"mood": ""}) as kernel:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: kernel.invoke("wait", deaf=True))
                await sample.seen("waiting")
                nursery.cancel_scope.cancel()
    assert sample.log.count("cancelled") == 1


async def test_a_start_that_fails_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    async with harness(aio.adapted(Sample().plugin), start=False) as kernel:
        with pytest.raises(ConfigError, match="Not in this mood"):
            await kernel.start({"mood": "bad"}, Path())
    assert threading.active_count() <= before + 1, "but Trio's own, which waits for more work"


async def test_two_blocks_of_one_name_are_two_leases() -> None:
    plugin = sdk.Plugin("sample")

    @plugin.tool(cls="read")
    async def often(ctx: sdk.Context) -> str:
        async with AsyncExitStack() as stack:
            for _ in range(20):
                await stack.enter_async_context(ctx.busy("terminal"))
        return "done"

    async with harness(aio.adapted(plugin)) as kernel:
        await kernel.invoke("often")
        leases = [call.params["lease"] for call in kernel.calls if call.method == "core.busy"]
    assert len(set(leases)) == 20
    assert leases == [*leases[:20], *reversed(leases[:20])]


@pytest.mark.parametrize("driver", [aio.adapted, lambda plugin: plugin], ids=["asyncio", "trio"])
async def test_a_lease_is_given_back_though_the_call_ended_while_it_was_taken(
    driver: Callable[[sdk.Plugin], sdk.Plugin],
) -> None:
    plugin, asked = sdk.Plugin("sample"), trio.Event()

    @plugin.tool(cls="read")
    async def work(ctx: sdk.Context) -> None:
        async with ctx.busy("terminal"):
            raise AssertionError("it was cancelled before")

    held: set[str] = set()

    async def busy(params: Mapping[str, Any]) -> object:
        if params["held"]:
            asked.set()
            with trio.CancelScope(shield=True):
                await trio.sleep(0.1)
        (held.add if params["held"] else held.discard)(params["lease"])
        return {}

    async with harness(driver(plugin)) as kernel:
        kernel.reply("core.busy", busy)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kernel.invoke, "work")
            await asked.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(60):
            while held or [c.params["held"] for c in kernel.calls if c.method == "core.busy"] != [True, False]:
                await trio.lowlevel.checkpoint()


async def test_whatever_a_call_raises_is_its_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = sdk.Plugin("sample")

    async def broken(*_: object, **__: object) -> object:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError("on the way")

    @plugin.tool(cls="read")
    async def ask(ctx: sdk.Context) -> object:
        return await ctx.call("core.settings_get", {"key": "a"})

    @plugin.tool(cls="read")
    async def add(ctx: sdk.Context) -> int:
        return 2

    async with harness(aio.adapted(plugin)) as kernel:
        monkeypatch.setattr(BulkLink, "request", broken)
        assert (await kernel.invoke("ask")).content == "ZeroDivisionError: on the way"
        assert (await kernel.invoke("add")).content == 2


async def test_a_stop_that_comes_before_the_loop_is_there_ends_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    before, made, go = threading.active_count(), threading.Event(), threading.Event()
    usual = asyncio.new_event_loop

    def late() -> asyncio.AbstractEventLoop:
        made.set()
        go.wait(5)
        return usual()

    monkeypatch.setattr(asyncio, "new_event_loop", late)
    async with trio.open_nursery() as nursery:

        async def cancel() -> None:
            await trio.to_thread.run_sync(made.wait, 5)
            nursery.cancel_scope.cancel()
            go.set()

        nursery.start_soon(cancel)
        async with aio._Driver().running():
            nursery.start_soon(trio.sleep_forever)  # not reached
    assert threading.active_count() <= before + 2, "but Trio's own, which wait for more work"


async def test_what_is_declared_is_the_same() -> None:
    sample = Sample().plugin
    assert describe(aio.adapted(sample)) == describe(sample)


ALONE = '''
from homed import sdk
from homed.sdk import aio
import asyncio

plugin = sdk.Plugin("alone")

@plugin.tool(cls="read")
async def alone_ask(ctx: sdk.Context, text: str) -> str:
    """Say it back."""
    await asyncio.sleep(0)
    return text

if __name__ == "__main__":
    aio.run(plugin)
'''


async def test_as_a_process_of_its_own_it_passes_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "alone"
    folder.mkdir()
    (folder / "main.py").write_text(ALONE, "utf-8")
    (folder / "plugin.json").write_text('{"name": "alone", "version": "1", "entry": "python main.py"}', "utf-8")
    subprocess.run(  # noqa: ASYNC221 - nothing else runs in this test
        [sys.executable, "-m", "homed.sdk", "manifest", str(folder)], check=True, capture_output=True, env=os.environ
    )
    report = await check(folder)
    assert report.ok, report.text()


def test_nobody_who_does_not_ask_for_it_pays_for_asyncio() -> None:
    code = (
        "import sys; from homed import sdk; print([m for m in ('asyncio', 'pydantic', 'httpx2') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


async def test_a_cleaner_may_be_on_asyncio() -> None:
    plugin = sdk.Plugin("mail")
    plugin.input("mail")

    @plugin.cleaner("mail")
    async def clean(texts: Sequence[str]) -> list[str]:
        await asyncio.sleep(0)
        return [text.strip() for text in texts]

    async with harness(aio.adapted(plugin)) as kernel:
        assert await kernel.clean("mail", [" a ", "b"]) == ["a", "b"]
