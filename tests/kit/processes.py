"""What is alive on this machine, seen through /proc; for tests that promise to leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import trio

from homed.proc.marks import marked, stat_fields


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    fields = stat_fields(pid)
    return bool(fields) and fields[0] != "Z"


def zombies() -> list[int]:
    """Dead children that this process has not collected."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    stats = {pid: stat_fields(pid) for pid in pids}
    return [pid for pid, f in stats.items() if f and f[0] == "Z" and f[1] == str(os.getpid())]


def open_fds() -> set[str]:
    """This process's open file descriptors, with what they point to."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except FileNotFoundError:
            continue
    return found


def with_mark(mark: str, *, group: bool = False) -> list[int]:
    """Living processes that carry a mark."""
    return [pid for pid in marked(mark, group=group) if alive(pid)]


async def until(true: Callable[[], bool], *, within: float = 30) -> float:
    """Poll a condition of the real world until it holds; returns how many seconds that took, fails after ``within``."""
    begun = trio.current_time()
    with trio.fail_after(within):
        while not true():  # noqa: ASYNC110 - other processes set no event of ours
            await trio.sleep(0.02)
    return trio.current_time() - begun


async def until_gone(pids: list[int], *, within: float) -> float:
    """Wait until none of these is alive; as `until`."""
    return await until(lambda: not any(alive(pid) for pid in pids), within=within)


async def until_written(path: Path, lines: int = 1, *, within: float = 30) -> list[str]:
    """Wait until a child has written so many lines into a file, and return them."""
    await until(lambda: len(_lines(path)) >= lines, within=within)
    return _lines(path)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
