"""The plugin's end of the wire, against a kernel in memory."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed import sdk
from homed.errors import HomedError, InvalidInput, NotFound, ProtocolError, Stopped, Unavailable
from homed.sdk.testing import harness
from homed.wire import methods


async def test_an_async_tool_and_a_plain_one_answer_alike() -> None:
    plugin = sdk.Plugin("a")
    threads: list[bool] = []

    @plugin.tool()
    async def on_trio(ctx: sdk.Context, n: int) -> dict[str, int]:
        threads.append(threading.current_thread() is threading.main_thread())
        return {"n": n}

    @plugin.tool()
    def in_thread(ctx: sdk.Context, n: int) -> list[int]:
        threads.append(threading.current_thread() is threading.main_thread())
        return [n]

    @plugin.tool()
    async def nothing(ctx: sdk.Context) -> None:
        return None

    async with harness(plugin) as kernel:
        assert (await kernel.invoke("on_trio", n=1)).content == {"n": 1}
        assert (await kernel.invoke("in_thread", n=2)).content == [2]
        assert (await kernel.invoke("nothing")).content == ""
    assert threads == [True, False]


async def test_the_context_says_for_whom_it_runs() -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def who(ctx: sdk.Context) -> str:
        return f"{ctx.peer} {ctx.role} {ctx.scope} {ctx.thread} {ctx.turn} {ctx.channel} {ctx.timeout}"

    async with harness(plugin) as kernel:
        kernel.context |= {"peer": "qq:7", "role": "guest", "scope": "guest:qq:7"}
        assert (await kernel.invoke("who")).content == "qq:7 guest guest:qq:7 thr_test turn_test test 60"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (sdk.ToolError("No such file.", hint="Try ls."), "No such file. Try ls."),
        (ExceptionGroup("nursery", [sdk.ToolError("Inside.")]), "Inside."),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (sdk.ConfigError("No key.", hint="Set one."), "No key. Set one."),
        (SystemExit(3), "SystemExit: 3"),
        (BaseExceptionGroup("nursery", [SystemExit(3)]), "SystemExit: 3"),
        (GeneratorExit("over"), "GeneratorExit: over"),
        (asyncio.CancelledError("x"), "CancelledError: x"),
    ],
)
async def test_whatever_a_tool_raises_is_its_result_and_the_plugin_lives_on(
    error: BaseException, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def fail(ctx: sdk.Context) -> None:
        raise error

    async with harness(plugin) as kernel:
        result = await kernel.invoke("fail")
        assert (result.content, result.is_error) == (text, True)
        await kernel.call(methods.PING)


async def test_a_handler_that_would_end_the_process_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    plugin = sdk.Plugin("a")

    @plugin.stage("on_input")
    def stage(ctx: sdk.Context, fields: Mapping[str, Any]) -> None:
        sys.exit("stage")

    @plugin.output("o")
    async def output(ctx: sdk.Context, content: object) -> str:
        raise BaseExceptionGroup("nursery", [SystemExit("output")])

    @plugin.on("event")
    async def hear(notice: sdk.Notice) -> None:
        heard.set()
        raise SystemExit("event")

    heard = trio.Event()
    async with harness(plugin) as kernel:
        with pytest.raises(HomedError, match="SystemExit: stage"):
            await kernel.stage("on_input", {})
        with pytest.raises(HomedError, match="SystemExit: output"):
            await kernel.output("o", "x")
        await kernel.emit("turn")
        await heard.wait()
        await kernel.call(methods.PING)


async def test_a_cancellation_comes_through_a_handler_that_also_wants_to_end(caplog: pytest.LogCaptureFixture) -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def stubborn(ctx: sdk.Context) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise SystemExit(3)

    async with harness(plugin) as kernel:
        with trio.move_on_after(0.05) as limit:
            await kernel.invoke("stubborn")
        assert limit.cancelled_caught
        await kernel.call(methods.PING)


async def test_the_traceback_of_an_unexpected_failure_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    def fail(ctx: sdk.Context) -> None:
        raise ZeroDivisionError("by nought")

    async with harness(plugin) as kernel:
        await kernel.invoke("fail")
    assert "Traceback" in caplog.text
    assert "by nought" in caplog.text


async def test_wrong_arguments_are_an_error_the_model_reads() -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def read(ctx: sdk.Context, path: str) -> str:
        return path

    async with harness(plugin) as kernel:
        assert "needs the argument path" in (await kernel.invoke("read")).content
        assert "no argument pth" in (await kernel.invoke("read", pth=1, path="")).content
        with pytest.raises(InvalidInput, match="args must be an object"):
            await kernel.call(methods.TOOL_INVOKE, {"tool": "read", "args": []})
        with pytest.raises(NotFound, match="no tool 'write'"):
            await kernel.invoke("write")
        with pytest.raises(InvalidInput, match="tool must be a name"):
            await kernel.call(methods.TOOL_INVOKE, {"tool": 3})


async def test_a_cancelled_call_cancels_its_handler_only() -> None:
    """C13"""
    plugin = sdk.Plugin("a")
    cancelled: list[str] = []
    running = trio.Event()

    @plugin.tool()
    async def wait(ctx: sdk.Context, name: str) -> str:
        running.set()
        try:
            await trio.sleep(0 if name == "quick" else 3600)
        except trio.Cancelled:
            cancelled.append(name)
            raise
        return name

    async with harness(plugin) as kernel:
        async with trio.open_nursery() as nursery:

            async def invoke() -> None:
                await kernel.invoke("wait", name="slow")

            nursery.start_soon(invoke)
            await running.wait()
            nursery.cancel_scope.cancel()
        assert cancelled == ["slow"]
        assert (await kernel.invoke("wait", name="quick")).content == "quick"


async def test_stop_cancels_calls_and_main_and_answers_all_of_them() -> None:
    plugin = sdk.Plugin("a")
    ended: list[str] = []

    @plugin.tool()
    async def wait(ctx: sdk.Context) -> None:
        await trio.sleep_forever()

    @plugin.main
    async def serve(kernel: sdk.Kernel) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("main")

    async with harness(plugin) as kernel:

        async def invoke() -> None:
            with pytest.raises(Stopped, match="is stopping"):
                await kernel.invoke("wait")
            ended.append("call")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(invoke)
            await trio.testing.wait_all_tasks_blocked()
            assert await kernel.call(methods.STOP) == {}
        assert sorted(ended) == ["call", "main"]
        with pytest.raises(Unavailable):
            await kernel.call(methods.PING)


async def test_main_starts_only_after_start_and_its_failure_is_a_crash() -> None:
    plugin = sdk.Plugin("a")

    @plugin.main
    async def serve(kernel: sdk.Kernel) -> None:
        raise OSError("port in use")

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="port in use"), flatten_subgroups=True):
        async with harness(plugin, start=False) as kernel:
            await trio.testing.wait_all_tasks_blocked()
            await kernel.start({}, Path("/nowhere"))
            await trio.sleep_forever()


async def test_a_start_that_wants_configuring_says_so_by_code() -> None:
    plugin = sdk.Plugin("a")

    @plugin.on_start
    def start(kernel: sdk.Kernel) -> None:
        raise sdk.ConfigError("No address.", hint="Set plugin.a.address.")

    async with harness(plugin, start=False) as kernel:
        with pytest.raises(sdk.ConfigError, match="No address") as caught:
            await kernel.start({}, Path("/nowhere"))
        assert caught.value.hint == "Set plugin.a.address."


async def test_what_is_registered_is_what_was_declared() -> None:
    plugin = sdk.Plugin("a")
    plugin.input("in")

    @plugin.tool()
    async def t(ctx: sdk.Context) -> None: ...

    @plugin.stage("on_input", order=2, on_failure="closed")
    async def s(ctx: sdk.Context, fields: Mapping[str, Any]) -> None: ...

    @plugin.output("out", description="Out.")
    async def o(ctx: sdk.Context, content: object) -> str:
        return "ok"

    @plugin.schedule("poll")
    async def p(ctx: sdk.Context, due: object) -> None: ...

    async with harness(plugin) as kernel:
        assert kernel.registered == {
            "tools": ["t"],
            "stages": [{"stage": "on_input", "scope": "global", "order": 2, "on_failure": "closed"}],
            "outputs": [{"name": "out", "caps": ["text"], "description": "Out.", "format": "", "limit": 0}],
            "inputs": ["in"],
            "cleaners": [],
            "schedules": ["poll"],
        }


async def test_a_stage_answers_with_changed_fields_only() -> None:
    plugin = sdk.Plugin("a")

    @plugin.stage("on_input")
    async def scrub(ctx: sdk.Context, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return {"raw_message": "***"} if fields["raw_message"] else None

    @plugin.stage("before_output")
    def wrong(ctx: sdk.Context, fields: Mapping[str, Any]) -> Any:
        return fields["final_text"]

    async with harness(plugin) as kernel:
        assert await kernel.stage("on_input", {"raw_message": "secret", "user_id": "x"}) == {"raw_message": "***"}
        assert await kernel.stage("on_input", {"raw_message": ""}) == {}
        with pytest.raises(HomedError, match="no mapping"):
            await kernel.stage("before_output", {"final_text": "x"})
        with pytest.raises(NotFound, match="no handler for 'pre_action'"):
            await kernel.stage("pre_action", {})


async def test_a_failing_stage_is_an_error_so_that_the_kernel_can_close_it() -> None:
    plugin = sdk.Plugin("a")

    @plugin.stage("on_input", on_failure="closed")
    async def fail(ctx: sdk.Context, fields: Mapping[str, Any]) -> None:
        raise KeyError("oops")

    async with harness(plugin) as kernel:
        with pytest.raises(HomedError, match="KeyError"):
            await kernel.stage("on_input", {})


async def test_an_output_says_what_became_of_it() -> None:
    plugin = sdk.Plugin("a")
    answers: list[Any] = ["queued", {"status": "ok", "id": "m1"}, "done", None]

    @plugin.output("a")
    async def send(ctx: sdk.Context, content: object) -> Any:
        assert ctx.thread == "thr_test"
        return answers.pop(0)

    async with harness(plugin) as kernel:
        assert await kernel.output("a", "x") == {"status": "queued"}
        assert await kernel.output("a", "x") == {"status": "ok", "id": "m1"}
        for _ in range(2):
            with pytest.raises(HomedError, match="not ok, queued or unconfirmed"):
                await kernel.output("a", "x")
        with pytest.raises(NotFound):
            await kernel.output("b", "x")


async def test_a_cleaner_gives_back_as_many_texts() -> None:
    plugin = sdk.Plugin("a")
    answers: list[Any] = [["one"], "ab", [1, 2], None]
    plugin.input("a")

    @plugin.cleaner("a")
    def clean(texts: Sequence[str]) -> Any:
        return [text.strip() for text in texts] if len(texts) != 2 else answers.pop(0)

    with pytest.raises(ValueError, match="declared twice"):
        plugin.cleaner("a")(clean)
    async with harness(plugin) as kernel:
        assert kernel.registered["cleaners"] == ["a"]
        assert await kernel.clean("a", [" x ", "y", ""]) == ["x", "y", ""]
        with pytest.raises(HomedError, match="made 1 texts of 2"):
            await kernel.clean("a", ["x", "y"])
        for _ in range(3):
            with pytest.raises(HomedError, match="no list of texts"):
                await kernel.clean("a", ["x", "y"])
        with pytest.raises(NotFound, match="cleans no channel 'b'"):
            await kernel.clean("b", ["x"])


async def test_notices_settings_and_losses_are_heard_one_at_a_time_in_order() -> None:
    plugin = sdk.Plugin("a")
    heard: list[object] = []
    done = trio.Event()

    @plugin.on("event")
    async def on_event(notice: sdk.Notice) -> None:
        await trio.lowlevel.checkpoint()
        heard.append((notice.type, notice.data))

    @plugin.on("lost")
    def on_lost(count: int) -> None:
        heard.append(count)

    @plugin.on("settings")
    async def on_setting(key: str, value: object) -> None:
        heard.append((key, value))
        done.set()

    async with harness(plugin, settings={"k": 1}) as kernel:
        await kernel.emit("turn", phase="start")
        await kernel.lose(7)
        await kernel.emit("turn", phase="end")
        await kernel.set("k", 2)
        await done.wait()
    assert heard == [("turn", {"phase": "start"}), 7, ("turn", {"phase": "end"}), ("k", 2)]


async def test_a_handler_that_is_too_slow_loses_the_oldest_and_is_told_how_many() -> None:
    plugin = sdk.Plugin("a")
    seen: list[int] = []
    lost: list[int] = []
    gate, done = trio.Event(), trio.Event()

    @plugin.on("event")
    async def on_event(notice: sdk.Notice) -> None:
        await gate.wait()
        seen.append(notice.data["n"])
        if notice.data["n"] == 5000:
            done.set()

    @plugin.on("lost")
    async def on_lost(count: int) -> None:
        lost.append(count)

    async with harness(plugin) as kernel:
        for n in range(5001):
            await kernel.emit("turn", n=n)
        await kernel.call(methods.PING)
        gate.set()
        await done.wait()
    assert len(seen) + sum(lost) == 5001
    assert sum(lost) > 0
    assert seen[1:] == list(range(5001 - len(seen) + 1, 5001))


async def test_a_failing_handler_is_logged_and_hears_the_next(caplog: pytest.LogCaptureFixture) -> None:
    plugin = sdk.Plugin("a")
    second = trio.Event()

    @plugin.on("event")
    async def on_event(notice: sdk.Notice) -> None:
        if notice.data["n"] == 1:
            raise KeyError("first")
        second.set()

    async with harness(plugin) as kernel:
        await kernel.emit("turn", n=1)
        await kernel.emit("turn", n=2)
        await second.wait()
    assert "first" in caplog.text


async def test_settings_are_live() -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def show(ctx: sdk.Context) -> object:
        return ctx.settings["k"]

    async with harness(plugin, settings={"k": 1}) as kernel:
        assert (await kernel.invoke("show")).content == 1
        await kernel.set("k", {"deep": 2})
        assert (await kernel.invoke("show")).content == {"deep": 2}


async def test_another_protocol_is_refused_with_both_versions_and_what_to_do() -> None:
    async with harness(sdk.Plugin("a"), start=False) as kernel:
        with pytest.raises(ProtocolError, match=r"homed 9\.9 speaks plugin protocol 2.*speaks 1") as caught:
            await kernel.call(methods.HANDSHAKE, {"protocol": 2, "core_version": "9.9", "name": "a"})
        assert "Install" in caught.value.hint


async def test_another_name_is_refused() -> None:
    async with harness(sdk.Plugin("a"), start=False) as kernel:
        with pytest.raises(sdk.ConfigError, match=r"plugin\.json says 'b', the plugin itself says 'a'"):
            await kernel.call(methods.HANDSHAKE, {"protocol": 1, "core_version": "9.9", "name": "b"})


async def test_calls_out_of_order_are_refused_and_unknown_ones_named() -> None:
    plugin = sdk.Plugin("a")

    @plugin.tool()
    async def t(ctx: sdk.Context) -> None: ...

    @plugin.on_start
    async def start(kernel: sdk.Kernel) -> None: ...

    async with harness(plugin, start=False) as kernel:
        with pytest.raises(ProtocolError, match="init comes first"):
            await kernel.call(methods.START)
        await kernel.start({}, Path("/nowhere"))
        with pytest.raises(ProtocolError, match="comes once"):
            await kernel.call(methods.INIT, {"config": {}, "data_dir": "/nowhere"})
        with pytest.raises(NotFound, match=r"no method 'plugin\.dance'"):
            await kernel.call("plugin.dance")
