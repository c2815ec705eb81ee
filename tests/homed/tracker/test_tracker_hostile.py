"""Folders that mean harm: links out of them, pipes, too much of everything, places swapped meanwhile."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homed.config.definitions import (
    TRACKER,
    TRACKER_ENTRIES,
    TRACKER_FILE,
    TRACKER_FOLDER,
    TRACKER_IGNORE,
    TRACKER_KEEP,
    TRACKER_STORED,
)
from homed.errors import Conflict, HomedError, InvalidInput, NotFound, StorageError
from homed.sdk.tracking import look
from homed.tracker.records import Wanted
from tests.kit.tracking import Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as found:
        yield found


def named(shown: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["change"] for file in shown["files"]}


async def test_links_pipes_and_sockets_are_listed_and_never_opened(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not yours")
    (desk.folder / "out").symlink_to(outside)
    async with desk.tracked() as set_:
        os.mkfifo(desk.folder / "pipe")
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(desk.folder / "socket"))
        (desk.folder / "etc").symlink_to("/etc")
        (outside / "secret").write_text("changed outside")
    assert named(await desk.newest()) == {"etc": "created", "pipe": "created", "socket": "created"}
    await desk.back(set_)
    assert sorted(os.listdir(desk.folder)) == ["out"]
    assert (outside / "secret").read_text() == "changed outside"


async def test_a_pipe_that_is_gone_cannot_be_put_back_and_that_is_said(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe")
    (desk.folder / "file").write_text("1")
    async with desk.tracked() as set_:
        (desk.folder / "pipe").unlink()
        (desk.folder / "file").write_text("2")
    with pytest.raises(Conflict) as caught:
        await desk.back(set_)
    assert caught.value.detail["files"] == [{"path": "pipe", "why": "special", "detail": ""}]
    done = await desk.back(set_, force=True)
    assert [one["why"] for one in done["troubles"]] == ["special"]
    assert (desk.folder / "file").read_text() == "1"


async def test_a_folder_swapped_for_a_link_leads_nowhere(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (desk.folder / "sub").mkdir()
    (desk.folder / "sub" / "file").write_text("1")
    async with desk.tracked() as set_:
        (desk.folder / "sub" / "file").write_text("2")
    (desk.folder / "sub" / "file").unlink()
    (desk.folder / "sub").rmdir()
    (desk.folder / "sub").symlink_to(outside)
    with pytest.raises(Conflict):
        await desk.back(set_)
    done = await desk.back(set_, force=True)
    assert [one["why"] for one in done["troubles"]] == ["failed"]
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_text() == "precious"


async def test_the_folder_itself_swapped_for_a_link_is_refused(desk: Desk, tmp_path: Path) -> None:
    (desk.folder / "a").write_text("1")
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("2")
    desk.folder.rename(tmp_path / "moved")
    desk.folder.symlink_to(tmp_path / "moved")
    with pytest.raises(InvalidInput, match="a link now"):
        await desk.back(set_)
    assert (tmp_path / "moved" / "a").read_text() == "2"
    assert await desk.count() == 1


async def test_what_is_too_large_is_listed_not_kept_and_said_so(desk: Desk) -> None:
    await desk.settings.set(TRACKER_FILE, 100)
    (desk.folder / "large").write_bytes(b"x" * 101)
    (desk.folder / "small").write_bytes(b"x" * 100)
    async with desk.tracked() as set_:
        (desk.folder / "large").write_bytes(b"y" * 101)
        (desk.folder / "small").write_bytes(b"y" * 100)
    shown = await desk.newest()
    assert {file["path"]: file["before"]["unkept"] for file in shown["files"]} == {"large": "large", "small": ""}
    assert (await desk.tracker.diff(set_, 0))["kind"] == "unkept"
    with pytest.raises(Conflict) as caught:
        await desk.back(set_)
    assert caught.value.detail["files"] == [{"path": "large", "why": "not_kept", "detail": ""}]
    await desk.back(set_, force=True)
    assert (desk.folder / "small").read_bytes() == b"x" * 100
    assert (desk.folder / "large").read_bytes() == b"y" * 101


async def test_beyond_the_limit_of_a_folder_contents_are_not_kept(desk: Desk) -> None:
    await desk.settings.set(TRACKER_FOLDER, 150)
    for name in "abc":
        (desk.folder / name).write_bytes(name.encode() * 100)
    async with desk.tracked():
        (desk.folder / "c").write_bytes(b"z" * 100)
    (file,) = (await desk.newest())["files"]
    assert (file["path"], file["before"]["unkept"]) == ("c", "full")


async def test_a_folder_with_too_many_files_is_not_tracked_and_says_why(desk: Desk) -> None:
    await desk.settings.set(TRACKER_ENTRIES, 3)
    for name in "abcd":
        (desk.folder / name).touch()
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("goes on all the same")
    assert set_ == ""
    shown = await desk.newest()
    assert (shown["state"], shown["note"]) == ("untracked", "it holds more than 3 files and folders")
    with pytest.raises(Conflict):
        await desk.back(shown["id"])
    assert not os.listdir(desk.data_dir / "tracking")


async def test_home_and_what_is_above_it_are_not_tracked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(desk.folder / "me"))
    async with desk.tracked() as set_:
        pass
    assert set_ == ""
    assert "home folder" in (await desk.newest())["note"]
    async with desk.tracked("file") as set_:  # one that is named is
        (desk.folder / "file").write_text("x")
    assert set_ != ""


async def test_our_own_data_is_never_in_it(desk: Desk, tmp_path: Path) -> None:
    desk.folder = tmp_path
    async with desk.tracked():
        (tmp_path / "seen").write_text("x")
        (tmp_path / "data" / "unseen").write_text("x")
    assert named(await desk.newest()) == {"seen": "created"}


async def test_what_is_left_out_is_left_out(desk: Desk) -> None:
    await desk.settings.set(TRACKER_IGNORE, ["build/", "*.log", "!keep.log", "/top"])
    async with desk.tracked() as set_:
        for path in ("build/x", "sub/build/y", "a.log", "keep.log", "top", "sub/top", "build.txt"):
            (desk.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (desk.folder / path).write_text("x")
    assert sorted(named(await desk.newest())) == ["build.txt", "keep.log", "sub", "sub/top"]
    done = await desk.back(set_)  # a folder that holds what is left out stays, and nothing of that is touched
    assert done["troubles"] == [{"path": "sub", "why": "not_empty", "detail": "build"}]
    assert (desk.folder / "sub" / "build" / "y").read_text() == "x"
    assert not (desk.folder / "sub" / "top").exists()


async def test_a_content_written_within_the_same_tick_is_seen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times come in steps: the stamp of a file that was just written says nothing yet."""
    monkeypatch.setattr(look, "stamp_of", lambda info: "always the same")
    (desk.folder / "a").write_text("1")
    async with desk.tracked():
        (desk.folder / "a").write_text("2")
    assert named(await desk.newest()) == {"a": "changed"}


