"""The fake kernel for plugins that run as processes, and what it says when one does not behave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel

from homed import sdk
from homed.errors import ConfigError, HomedError
from homed.sdk.scaffold import new
from homed.sdk.testing import harness, program


async def test_a_folder_runs_as_a_process_with_settings_and_leaves(tmp_path: Path) -> None:
    folder = await new("hello", tmp_path)
    async with program(folder, settings={"greeting": "你好"}) as kernel:
        assert (await kernel.invoke("hello_greet", who="Ada")).content == "你好, Ada!"
        await kernel.set("greeting", "Hi")
        assert (await kernel.invoke("hello_greet", who="Ada")).content == "Hi, Ada!"
        assert (await kernel.invoke("hello_greet", whom="Ada")).is_error


def rewrite(folder: Path, text: str) -> None:
    (folder / "__main__.py").write_text(text, "utf-8")


async def test_what_it_prints_can_be_looked_at(tmp_path: Path) -> None:
    folder = await new("hello", tmp_path)
    main = (folder / "__main__.py").read_text("utf-8")
    rewrite(
        folder, main.replace("sdk.run", "import sys\nprint('ready to greet', file=sys.stderr, flush=True)\nsdk.run")
    )
    async with program(folder) as kernel:
        await kernel.invoke("hello_greet", who="Ada")
        with trio.fail_after(60):
            while "ready to greet" not in kernel.stderr:
                await trio.lowlevel.checkpoint()


async def test_one_that_does_not_start_raises_what_it_said(tmp_path: Path) -> None:
    folder = await new("hello", tmp_path)
    code = "raise sdk.ConfigError('No key yet.')"
    module = folder / "hello_plugin.py"
    text = module.read_text("utf-8")
    module.write_text(f"{text}\n\n@plugin.on_start\ndef start(kernel):\n    {code}\n", "utf-8")
    with pytest.raises(ConfigError, match="No key yet"):
        async with program(folder):
            raise AssertionError("it never came up")


async def test_what_fails_in_a_test_is_not_wrapped_and_the_plugin_ends_first(tmp_path: Path) -> None:
    plugin, ended = sdk.Plugin("a"), trio.Event()

    @plugin.main
    async def serve(kernel: sdk.Kernel) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    with pytest.raises(ZeroDivisionError):
        async with harness(plugin):
            raise ZeroDivisionError
    assert ended.is_set()
    folder = await new("hello", tmp_path)
    with pytest.raises(ZeroDivisionError):
        async with program(folder):
            raise ZeroDivisionError


async def test_one_that_does_not_leave_is_named_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homed.sdk.testing._LEAVE", 0.5)
    folder = await new("hello", tmp_path)
    main = (folder / "__main__.py").read_text("utf-8")
    rewrite(folder, main.replace("sdk.run(plugin)", "sdk.run(plugin)\nimport time\ntime.sleep(60)"))
    with pytest.RaisesGroup(pytest.RaisesExc(HomedError, match="still there 0.5 s after"), allow_unwrapped=True):
        async with program(folder) as kernel:
            await kernel.invoke("hello_greet", who="Ada")


async def test_a_reply_may_be_async() -> None:
    plugin = sdk.Plugin("asks")

    @plugin.tool(cls="read")
    async def ask(ctx: sdk.Context) -> Any:
        """Ask."""
        return await ctx.call("core.settings_get", {"key": "a"})

    async def later(params: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"value": params["key"] * 2}

    async with harness(plugin) as kernel:
        kernel.reply("core.settings_get", later)
        assert (await kernel.invoke("ask")).content == {"value": "aa"}
        assert json.dumps([call.method for call in kernel.calls]) == '["core.settings_get"]'
