"""A program run within limits of time and output."""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from homed.proc.bounded import Excerpt, run_bounded
from homed.proc.spawn import Command, Exit
from tests.kit.processes import alive, until_gone, with_mark

ENV = {"PATH": os.environ["PATH"]}


def sh(script: str, cwd: Path) -> Command:
    return Command(("sh", "-c", script), cwd, ENV)


async def test_input_output_and_exit_of_a_program(tmp_path: Path) -> None:
    done = await run_bounded(sh("cat; echo oops >&2; exit 3", tmp_path), input="你好\n".encode(), mark="b")
    assert (done.exit, done.stdout.decode(), done.stderr) == (Exit(3), "你好\n", b"oops\n")
    assert not done.truncated
    assert not done.timed_out


async def test_a_program_that_does_not_read_its_input_is_no_error(tmp_path: Path) -> None:
    done = await run_bounded(sh("exec true", tmp_path), input=b"x" * 1_000_000, mark="b")
    assert done.exit == Exit(0)


async def test_output_beyond_the_limit_keeps_head_and_tail_and_says_what_is_missing(tmp_path: Path) -> None:
    script = "import sys\nfor n in range(200000): print(n)\nprint('e' * 10, file=sys.stderr)"
    command = Command((sys.executable, "-c", script), tmp_path, ENV)
    done = await run_bounded(command, limit=100, mark="b")
    head, gap, tail = done.stdout.split(b"\n[")[0], done.stdout, done.stdout.rsplit(b"]\n")[-1]
    assert head.startswith(b"0\n1\n2\n")
    assert b"bytes left out" in gap
    assert tail.endswith(b"199998\n199999\n")
    assert done.truncated
    assert done.stderr == b"eeeeeeeeee\n"


async def test_a_timeout_keeps_what_was_written_and_kills_the_tree_within_two_seconds(tmp_path: Path) -> None:
    """C13: the tool's own subprocess, its child, and one that left the session."""
    script = "echo begun; sleep 600 & setsid sleep 600 & sleep 600"
    begun = trio.current_time()
    done = await run_bounded(sh(script, tmp_path), timeout=1, mark="b-timeout")
    assert trio.current_time() - begun < 30  # of the 600 s that it would take
    assert (done.stdout, done.timed_out, done.exit.signal) == (b"begun\n", True, 9)
    assert with_mark("b-timeout") == []


async def test_cancelling_kills_the_tree(tmp_path: Path) -> None:
    with trio.move_on_after(0.5) as scope:
        await run_bounded(sh("trap '' TERM; sleep 600 & setsid sleep 600 & sleep 600", tmp_path), mark="b-cancel")
    assert scope.cancelled_caught
    assert with_mark("b-cancel") == []


async def test_what_stays_in_the_group_ends_with_the_program_and_a_daemon_lives_on(tmp_path: Path) -> None:
    script = (
        "sleep 600 & echo $!; setsid sleep 600 >/dev/null 2>&1 </dev/null & sleep 0.2; pgrep -n -x sleep >/dev/null"
    )
    begun = trio.current_time()
    done = await run_bounded(sh(script, tmp_path), mark="b-daemon")
    assert trio.current_time() - begun < 60  # the one in the group holds stdout; that is not waited for
    grouped = int(done.stdout)
    await until_gone([grouped], within=60)
    (daemon,) = with_mark("b-daemon")
    assert alive(daemon)
    os.kill(daemon, 9)


async def test_memory_stays_bounded_whatever_a_program_writes(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        done = await run_bounded(sh("head -c 100000000 /dev/zero", tmp_path), limit=65536, mark="b")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.truncated
    assert peak < 4_000_000


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=1, max_value=60))
def test_an_excerpt_is_the_whole_or_its_true_head_and_tail(chunks: list[bytes], limit: int) -> None:
    excerpt, whole = Excerpt(limit), b"".join(chunks)
    for chunk in chunks:
        excerpt.add(chunk)
    if len(whole) <= limit:
        assert excerpt.value() == whole
        return
    head, tail = whole[: (limit + 1) // 2], whole[len(whole) - limit // 2 :]
    gap = f"\n[… {len(whole) - limit} bytes left out …]\n".encode()
    assert excerpt.value() == head + gap + tail


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_an_excerpt_holds_no_more_than_its_limit_and_one_chunk(size: int) -> None:
    excerpt = Excerpt(10)
    for _ in range(1000):
        excerpt.add(b"x" * size)
    assert excerpt.total == 1000 * size
    assert sum(map(len, excerpt._tail)) < 5 + size