async def test_switched_off_nothing_is_kept(desk: Desk) -> None:
    await desk.settings.set(TRACKER, False)
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("1")
    assert (set_, await desk.count(), desk.blobs()) == ("", 0, [])


async def test_a_kernel_that_cannot_store_stops_no_tool(desk: Desk) -> None:
    desk.refuse["tracker.begin"] = StorageError("The disk is full.")
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("1")
    assert set_ == ""
    desk.refuse = {"tracker.add": StorageError("The disk is full.")}
    async with desk.tracked() as first:
        (desk.folder / "a").write_text("2")
    desk.refuse = {}
    async with desk.tracked("nothing"):
        pass
    shown = await desk.newest()  # what could not be told is told with the next
    assert (shown["id"], shown["state"], named(shown)) == (first, "done", {"a": "changed"})


async def test_the_oldest_go_by_number_and_by_room(desk: Desk) -> None:
    await desk.settings.set(TRACKER_KEEP, 3)
    for _ in range(5):
        async with desk.tracked():
            (desk.folder / "a").write_bytes(os.urandom(400_000))
    assert await desk.count() == 3
    assert len(desk.blobs()) == 4  # before and after of three that follow each other
    await desk.settings.set(TRACKER_STORED, 1 << 20)
    async with desk.tracked():
        (desk.folder / "a").write_bytes(os.urandom(400_000))
    assert await desk.count() == 1
    assert len(desk.blobs()) == 2


async def test_a_set_of_another_plugin_or_one_that_is_over_is_nobodys(desk: Desk) -> None:
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("1")
    tracker = desk.tracker
    for call in (
        lambda: tracker.add("files", set_, [], 0), lambda: tracker.finish("files", set_, cut=False),
        lambda: tracker.plan("files", set_, 0), lambda: tracker.give("files", set_, "0" * 64, 0),
        lambda: tracker.put("files", set_, "0" * 64, b"", 0, last=True),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await call()


async def test_a_content_that_is_not_its_name_or_not_wanted_is_refused(desk: Desk) -> None:
    begun: Any = await desk.tracker.begin(desk.asked, b"/work")
    with pytest.raises(InvalidInput, match="does not name"):
        await desk.tracker.put("files", begun["set"], "0" * 64, b"x", 0, last=True)
    with pytest.raises(InvalidInput, match="absolute"):
        await desk.tracker.begin(desk.asked, b"work")


async def test_a_plugin_that_dies_once_is_told_again(desk: Desk) -> None:
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("1")
    desk.deaths = 2
    await desk.back(set_)
    assert os.listdir(desk.folder) == []
    async with desk.tracked() as set_:
        (desk.folder / "a").write_text("1")
    desk.deaths = 3
    with pytest.raises(HomedError, match="died"):
        await desk.back(set_)


async def test_a_content_that_is_missing_or_damaged_is_said(desk: Desk) -> None:
    for name in "ab":
        (desk.folder / name).write_text(name)
    async with desk.tracked() as set_:
        for name in "ab":
            (desk.folder / name).write_text("2" + name)
    kept = {path for path in (desk.tracker._blobs.root).rglob("*") if path.is_file()}
    (gone,) = [path for path in kept if path.name == hashlib.sha256(b"a").hexdigest()]
    gone.write_bytes(b"damaged")
    done = await desk.back(set_)
    assert done["troubles"] == [{"path": "a", "why": "missing", "detail": ""}]
    assert [(desk.folder / name).read_text() for name in "ab"] == ["2a", "b"]


async def test_the_list_is_bound_to_scopes(desk: Desk) -> None:
    async with desk.tracked():
        (desk.folder / "a").write_text("1")
    assert (await desk.tracker.listed(Wanted(scopes=frozenset({"group:1"}))))["changes"] == []
    assert len((await desk.tracker.listed(Wanted(scopes=frozenset({"owner"}))))["changes"]) == 1  # type: ignore[arg-type]
