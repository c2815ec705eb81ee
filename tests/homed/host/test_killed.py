"""Fault C4: the daemon is killed with -9, and its plugins do not live on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from homed.host.states import State
from tests.kit.hosting import hosting
from tests.kit.processes import alive, until_gone, with_mark

ROOT = Path(__file__).parents[3]


async def kill_small_host(tmp_path: Path, **modes: str) -> list[int]:
    """Run a small daemon with these plugins, kill it with -9 once they are ready, and return their pids."""
    argv = [sys.executable, "-m", "tests.kit.children.small_host", str(tmp_path)]
    argv += [f"{name}={mode}" for name, mode in modes.items()]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    process = await trio.lowlevel.open_process(argv, stdout=-1, env=env, cwd=ROOT)
    assert process.stdout is not None
    async with process.stdout:
        pids = [int(word) for word in bytes(await process.stdout.receive_some()).split()]
        assert len(pids) == len(modes)
        assert all(alive(pid) for pid in pids)
        os.kill(process.pid, signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
    return pids


@pytest.mark.kill
async def test_c4_every_plugin_is_gone_within_five_seconds_after_kill_9_of_the_daemon(tmp_path: Path) -> None:
    pids = await kill_small_host(tmp_path, one="good", two="good", noisy="banner")
    assert await until_gone(pids, within=5) < 5


@pytest.mark.kill
async def test_c4_what_plugins_left_behind_is_ended_when_homed_starts_again(tmp_path: Path) -> None:
    pids = await kill_small_host(tmp_path, tree="grandchildren")
    await until_gone(pids, within=5)
    async with hosting(tmp_path) as host:
        family = host._family
        await host.wait_ready("tree")
        assert host.status("tree").state is State.READY
        left = [pid for pid in with_mark(family, group=True) if os.getsid(pid) in pids]
        assert left == []
        assert len(with_mark(family, group=True)) == 5
    assert with_mark(family, group=True) == []
