"""Two hundred lives of plugins leave this process as it was; and two homeds keep out of each other's way."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass, replace
from pathlib import Path

import trio

from homed.host.states import State
from tests.kit.hosting import CHILD, hosting, invoke, manifest
from tests.kit.processes import alive, with_mark, zombies

ROUNDS = int(os.environ.get("HOMED_TEST_ROUNDS", "200"))
WARM, SIDE_BY_SIDE = 3, 4


@dataclass(frozen=True)
class Holdings:
    """What this process holds: descriptors, threads, mappings, and what runs below its mark."""

    fds: int
    threads: int
    maps: int
    children: int
    zombies: int


def holdings(family: str) -> Holdings:
    gc.collect()
    maps = Path("/proc/self/maps").read_text("ascii").splitlines()
    return Holdings(
        len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")),
        # what is shared with children has a name of its own; the heap's pieces come and go with the work
        sum("memfd:" in line or "/dev/zero" in line for line in maps),
        len(with_mark(family, group=True)), len(zombies()),
    )  # fmt: skip


async def test_200_rounds_of_start_and_stop_leave_no_fd_thread_mapping_or_process(tmp_path: Path) -> None:
    fast = [manifest(f"p{n}", entry=f"python -I -S {CHILD} good") for n in range(SIDE_BY_SIDE)]
    async with hosting(tmp_path, *fast) as host:
        lives: set[tuple[str, int | None]] = set()

        async def round_(name: str) -> None:
            stopped = await host.stop(name)
            assert (stopped.state, stopped.pid) == (State.STOPPED, None)
            started = await host.start(name)
            assert started.state is State.READY
            lives.add((name, started.pid))

        async def rounds(name: str, count: int) -> None:
            for n in range(count):
                await round_(name)
                if n % 10 == 0:
                    assert await invoke(host, name, n=n) == {"n": n}
            await host.stop(name)

        async def all_together(count: int) -> Holdings:
            async with trio.open_nursery() as nursery:
                for one in fast:
                    nursery.start_soon(rounds, one["name"], count)
            return holdings(host._family)

        begun = await all_together(WARM)
        ended = await all_together(ROUNDS // SIDE_BY_SIDE)
        # Trio keeps the threads it used last for ten seconds: one for each of those side by side, none for each life
        assert ended.threads <= begun.threads + SIDE_BY_SIDE
        assert ended.fds <= begun.fds  # what tests before this one left open may be closed meanwhile
        assert replace(ended, threads=begun.threads, fds=begun.fds) == begun
        assert begun.children == begun.zombies == 0
        assert [status.crashes for status in host.statuses()] == [()] * SIDE_BY_SIDE
        assert len(lives) > ROUNDS / 2  # numbers may come again, lives do not


async def test_two_homeds_on_two_data_folders_never_touch_each_others_processes(tmp_path: Path) -> None:
    async with hosting(tmp_path / "one", manifest("good")) as one:
        await one.wait_ready("good")
        mine = one.status("good").pid
        assert mine is not None
        async with hosting(tmp_path / "two", manifest("good"), manifest("tree", "grandchildren")) as two:
            assert one._family != two._family
            await two.wait_ready("good")
            await two.wait_ready("tree")
            theirs = two.status("good").pid
            assert theirs is not None
            await one.stop("good")
            assert (alive(mine), alive(theirs)) == (False, True)
            await one.start("good")
            mine = one.status("good").pid
            assert mine is not None
            two.kill_now()
            with trio.fail_after(60):
                await two._roster.supervisor("tree").ended.wait()
        assert with_mark(two._family, group=True) == []
        assert alive(mine)
        assert await invoke(one, "good", a=1) == {"a": 1}
