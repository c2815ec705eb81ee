"""A child leads its own session, and leaving the block leaves nothing of it: no process, no zombie, no fd."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from homed.errors import ConfigError
from homed.proc.marks import MARK
from homed.proc.reap import known
from homed.proc.spawn import Command, Exit, spawn
from tests.kit.processes import alive, open_fds, until, until_gone, until_written, with_mark, zombies

ENV = {"PATH": os.environ["PATH"]}


def sh(script: str, cwd: Path) -> Command:
    return Command(("sh", "-c", script), cwd, ENV)


def python(script: str, cwd: Path) -> Command:
    return Command((sys.executable, "-c", script), cwd, ENV)


async def test_the_child_has_a_session_of_its_own_its_mark_and_only_the_environment_it_was_given(
    tmp_path: Path,
) -> None:
    async with spawn(Command(("env",), tmp_path, {**ENV, "A": "ä"}), mark="m-env") as child:
        assert os.getsid(child.pid) == child.pid
        text = b"".join([bytes(chunk) async for chunk in child.stdout])
        assert (await child.wait()) == Exit(0)
    assert dict(line.split("=", 1) for line in text.decode().splitlines()) == {**ENV, "A": "ä", MARK: "m-env"}


@pytest.mark.parametrize(
    ("script", "expected", "words"),
    [("exit 3", Exit(3), "exit code 3"), ("kill -9 $$", Exit(-1, 9), "killed by SIGKILL"),
     ("exit 0", Exit(0), "exit code 0"), ("kill -TERM $$", Exit(-1, 15), "killed by SIGTERM")],
)  # fmt: skip
async def test_an_exit_tells_code_from_signal(tmp_path: Path, script: str, expected: Exit, words: str) -> None:
    async with spawn(sh(script, tmp_path), mark="m-exit") as child:
        seen = await child.wait()
        assert seen == expected == await child.wait()
        assert (str(seen), seen.failed) == (words, expected.code != 0)


async def test_any_number_of_tasks_may_wait_and_cancelling_one_hurts_no_other(tmp_path: Path) -> None:
    seen: list[Exit] = []

    async def wait() -> None:
        seen.append(await child.wait())

    async with spawn(sh("read x", tmp_path), mark="m-many") as child, trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        with trio.move_on_after(0.01):
            await child.wait()
        await child.stdin.aclose()
    assert seen == [Exit(1), Exit(1)]


TREE = """
import subprocess, os, sys
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pids = [subprocess.Popen(["sleep", "600"], start_new_session=new, **quiet).pid for new in (False, True)]
sh = subprocess.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!"], stdout=subprocess.PIPE)
pids.append(int(sh.stdout))
print(os.getpid(), *pids, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["leave", "cancel", "raise"])
async def test_the_whole_tree_is_gone_however_the_block_is_left(tmp_path: Path, how: str) -> None:
    """C13, E 22: in the group, out of the session, orphaned: nothing survives, no zombie, no fd stays open."""
    await trio.to_thread.run_sync(os.getpid)  # Trio's own thread cache, before the fds are counted
    before, pids = open_fds(), []
    with trio.CancelScope() as scope:
        try:
            async with spawn(python(TREE, tmp_path), mark=f"m-tree-{how}") as child:
                pids = [int(word) for word in bytes(await child.stdout.receive_some()).split()]
                assert len(pids) == 4
                assert all(alive(pid) for pid in pids)
                if how == "raise":
                    raise KeyError(how)
                if how == "cancel":
                    scope.cancel()
                    await trio.sleep_forever()
        except KeyError:
            assert how == "raise"
    await until_gone(pids, within=2)
    assert with_mark(f"m-tree-{how}") == []
    assert not set(zombies()) & set(pids)
    assert open_fds() == before
    assert known().pids == set()


async def test_cancelling_the_start_itself_leaves_no_child(tmp_path: Path) -> None:
    for _ in range(5):
        with trio.CancelScope() as scope:
            scope.cancel()
            async with spawn(sh("sleep 600", tmp_path), mark="m-start"):
                await trio.sleep_forever()
        assert scope.cancelled_caught
    assert with_mark("m-start") == []
    assert known().pids == set()


async def test_a_child_that_ignores_sigterm_and_does_not_read_is_gone_at_once(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    async with spawn(sh(f"trap '' TERM; echo x > {ready}; sleep 600", tmp_path), mark="m-deaf") as child:
        await until_written(ready)
        child.signal_group(signal.SIGTERM)
        pid = child.pid
        begun = trio.current_time()
    assert trio.current_time() - begun < 60
    assert not alive(pid)


async def test_two_children_of_one_kind_are_told_apart_when_one_is_stopped(tmp_path: Path) -> None:
    """C5: only what this child started is signalled, whatever other processes are called."""
    async with spawn(sh("setsid sleep 601 & sleep 601", tmp_path), mark="m-a"):
        async with spawn(sh("setsid sleep 601 & sleep 601", tmp_path), mark="m-b"):
            await until(lambda: len(with_mark("m-a")) == 3 and len(with_mark("m-b")) == 3)
        assert with_mark("m-b") == []
        assert len(with_mark("m-a")) == 3
    assert with_mark("m-a") == []


@pytest.mark.parametrize(
    ("argv", "cwd", "says"),
    [(("no-such-program-here",), ".", "There is no program no-such-program-here"), (("./data",), ".", "cannot be run"),
     (("true",), "missing", "does not exist"), (("./text",), ".", "cannot be run"),
     (("true", "x" * (1 << 20)), ".", "The arguments and environment for true are longer than the system takes")],
)  # fmt: skip
async def test_what_cannot_be_started_is_a_clear_error(
    tmp_path: Path, argv: tuple[str, ...], cwd: str, says: str
) -> None:
    (tmp_path / "data").write_bytes(b"no program")
    (tmp_path / "text").write_bytes(b"no program either")
    (tmp_path / "text").chmod(0o755)
    command = Command(argv, tmp_path / cwd, ENV)
    with pytest.raises(ConfigError, match=says) as caught:
        async with spawn(command, mark="m-none"):
            raise AssertionError("it started")
    assert caught.value.hint
    assert known().starting == 0


async def test_passed_file_descriptors_keep_their_numbers(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        script = f"import os; os.write({writer}, b'hi')"
        async with spawn(Command((sys.executable, "-c", script), tmp_path, ENV, (writer,)), mark="m-fd") as child:
            assert await child.wait() == Exit(0)
    finally:
        os.close(writer)
    async with trio.lowlevel.FdStream(reader) as pipe:
        assert await pipe.receive_some() == b"hi"
