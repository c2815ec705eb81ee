"""A plugin in C, built here: what docs/wire.md says is enough to write one, shared memory and all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import TimedOut
from homed.events import Bus
from homed.host.host import Host
from homed.host.states import State
from homed.proc.marks import stat_fields
from homed.sdk.check import check
from homed.wire.layout.ring import NUMBERS, SLOTS
from tests.kit.hosting import hosting
from tests.kit.processes import until

pytestmark = pytest.mark.cc
HERE = Path(__file__).parent
KIT = Path(__file__).parents[2] / "homed" / "sdk" / "template" / "c"
NAME = "c_sample"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's folder with its program, and the same program with the compiler's checks of every memory access."""
    folder = tmp_path_factory.mktemp("c") / NAME
    folder.mkdir()
    for name in ("sample.c", "areas.h", "Makefile", "plugin.json"):
        shutil.copy(HERE / name, folder)
    for more, name in (("-g -fsanitize=address,undefined -fno-sanitize-recover", "checked"), ("", "sample")):
        subprocess.run(["make", "-s", f"KIT={KIT}", f"CPPFLAGS={more}"], cwd=folder, check=True, capture_output=True)
        (folder / "sample").rename(folder / name)
    return folder


@asynccontextmanager
async def sample(built: Path, tmp_path: Path, **options: Any) -> AsyncIterator[Host]:
    shutil.copytree(built, tmp_path / "packaged" / NAME)
    manifest = json.loads((built / "plugin.json").read_text("utf-8"))
    async with hosting(tmp_path, manifest, **options) as host:
        with trio.fail_after(60):
            await host.wait_ready(NAME)
        yield host


async def tool(host: Host, name: str, timeout: float = 10, **args: object) -> Any:
    params = {"tool": name, "args": args, "call": "t", "timeout": timeout, "context": {}}
    result = await host.call(NAME, "tool.invoke", params, timeout=timeout)
    assert isinstance(result, dict)
    assert result["is_error"] is False, result
    return result["content"]


async def test_the_checker_finds_nothing(built: Path) -> None:
    report = await check(built)
    assert report.ok, report.text()


@pytest.mark.parametrize("text", ["", '茶 🍵 "quoted" \\ \n\t\x01', "x" * 40_000, "é" * 3_000_000], ids=len)
async def test_arguments_come_whole_small_by_line_and_large_by_arena(built: Path, tmp_path: Path, text: str) -> None:
    data = text.encode()
    async with sample(built, tmp_path) as host:
        assert await tool(host, "c_count", text=text) == f"{len(data)} bytes, crc {zlib.crc32(data):08x}"


async def test_results_come_whole_small_by_line_and_large_by_arena(built: Path, tmp_path: Path) -> None:
    async with sample(built, tmp_path) as host:
        assert await tool(host, "c_repeat", text='ab"\n', times=2) == 'ab"\nab"\n'
        for _ in range(4):  # more than the arena holds if anything of it were kept
            assert await tool(host, "c_repeat", text="茶", times=8_000_000) == "茶" * 8_000_000
        async with trio.open_nursery() as nursery:  # several at once, each into a block of its own

            async def one(letter: str) -> None:
                assert await tool(host, "c_repeat", text=letter, times=1_000_000) == letter * 1_000_000

            for letter in "abcd":
                nursery.start_soon(one, letter)


async def test_a_cancelled_call_ends_at_once_and_says_so(built: Path, tmp_path: Path) -> None:
    async with sample(built, tmp_path) as host:
        begun = trio.current_time()
        with pytest.raises(TimedOut, match="was stopped"):
            await tool(host, "c_wait", timeout=0.2, seconds=30)
        assert trio.current_time() - begun < 25  # the work itself takes 30 s
        assert await tool(host, "c_wait", seconds=0.01) == "waited"


