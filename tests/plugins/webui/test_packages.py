"""What lies here until somebody decides: few, for a while, in a folder of the page's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.errors import NotFound, StorageError, Unavailable
from plugins.webui.limits import TooMany
from plugins.webui.packages import KEPT_SECONDS, MOST, Held


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_one_lies_here_until_it_is_dropped_or_its_time_is_over(tmp_path: Path) -> None:
    clock = Clock()
    held = Held(tmp_path / "x", clock=clock)
    first, path = await held.fresh("a.hmap")
    path.write_bytes(b"x")
    assert (held.path(first), held.source(first)) == (path, "a.hmap")
    held.call(first, "https://example.org/a.hmap")
    assert held.source(first) == "https://example.org/a.hmap"
    clock.now = KEPT_SECONDS
    with pytest.raises(NotFound):
        held.path(first)
    second, _ = await held.fresh("b.hmap")
    assert not path.exists()
    await held.drop(second)
    await held.drop(second)


async def test_more_than_a_few_are_refused_until_one_goes(tmp_path: Path) -> None:
    held = Held(tmp_path, clock=Clock())
    names = [(await held.fresh("a"))[0] for _ in range(MOST)]
    with pytest.raises(TooMany):
        await held.fresh("a")
    await held.drop(names[0])
    await held.fresh("a")


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_what_an_earlier_run_left_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old.hmap").write_bytes(b"x")
    (tmp_path / "mine.txt").write_bytes(b"x")
    await Held(tmp_path, clock=Clock()).fresh("a")
    assert left(tmp_path) == ["mine.txt"]


async def test_a_folder_that_cannot_be_used_is_said_every_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    held = Held(tmp_path / "file" / "x", clock=Clock())
    for _ in range(MOST + 1):
        with pytest.raises(StorageError, match="cannot be used"):
            await held.fresh("a")


async def test_without_a_folder_there_is_no_place() -> None:
    held = Held(None, clock=Clock())
    with pytest.raises(Unavailable):
        await held.fresh("a")
    with pytest.raises(NotFound):
        held.path("x")
