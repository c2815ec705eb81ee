"""kill -9 in a tool and in a roll back: what was changed is known, and a roll back goes on to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from homed.tracker.records import Wanted, open_rollbacks
from tests.homed.tracker.test_tracker import furnish, wreck
from tests.kit.tracking import everything, open_desk

ROOT = Path(__file__).parents[3]


def killed(tmp: Path, where: str, count: int = 0) -> None:
    """Run the child to its end."""
    argv = [sys.executable, "-m", "tests.kit.tracking_child", str(tmp), where, str(count)]
    ended = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True)
    assert ended.returncode == -9, ended.stderr.decode()


def pictures(tmp: Path) -> tuple[dict[bytes, tuple[object, ...]], dict[bytes, tuple[object, ...]]]:
    """A furnished folder before and after, as seen from ``work``."""
    shown = []
    for number, change in enumerate((lambda _: None, wreck)):
        folder = tmp / f"like-{number}" / "work"
        folder.mkdir(parents=True)
        furnish(folder)
        change(folder)
        found = everything(folder)
        shown.append({path.replace(os.fsencode(folder), b""): what for path, what in found.items()})
    return shown[0], shown[1]


def picture(folder: Path) -> dict[bytes, tuple[object, ...]]:
    return {path.replace(os.fsencode(folder), b""): what for path, what in everything(folder).items()}


async def test_in_a_tool_the_next_change_tells_what_was_done_until_then(tmp_path: Path) -> None:
    killed(tmp_path / "desk", "tool")
    before, after = pictures(tmp_path)
    async with open_desk(tmp_path / "desk") as desk:
        assert picture(desk.folder) == after
        async with desk.tracked("nothing"):
            pass
        shown = await desk.newest()
        assert (shown["state"], shown["cut"]) == ("done", True)
        await desk.back(shown["id"])
        assert picture(desk.folder) == before
        assert not os.listdir(desk.data_dir / "tracking")


@pytest.mark.parametrize(
    ("where", "count"),
    [*(("put", n) for n in range(0, 18, 2)), *(("clear", n) for n in range(1, 18, 3)), ("finish", 0)],
)
async def test_in_a_roll_back_it_goes_on_and_can_be_undone(tmp_path: Path, where: str, count: int) -> None:
    killed(tmp_path / "desk", where, count)
    before, after = pictures(tmp_path)
    async with open_desk(tmp_path / "desk") as desk:
        backs = await desk.store.read(open_rollbacks)
        assert len(backs) == 1
        async with desk.tracked("nothing"):
            pass  # another change first: it leaves this one to the kernel's word
        await desk.tracker.resume(backs)
        assert picture(desk.folder) == before
        assert await desk.store.read(open_rollbacks) == []
        listed: Any = await desk.tracker.listed(Wanted(1))
        (newest,) = listed["changes"]
        assert newest["state"] == "done"
        await desk.back(newest["id"])
        assert picture(desk.folder) == after
        assert not os.listdir(desk.data_dir / "tracking")
