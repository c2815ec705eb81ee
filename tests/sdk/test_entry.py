"""``sdk.run`` in a real process: private wires, a clean stop, and nothing left when the kernel dies."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import HomedError
from homed.proc.spawn import Child, Command, spawn
from homed.wire import methods
from homed.wire.stream import Connection, NoHandler
from tests.kit.processes import alive, until, until_gone, with_mark

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).with_name("sample.py")


class Plugin:
    """The sample plugin in a process, brought up as the kernel does it."""

    def __init__(self, child: Child, connection: Connection, mark: str) -> None:
        self.child = child
        self.connection = connection
        self.mark = mark
        self.broken: list[str] = []
        self.stderr = b""

    async def tool(self, tool: str, **args: Any) -> Any:
        params = {"tool": tool, "args": args, "call": "", "timeout": 60, "context": {}}
        return await self.connection.request(methods.TOOL_INVOKE, params)

    def processes(self) -> list[int]:
        """The plugin and all it started."""
        return with_mark(self.mark)


@asynccontextmanager
async def sample(data_dir: Path) -> AsyncIterator[Plugin]:
    mark = f"t{secrets.token_hex(4)}"
    env = {name: value for name, value in os.environ.items() if name not in ("HOMED_MARK", "PYTHONUNBUFFERED")}
    async with spawn(Command((sys.executable, str(SAMPLE)), ROOT, env), mark=mark) as child:
        broken: list[str] = []
        connection = Connection(child.stdout, child.stdin, NoHandler(), on_broken=broken.append)
        plugin = Plugin(child, connection, mark)
        plugin.broken = broken
        async with trio.open_nursery() as nursery:
            nursery.start_soon(collect, plugin)
            await nursery.start(connection.run)
            hello = {"protocol": 1, "core_version": "0", "name": "sample", "areas": {}}
            assert (await connection.request(methods.HANDSHAKE, hello))["pid"] == child.pid
            await connection.request(methods.INIT, {"config": {}, "data_dir": str(data_dir)})
            await connection.request(methods.START)
            yield plugin
            nursery.cancel_scope.cancel()


async def collect(plugin: Plugin) -> None:
    while data := bytes(await plugin.child.stderr.receive_some(65536)):
        plugin.stderr += data


async def test_nothing_but_the_protocol_reaches_the_wire(tmp_path: Path) -> None:
    """D1, C2: prints of the plugin and of its children go to its log."""
    async with sample(tmp_path) as plugin:
        assert await plugin.tool("sample_noise") == {"content": "quiet", "is_error": False}
        await until(lambda: b"a grandchild" in plugin.stderr)
        assert plugin.broken == []
        assert "a print 🔄" in plugin.stderr.decode()
        assert b"a child" in plugin.stderr


async def test_a_child_of_the_plugin_inherits_neither_the_wire_nor_a_stdin(tmp_path: Path) -> None:
    async with sample(tmp_path) as plugin:
        # stdin, stdout, stderr and the folder that ls reads; cat saw the end of /dev/null at once.
        assert (await plugin.tool("sample_stdin"))["content"] == "4"


async def test_text_crosses_both_ways_unharmed(tmp_path: Path) -> None:
    """A24"""
    async with sample(tmp_path) as plugin:
        text = "你好🌍\n" * 1000
        assert (await plugin.tool("sample_echo", text=text))["content"] == text


async def test_stop_is_answered_then_the_process_leaves_cleanly(tmp_path: Path) -> None:
    async with sample(tmp_path) as plugin:
        assert await plugin.connection.request(methods.STOP) == {}
        with trio.fail_after(60):
            ended = await plugin.child.wait()
        assert not ended.failed, plugin.stderr
        assert (tmp_path / "stopped").exists()


async def test_the_end_of_stdin_is_a_stop_too(tmp_path: Path) -> None:
    async with sample(tmp_path) as plugin:
        await plugin.child.stdin.aclose()
        with trio.fail_after(60):
            ended = await plugin.child.wait()
        assert not ended.failed, plugin.stderr
        assert (tmp_path / "stopped").exists()


async def test_a_cancelled_call_leaves_nothing_of_its_programs_within_two_seconds(tmp_path: Path) -> None:
    """C13: the whole tree, also what left the group; the plugin itself lives on."""
    async with sample(tmp_path) as plugin:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(plugin.tool, "sample_tree")
            await until(lambda: len(plugin.processes()) >= 4)
            nursery.cancel_scope.cancel()
        gone = await until(lambda: plugin.processes() == [plugin.child.pid])
        assert gone < 20  # two seconds, and what a slow and busy machine takes; it would be ten minutes
        assert (await plugin.tool("sample_echo", text="still here"))["content"] == "still here"


@pytest.mark.parametrize("tool", ["sample_tree", "sample_thread"])
async def test_sigterm_takes_the_programs_along(tmp_path: Path, tool: str) -> None:
    """C4"""
    async with sample(tmp_path) as plugin, trio.open_nursery() as nursery:
        nursery.start_soon(ignoring, plugin, tool)
        await until(lambda: len(plugin.processes()) >= 4 or tool == "sample_thread")
        plugin.child.signal_group(signal.SIGTERM)
        assert await until(lambda: plugin.processes() == []) < 20


async def ignoring(plugin: Plugin, tool: str) -> None:
    with pytest.raises(HomedError):
        await plugin.tool(tool)


@pytest.mark.kill
@pytest.mark.parametrize(("tool", "processes"), [("sample_tree", 4), ("sample_hang", 4), ("sample_thread", 1)])
async def test_when_the_kernel_is_killed_everything_is_gone_within_two_seconds(
    tmp_path: Path, tool: str, processes: int
) -> None:
    """C4: also with a hung event loop, and with a thread that nobody can cancel."""
    mark = f"t{secrets.token_hex(4)}"
    argv = [sys.executable, "-m", "tests.sdk.doomed_kernel", tool, mark, str(tmp_path)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as kernel:  # noqa: ASYNC220 - it is to be orphaned
        assert kernel.stdout
        assert await trio.to_thread.run_sync(kernel.stdout.readline) == b"called\n"
        await until(lambda: len(with_mark(mark)) >= processes)
        if tool == "sample_hang":
            await until((tmp_path / "hung").exists)
        started = with_mark(mark)
        kernel.kill()
    assert await until_gone(started, within=60) < 20, "two seconds, and what a slow and busy machine takes"
    assert with_mark(mark) == []
    assert not any(alive(pid) for pid in started)


def test_describing_prints_json_and_runs_nothing() -> None:
    done = subprocess.run([sys.executable, str(SAMPLE), "--describe"], capture_output=True, cwd=ROOT, check=True)
    assert b'"sample_echo"' in done.stdout
    assert done.stderr == b""
