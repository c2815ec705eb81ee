"""Looking into files in real processes: what they find, and what becomes of those that go wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from homed.errors import Unavailable
from homed.jobs.eyes import Eyes, Look
from homed.jobs.looking import PDF, PICTURE
from homed.proc.marks import marked
from tests.homed.jobs.pictures import bomb, picture

ENV = {"PATH": os.environ["PATH"]}


def eyes(folder: Path, program: str = "") -> Eyes:
    """``program``: instead of ours."""
    return Eyes(folder, ENV, "test", (sys.executable, "-c", program)) if program else Eyes(folder, ENV, "test")


async def test_a_picture_comes_back_small(tmp_path: Path) -> None:
    found = await eyes(tmp_path).look(picture("JPEG", (1000, 500)), PICTURE)
    assert found.picture.startswith(b"RIFF")
    assert (found.words, found.broken) == ("", False)


@pytest.mark.parametrize("data", [b"", b"no picture", picture()[:50], bomb()], ids=["none", "text", "cut", "bomb"])
async def test_a_file_that_is_none_is_broken_and_nothing_else_is(tmp_path: Path, data: bytes) -> None:
    assert await eyes(tmp_path).look(data, PICTURE) == Look(broken=True)


async def test_it_works_at_the_lowest_rank_and_within_its_memory(tmp_path: Path) -> None:
    program = (
        "import sys, os, json, resource\nfrom homed.jobs import looking\n"
        "def look(data, kind, *, reading):\n"
        "    return b'', f'{os.nice(0)} {resource.getrlimit(resource.RLIMIT_AS)[0]}'\n"
        "looking.look = look\nraise SystemExit(looking.main(sys.argv[1:]))"
    )
    made = Eyes(Path.cwd(), ENV, "test", (sys.executable, "-c", program))
    assert (await made.look(b"", PDF)).words == f"19 {1 << 30}"


async def test_one_that_takes_too_much_memory_or_dies_was_given_a_broken_file(tmp_path: Path) -> None:
    greedy = "import os, resource\nos.kill(os.getpid(), 9)"
    assert await eyes(tmp_path, greedy).look(b"x", PICTURE) == Look(broken=True)


@pytest.mark.parametrize(
    "program",
    ["import nothing_of_this_name", 'print(\'{"picture": 5, "words": ""}\', end=\'\\n1234\')'],
    ids=["an extra installed in part", "an answer that was cut"],
)
async def test_what_is_not_the_files_doing_is_told(tmp_path: Path, program: str) -> None:
    with pytest.raises(Unavailable):
        await eyes(tmp_path, program).look(b"x", PICTURE)


async def test_cancelled_nothing_is_left(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(eyes(tmp_path, "import time\ntime.sleep(60)").look, b"x", PICTURE)
        with trio.fail_after(60):
            while not await trio.to_thread.run_sync(marked, "test:eyes"):
                pass
        nursery.cancel_scope.cancel()
    assert marked("test:eyes") == []