async def test_events_come_by_the_ring_and_the_lost_are_counted(built: Path, tmp_path: Path) -> None:
    bus = Bus()
    async with sample(built, tmp_path, bus=bus) as host:
        pid = host.status(NAME).pid
        assert pid is not None
        before = await tool(host, "c_heard")
        assert before["by"] == "ring"
        for _ in range(50):
            bus.post("turn", data={"phase": "start"})
        with trio.fail_after(60):
            while (after := await tool(host, "c_heard"))["heard"] < before["heard"] + 50:
                await trio.lowlevel.checkpoint()
        assert (after["heard"], after["lost"], after["last"]) == (before["heard"] + 50, 0, str(NUMBERS["turn"]))
        os.kill(pid, signal.SIGSTOP)
        await until(lambda: stat_fields(pid)[0] == "T")
        for _ in range(20_000):
            bus.post("turn", data={"phase": "start"})
        os.kill(pid, signal.SIGCONT)
        with trio.fail_after(60):
            while (seen := await tool(host, "c_heard"))["heard"] + seen["lost"] < after["heard"] + 20_000:
                await trio.lowlevel.checkpoint()
        assert seen["heard"] + seen["lost"] == after["heard"] + 20_000, "it knows exactly how many"
        assert seen["lost"] == 20_000 - SLOTS


@pytest.mark.parametrize("by", ["segment", "line", "arena"])
@pytest.mark.parametrize("size", [4, 200_000])
async def test_a_stage_handler_reads_its_fields_and_answers_with_what_changed(
    built: Path, tmp_path: Path, by: str, size: int
) -> None:
    size = 200_000 if by == "arena" else min(size, 60_000) if by == "line" else size
    fields = {"phase": "on_input", "raw_message": "/shout " + "Tee, 茶" * (size // 4), "user_id": "x"}
    other = {"phase": "on_input", "raw_message": "nothing to shout", "tool_calls": []}
    async with sample(built, tmp_path) as host:

        async def stage(given: Mapping[str, object]) -> Any:
            if by != "segment":
                params: dict[str, object] = {"stage": "on_input", "seq": 1, "call": "t", "fields": given}
                return await host.call(NAME, "stage.invoke", params, timeout=10)
            assert host.segment.reads(NAME)
            async with host.segment.held(given, timeout=5) as seq:
                return await host.call(NAME, "stage.invoke", {"stage": "on_input", "seq": seq, "call": "t"}, timeout=10)

        assert await stage(fields) == {"changes": {"raw_message": "TEE, 茶" * (size // 4)}}
        assert await stage(other) == {"changes": {}}


def descriptors(pid: int) -> dict[int, int]:
    """A process's open descriptors with their flags."""
    numbers = [int(name) for name in os.listdir(f"/proc/{pid}/fdinfo")]
    told = {fd: Path(f"/proc/{pid}/fdinfo/{fd}").read_text("ascii") for fd in numbers}
    return {fd: int(text.split("flags:")[1].split()[0], 8) for fd, text in told.items()}


async def test_nothing_of_homed_reaches_it_by_inheritance_and_it_leaves_when_homed_does(
    built: Path, tmp_path: Path
) -> None:
    async with sample(built, tmp_path) as host:
        pid = host.status(NAME).pid
        assert pid is not None
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2"), "what prints goes to the log"
        closing = [flags & os.O_CLOEXEC for fd, flags in descriptors(pid).items() if fd > 2]
        assert closing
        assert all(closing), "no program that it starts gets one of them"
        with trio.fail_after(60):
            await host.stop(NAME)
        assert host.status(NAME).state is State.STOPPED
    assert pid not in map(int, filter(str.isdigit, os.listdir("/proc")))


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"{]\n[\n\xff\n" + b"[" * 1000 + b"\n",
        b'{"id":1,"method":"tool.invoke"}\n{"id":{},"method":3}\n',
        b"x" * 2_000_000,
    ],
    ids=["eof", "no json", "odd requests", "endless line"],
)
def test_it_leaves_on_eof_and_no_line_makes_it_crash(built: Path, lines: bytes) -> None:
    ended = subprocess.run([built / "checked"], input=lines, capture_output=True, timeout=20, check=False)
    assert ended.returncode == 0, ended.stderr
    assert all(json.loads(line) for line in ended.stdout.splitlines())


def test_python_is_no_part_of_it(built: Path) -> None:
    needed = subprocess.run(["ldd", built / "sample"], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
    assert sys.executable not in needed
