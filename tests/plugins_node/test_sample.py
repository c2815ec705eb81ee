"""A plugin in plain Node: what docs/wire.md says is enough to write one."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import HomedError, TimedOut
from homed.events import Bus
from homed.host.discover import Broken, Installed
from homed.host.host import Host
from homed.host.states import Trust
from homed.sdk.check import check
from homed.store.db import open_store
from homed.wire.manifest import load_manifest
from tests.kit.hosting import hosting

pytestmark = pytest.mark.node
HERE = Path(__file__).parent
WIRE = Path(__file__).parents[2] / "homed" / "sdk" / "template" / "node" / "wire.js"
NAME = "node_sample"


def put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for file in (HERE / "main.js", HERE / "plugin.json", WIRE):
        shutil.copy(file, folder)
    return folder


@asynccontextmanager
async def sample(tmp_path: Path, **options: Any) -> AsyncIterator[Host]:
    """The plugin as somebody installed it, allowed to hear of notices."""
    folder = put(tmp_path / "data" / "plugins" / NAME)
    async with open_store(tmp_path / "data" / "homed.db") as store:
        row = (NAME, "events.notices")
        await store.write(
            lambda tx: tx.execute("INSERT INTO grants (plugin, capability, granted_at) VALUES (?, ?, 0.0)", row)
        )
    found: list[Installed | Broken] = [Installed(load_manifest(folder), folder, Trust.EXTERNAL)]
    async with hosting(tmp_path, found=found, **options) as host:
        with trio.fail_after(60):
            await host.wait_ready(NAME)
        yield host


async def call(host: Host, name: str, timeout: float = 10, **args: object) -> Any:
    params = {"tool": name, "args": args, "call": "t", "timeout": timeout, "context": {}}
    return await host.call(NAME, "tool.invoke", params, timeout=timeout)


async def test_the_checker_finds_nothing_though_it_prints(tmp_path: Path) -> None:
    report = await check(put(tmp_path / NAME))
    assert report.ok, report.text()


async def test_tools_answer_and_refuse(tmp_path: Path) -> None:
    async with sample(tmp_path) as host:
        assert await call(host, "node_reverse", text="茶 🍵") == {"content": "🍵 茶", "is_error": False}
        wrong = await call(host, "node_reverse")
        assert wrong["is_error"]
        assert "Give a text" in wrong["content"]
        assert (await call(host, "node_reverse", text="x" * 900_000))["content"] == "x" * 900_000


async def test_a_cancelled_call_ends_at_once_and_says_so(tmp_path: Path) -> None:
    async with sample(tmp_path) as host:
        with pytest.raises(TimedOut, match="was stopped"):
            await call(host, "node_wait", timeout=0.2, seconds=30)
        assert (await call(host, "node_wait", seconds=0.01))["content"] == "waited"


async def test_notices_come_in_lines(tmp_path: Path) -> None:
    bus = Bus()
    async with sample(tmp_path, bus=bus) as host:
        before = (await call(host, "node_heard"))["content"]["count"]
        for _ in range(20):
            bus.post("turn", data={"phase": "start"})
        with trio.fail_after(60):
            while (heard := (await call(host, "node_heard"))["content"])["count"] < before + 20:
                await trio.lowlevel.checkpoint()
        assert (heard["last"], heard["lost"]) == ("turn", 0)


async def test_a_stage_handler_answers_with_what_changed(tmp_path: Path) -> None:
    async with sample(tmp_path) as host:
        fields = {"raw_message": "/whisper Tee, 茶"}
        params = {"stage": "on_input", "seq": 1, "call": "t", "fields": fields}
        assert await host.call(NAME, "stage.invoke", params, timeout=10) == {"changes": {"raw_message": "tee, 茶"}}


async def test_a_program_that_it_starts_cannot_speak_on_the_wire(tmp_path: Path) -> None:
    async with sample(tmp_path) as host:
        assert (await call(host, "node_child"))["content"] == "it ran"
        assert (await call(host, "node_reverse", text="ab"))["content"] == "ba"
        with trio.fail_after(60):
            while "rubbish" not in (log := "\n".join(host.logs(NAME, 50))):
                await trio.lowlevel.checkpoint()
        assert "this goes to the log" in log
        pid = host.status(NAME).pid
        wires = [fd for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) < 2]
        assert all("pipe" not in os.readlink(f"/proc/{pid}/fd/{fd}") or fd == "1" for fd in wires)


async def test_a_crash_is_a_crash_and_it_comes_back(tmp_path: Path) -> None:
    async with sample(tmp_path) as host:
        with pytest.raises(HomedError):
            await call(host, "node_crash")
        with trio.fail_after(60):
            await host.wait_ready(NAME)
        assert (await call(host, "node_reverse", text="ab"))["content"] == "ba"
