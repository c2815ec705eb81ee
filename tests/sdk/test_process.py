"""``sdk.process.run`` with real programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from homed import sdk
from homed.errors import ConfigError
from homed.proc.marks import MARK
from homed.sdk.process import environment, own_mark
from tests.kit.processes import until, with_mark


async def test_a_program_gets_its_input_and_its_output_comes_back(tmp_path: Path) -> None:
    done = await sdk.process.run(["cat"], cwd=tmp_path, input="你好🌍".encode())
    assert (done.stdout.decode(), done.exit.code, done.truncated, done.timed_out) == ("你好🌍", 0, False, False)


async def test_the_exit_code_and_both_streams_are_told_apart(tmp_path: Path) -> None:
    done = await sdk.process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=tmp_path)
    assert (done.stdout, done.stderr, done.exit.code) == (b"out\n", b"err\n", 3)


async def test_after_the_time_limit_the_output_so_far_is_there(tmp_path: Path) -> None:
    done = await sdk.process.run(["sh", "-c", "echo begun; sleep 600"], cwd=tmp_path, timeout=0.3)
    assert done.timed_out
    assert done.stdout == b"begun\n"


async def test_output_is_bounded(tmp_path: Path) -> None:
    done = await sdk.process.run(["sh", "-c", "yes | head -c 3000000"], cwd=tmp_path, limit=1000)
    assert done.truncated
    assert len(done.stdout) < 1200


async def test_cancelling_kills_the_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C13"""
    monkeypatch.setenv(MARK, f"t{os.getpid()}x")
    async with trio.open_nursery() as nursery:

        async def tree() -> None:
            await sdk.process.run(["sh", "-c", "setsid sleep 600 & sleep 600 & wait"], cwd=tmp_path)

        nursery.start_soon(tree)
        await until(lambda: len(with_mark(own_mark())) >= 3)
        nursery.cancel_scope.cancel()
    assert with_mark(own_mark()) == []


async def test_no_such_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no program nonesuch"):
        await sdk.process.run(["nonesuch"], cwd=tmp_path)


async def test_homeds_own_variables_do_not_reach_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMED_SOCKET", "/secret")
    assert "HOMED_SOCKET" not in environment()
    done = await sdk.process.run([sys.executable, "-c", "import os; print(*os.environ)"], cwd=tmp_path)
    assert {n for n in done.stdout.decode().split() if n.startswith("HOMED_")} == {MARK}


async def test_a_given_environment_is_the_whole_of_it(tmp_path: Path) -> None:
    done = await sdk.process.run(["/usr/bin/env"], cwd=tmp_path, env={"A": "1"})
    assert done.stdout.startswith(b"A=1\n")
    assert b"PATH=" not in done.stdout


def test_without_a_kernel_the_mark_is_this_processs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MARK, raising=False)
    assert own_mark() == f"sdk-{os.getpid()}"
