"""A folder is changed in every way, shown, put back byte for byte, and put forward again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homed.errors import Conflict, NotFound
from tests.kit.tracking import Desk, everything, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as found:
        yield found


def furnish(folder: Path) -> None:
    """A folder with some of everything."""
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "gone.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "leaf").write_text("leaf")
    (folder / "deep" / "er").chmod(0o750)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("a.txt")
    (folder / "hollow").symlink_to("/nowhere/at/all")
    with open(os.fsencode(folder) + b"/\xff\xfe\n name", "wb") as file:
        file.write(b"odd name")
    (folder / "becomes-folder").write_text("was a file")
    (folder / "becomes-file").mkdir()
    (folder / "becomes-file" / "in").write_text("inside")
    (folder / "moved").write_text("the same words under another name")


def wreck(folder: Path) -> None:
    """Change it in every way."""
    (folder / "a.txt").write_text("one\n2\nthree\n")
    (folder / "gone.bin").unlink()
    (folder / "run.sh").chmod(0o600)
    (folder / "deep" / "er" / "leaf").unlink()
    (folder / "deep" / "er").rmdir()
    (folder / "empty").rmdir()
    (folder / "new").mkdir()
    (folder / "new" / "file").write_text("new")
    (folder / "new" / "file").chmod(0o400)
    (folder / "new").chmod(0o555)
    (folder / "link").unlink()
    (folder / "link").symlink_to("run.sh")
    (folder / "hollow").unlink()
    os.unlink(os.fsencode(folder) + b"/\xff\xfe\n name")
    (folder / "becomes-folder").unlink()
    (folder / "becomes-folder").mkdir()
    (folder / "becomes-folder" / "x").write_text("x")
    (folder / "becomes-file" / "in").unlink()
    (folder / "becomes-file").rmdir()
    (folder / "becomes-file").write_text("now a file")
    (folder / "moved").rename(folder / "deep" / "moved")


async def test_whatever_changed_comes_back_and_goes_forward_again(desk: Desk) -> None:
    furnish(desk.folder)
    before = everything(desk.folder)
    async with desk.tracked() as set_:
        wreck(desk.folder)
    after = everything(desk.folder)
    assert before != after

    shown = await desk.newest()
    assert (shown["id"], shown["state"], shown["tool"], shown["cut"]) == (set_, "done", "files_edit", False)
    by_path = {file["path"]: file for file in shown["files"]}
    assert by_path["a.txt"]["change"] == "changed"
    assert by_path["gone.bin"]["change"] == "deleted"
    assert by_path["new/file"]["change"] == "created"
    assert (by_path["deep/moved"]["change"], by_path["deep/moved"]["from"]) == ("renamed", "moved")
    assert by_path["run.sh"]["before"]["mode"] == "755"
    assert by_path["link"]["after"]["target"] == "run.sh"
    assert "\\xff\\xfe\\n name" in by_path

    done = await desk.back(set_)
    assert done["troubles"] == []
    assert everything(desk.folder) == before
    assert (await desk.tracker.show(set_))["undone_by"] == done["set"]

    again = await desk.back(str(done["set"]))
    assert again["troubles"] == []
    assert everything(desk.folder) == after
    assert not (desk.data_dir / "tracking").exists() or not os.listdir(desk.data_dir / "tracking")


async def test_what_was_changed_since_is_named_and_stays_unless_forced(desk: Desk) -> None:
    (desk.folder / "a").write_text("1")
    (desk.folder / "b").write_text("1")
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("2")
        (desk.folder / "b").write_text("2")
    (desk.folder / "a").write_text("mine")
    with pytest.raises(Conflict, match="changed since") as caught:
        await desk.back(set_)
    assert caught.value.detail["files"] == [{"path": "a", "why": "changed", "detail": ""}]
    assert (desk.folder / "a").read_text() == "mine"
    assert (desk.folder / "b").read_text() == "2"
    assert await desk.count() == 1

    done = await desk.back(set_, force=True)
    assert [(desk.folder / name).read_text() for name in "ab"] == ["1", "1"]
    await desk.back(str(done["set"]))
    assert [(desk.folder / name).read_text() for name in "ab"] == ["mine", "2"]


async def test_one_file_of_a_folder_that_is_not_there_yet(desk: Desk) -> None:
    desk.folder.rmdir()
    async with desk.tracked("deep/er/file") as set_:
        (desk.folder / "deep" / "er").mkdir(parents=True)
        (desk.folder / "deep" / "er" / "file").write_text("x")
        (desk.folder / "beside").write_text("not looked at")
    assert [file["path"] for file in (await desk.newest())["files"]] == ["deep", "deep/er", "deep/er/file"]
    await desk.back(set_)
    assert sorted(os.listdir(desk.folder)) == ["beside"]


async def test_nothing_changed_is_no_change(desk: Desk) -> None:
    (desk.folder / "a").write_text("1")
    async with desk.tracked():
        (desk.folder / "a").read_text()
    assert await desk.count() == 0


async def test_a_tool_that_fails_is_noted_too(desk: Desk) -> None:
    async def fail() -> None:
        async with desk.tracked():
            (desk.folder / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert [file["path"] for file in (await desk.newest())["files"]] == ["half"]


async def test_forgetting_the_call_takes_the_contents_with_it(desk: Desk) -> None:
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("secret words")
    assert len(desk.blobs()) == 1
    await desk.tracker.forget(path=str(desk.folder / "a"))
    assert desk.blobs() == []
    with pytest.raises(NotFound):
        await desk.tracker.show(set_)
    assert (desk.folder / "a").read_text() == "secret words"
