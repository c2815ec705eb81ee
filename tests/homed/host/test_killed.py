"""A small daemon of its own: killed with -9 its plugins do not live on (C4), and their orphans are its to bury (C3)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from homed.host.states import State
from homed.proc.marks import stat_fields
from tests.kit.hosting import hosting
from tests.kit.processes import alive, until, until_gone, with_mark

ROOT = Path(__file__).parents[3]


async def start_small_host(tmp_path: Path, **modes: str) -> tuple[trio.Process, list[int]]:
    """Run a small daemon with these plugins; its process and, once they are ready, their pids."""
    argv = [sys.executable, "-m", "tests.kit.children.small_host", str(tmp_path)]
    argv += [f"{name}={mode}" for name, mode in modes.items()]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    process = await trio.lowlevel.open_process(argv, stdout=-1, stderr=-3, env=env, cwd=ROOT)
    assert process.stdout is not None
    async with process.stdout:
        pids = [int(word) for word in bytes(await process.stdout.receive_some()).split()]
    assert len(pids) == len(modes)
    assert all(alive(pid) for pid in pids)
    return process, pids


async def kill_small_host(tmp_path: Path, **modes: str) -> list[int]:
    """Run a small daemon with these plugins, kill it with -9 once they are ready, and return their pids."""
    process, pids = await start_small_host(tmp_path, **modes)
    os.kill(process.pid, signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    return pids


def children_of(pid: int) -> list[int]:
    """Its children, dead or alive, as long as nobody has collected them."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [child for child in pids if stat_fields(child)[1:2] == [str(pid)]]


async def test_c3_an_orphan_of_a_living_plugin_is_reaped_as_soon_as_it_ends(tmp_path: Path) -> None:
    process, (plugin,) = await start_small_host(tmp_path, tree="grandchildren")
    try:
        await until(lambda: len(children_of(process.pid)) == 3)
        for orphan in set(children_of(process.pid)) - {plugin}:
            os.kill(orphan, signal.SIGKILL)
        await until(lambda: children_of(process.pid) == [plugin])
        assert alive(plugin)
    finally:
        process.send_signal(signal.SIGTERM)  # not SIGINT: what runs in the background of a shell inherits it ignored
        with trio.fail_after(60):
            await process.wait()


@pytest.mark.kill
async def test_c4_every_plugin_is_gone_within_five_seconds_after_kill_9_of_the_daemon(tmp_path: Path) -> None:
    pids = await kill_small_host(tmp_path, one="good", two="good", noisy="banner")
    assert await until_gone(pids, within=5) < 5


@pytest.mark.kill
async def test_c4_what_plugins_left_behind_is_ended_when_homed_starts_again(tmp_path: Path) -> None:
    pids = await kill_small_host(tmp_path, tree="grandchildren")
    await until_gone(pids, within=60)
    async with hosting(tmp_path) as host:
        family = host._family
        await host.wait_ready("tree")
        assert host.status("tree").state is State.READY
        left = [pid for pid in with_mark(family, group=True) if os.getsid(pid) in pids]
        assert left == []
        await until(lambda: len(with_mark(family, group=True)) == 5)
    assert with_mark(family, group=True) == []
