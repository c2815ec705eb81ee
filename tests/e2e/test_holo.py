"""holo-memory's files through the commands: out of one folder, into a running daemon's, told there, and out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.paths import Paths
from tests.kit.daemon import run_homed
from tests.kit.forgetting import world
from tests.kit.holofiles import exported, lived_in
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path / "data", Plan(vectors=False)) as built:
        yield built


def test_memory_moves_from_one_folder_to_another_in_the_originals_files(home: House, tmp_path: Path) -> None:
    async def fill() -> None:
        async with world(tmp_path / "old") as here:
            await lived_in(here)

    Paths(tmp_path / "old").create()
    trio.run(fill)
    out = run_homed(
        "memory",
        "export",
        str(tmp_path / "out"),
        "--format",
        "holo",
        "--scope",
        "owner",
        "--data",
        str(tmp_path / "old"),
    )
    assert out.code == 0, out
    first = exported(tmp_path / "out")
    ran = home.daemon.run("memory", "import", str(tmp_path / "out"))
    assert (ran.code, ran.out) == (0, "Taken in: 2 summaries, 6 facts, 1 capsules.\n"), ran
    again = home.daemon.run("memory", "import", str(tmp_path / "out"))
    assert again.out == "Taken in: nothing new.\n  9 were here already.\n"

    found = home.daemon.json("memory", "search", "Where does the user live?")
    assert "Bergen" in json.dumps(found)
    bergen = next(one for one in first["l2.json"] if "Bergen" in one["text"])
    opened: dict[str, Any] = home.daemon.json("memory", "open", bergen["id"][-8:])
    assert (opened["id"], opened["mark"], opened["untrusted"], opened["source"]) == (
        bergen["id"], "", True, "source unavailable",
    )  # fmt: skip
    assert (opened["created_at"], opened["cited"], opened["importance"]) == (bergen["createdAt"], 1, 8)
    home.says("In which town do I live now, Bergen?")
    told = "\n".join(str(message["content"]) for message in home.fake.chats[-1].body["messages"])
    assert f"(id:{bergen['id'][-8:]})" in told
    checked = home.daemon.run("memory", "doctor", "--deep", "--json")
    wrong = [one for one in json.loads(checked.out)["checks"] if one["status"] in ("fail", "error")]
    assert (checked.code, wrong) == (0, [])

    assert home.daemon.run("memory", "export", str(tmp_path / "again"), "--format", "holo").code == 0
    second = exported(tmp_path / "again")
    for name, listed in first.items():
        came = {one["id"]: one for one in second[name]}
        for one in listed:
            other = came[one["id"]]
            assert {**other, "source": None} == {**one, "source": None}
