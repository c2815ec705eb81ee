"""Strays are found by the mark in their environment, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from homed.proc.marks import kill_marked, marked, owns
from homed.proc.spawn import Command, spawn
from tests.kit.processes import with_mark

ENV = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("environ", "owned"),
    [
        (b"PATH=/bin\0HOMED_MARK=a:b\0X=1\0", True),
        (b"HOMED_MARK=a:b/7", True),
        (b"HOMED_MARK=a:b/7/8\0", True),
        (b"HOMED_MARK=a:bc\0", False),
        (b"HOMED_MARK=a\0", False),
        (b"NOT_HOMED_MARK=a:b\0", False),
        (b"X=HOMED_MARK=a:b\0", False),
        (b"", False),
    ],
)
def test_a_mark_owns_itself_and_what_is_nested_in_it(environ: bytes, owned: bool) -> None:
    assert owns("a:b", environ) is owned


async def test_a_nested_mark_is_killed_without_its_parent_and_a_family_as_a_whole(tmp_path: Path) -> None:
    sleep = Command(("sleep", "600"), tmp_path, ENV)
    async with (
        spawn(sleep, mark="fam1:p:1") as parent,
        spawn(sleep, mark="fam1:p:1/5") as call,
        spawn(sleep, mark="fam1:q:2") as sibling,
        spawn(sleep, mark="fam11:q:2") as stranger,
    ):
        assert kill_marked("fam1:p:1/5") == 1
        await call.wait()
        assert set(with_mark("fam1", group=True)) == {parent.pid, sibling.pid}
        assert await trio.to_thread.run_sync(lambda: kill_marked("fam1", group=True)) >= 2
        await parent.wait()
        await sibling.wait()
        assert with_mark("fam11", group=True) == [stranger.pid]


async def test_a_process_never_finds_itself_or_its_ancestors(tmp_path: Path) -> None:
    import sys

    script = (
        "import subprocess,sys,os\n"
        "from homed.proc.marks import marked\n"
        "print(os.getpid() in marked('self'), os.getppid() in marked('self'), flush=True)\n"
    )
    env = {**ENV, "PYTHONPATH": str(Path(__file__).parents[3])}
    shell = Command(("sh", "-c", '"$0" -c "$1"; true', sys.executable, script), tmp_path, env)
    async with spawn(shell, mark="self") as child:
        text = b"".join([bytes(chunk) async for chunk in child.stdout])
    assert text == b"False False\n"
    assert os.getpid() not in marked("self")
