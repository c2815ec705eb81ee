"""The file tools through the SDK: good, bad and hostile input."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.errors import ConfigError
from homed.sdk.testing import harness
from plugins.files.disk import MAX_FILE
from plugins.files.pictures import LARGEST
from plugins.files.plugin import MAX_CHARS, plugin, roots_of
from tests.plugins.files.conftest import SECRET, Use

ALL: dict[str, dict[str, object]] = {
    "files_read": {},
    "files_write": {"text": "x", "mode": "overwrite"},
    "files_edit": {"edits": [{"old": "a", "new": "b"}]},
    "files_ls": {},
    "files_search": {"pattern": "secret"},
}


async def good(use: Use, tool: str, /, **args: object) -> dict[str, Any]:
    result = await use(tool, **args)
    assert not result.is_error, result
    content: dict[str, Any] = result.content
    return content


async def bad(use: Use, tool: str, /, **args: object) -> str:
    result = await use(tool, **args)
    assert result.is_error, result
    assert isinstance(result.content, str)
    assert SECRET not in result.content
    return result.content


async def test_read_gives_lines_with_where_they_stand(use: Use, root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\n三\nfour")
    assert await good(use, "files_read", path="a.txt", offset=2, limit=2) == {
        "path": str(root / "a.txt"), "text": "two\n三\n", "first_line": 2, "lines": 2, "total_lines": 4, "more": True,
        "cut_line": False, "encoding": "utf-8",
    }  # fmt: skip
    whole = await good(use, "files_read", path=str(root / "a.txt"))
    assert (whole["text"], whole["more"]) == ("one\ntwo\n三\nfour", False)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ],
)  # fmt: skip
async def test_a_picture_is_given_to_look_at(use: Use, root: Path, head: bytes, kind: str) -> None:
    (root / "看.bin").write_bytes(head + bytes(600_000))
    result = await use("files_read", path="看.bin")
    assert result.files == ("blk_test",)
    assert result.content == {"path": str(root / "看.bin"), "picture": kind, "bytes": len(head) + 600_000}


async def test_a_picture_too_large_to_be_shown_is_refused_with_the_limit(use: Use, root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(LARGEST))
    assert "8 MiB are the limit" in await bad(use, "files_read", path="a.png")


async def test_an_empty_file_has_no_lines(use: Use, root: Path) -> None:
    (root / "empty").touch()
    assert (await good(use, "files_read", path="empty"))["total_lines"] == 0


async def test_a_large_file_is_read_in_bounded_pieces_until_its_end(use: Use, root: Path) -> None:
    lines = [f"{number} {'x' * 90}\n" for number in range(2_000)]
    (root / "big").write_text("".join(lines))
    seen, offset, more = "", 1, True
    while more:
        piece = await good(use, "files_read", path="big", offset=offset)
        assert len(piece["text"]) <= MAX_CHARS
        seen, offset, more = seen + piece["text"], offset + piece["lines"], piece["more"]
    assert seen == "".join(lines)


async def test_a_line_longer_than_the_limit_is_cut_and_says_so(use: Use, root: Path) -> None:
    (root / "long").write_text("x" * (MAX_CHARS + 1) + "\nnext\n")
    piece = await good(use, "files_read", path="long")
    assert (len(piece["text"]), piece["cut_line"], piece["lines"], piece["more"]) == (MAX_CHARS, True, 1, True)


async def test_bad_reads_say_what_is_wrong(use: Use, root: Path) -> None:
    (root / "bin").write_bytes(b"\x00\x01")
    (root / "dir").mkdir()
    (root / "a").write_text("x\n")
    assert "no file" in await bad(use, "files_read", path="missing")
    assert "no folder" in await bad(use, "files_read", path="missing/below")
    assert "not a text file" in await bad(use, "files_read", path="bin")
    assert "is a folder" in await bad(use, "files_read", path="dir")
    assert "past its end" in await bad(use, "files_read", path="a", offset=3)
    assert "start at 1" in await bad(use, "files_read", path="a", offset=0)
    assert "start at 1" in await bad(use, "files_read", path="a", limit=0)
    assert "too long" in await bad(use, "files_read", path="n" * 300)
    assert "not a folder" in await bad(use, "files_read", path="a/below")
    with (root / "huge").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert "larger than" in await bad(use, "files_read", path="huge")


async def test_a_pipe_a_socket_or_a_device_is_refused_and_hangs_nobody(use: Use, root: Path) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        here = os.open(root, os.O_RDONLY)
        sock.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)
        assert "not a regular file" in await bad(use, "files_read", path="fifo")
        await bad(use, "files_read", path="sock")
    await bad(use, "files_write", path="fifo", text="x", mode="append")


async def test_who_waits_to_write_to_a_pipe_is_left_waiting(use: Use, root: Path) -> None:
    os.mkfifo(root / "fifo")
    opened = threading.Event()

    def write() -> None:
        os.close(os.open(root / "fifo", os.O_WRONLY))
        opened.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    await bad(use, "files_read", path="fifo")
    await good(use, "files_search", pattern="x")
    assert not opened.is_set()
    reader = os.open(root / "fifo", os.O_RDONLY)
    writer.join(10)
    os.close(reader)
    assert opened.is_set()


async def test_write_creates_overwrites_and_appends(use: Use, root: Path) -> None:
    made = await good(use, "files_write", path="new/deep/a.txt", text="one\n")
    assert made == {"path": str(root / "new/deep/a.txt"), "bytes": 4, "created": True, "encoding": "utf-8"}
    assert "exists already" in await bad(use, "files_write", path="new/deep/a.txt", text="x")
    await good(use, "files_write", path="new/deep/a.txt", text="two\n", mode="append")
    assert (root / "new/deep/a.txt").read_text() == "one\ntwo\n"
    assert (await good(use, "files_write", path="new/deep/a.txt", text="3", mode="overwrite"))["created"] is False
    assert (root / "new/deep/a.txt").read_text() == "3"
    assert [path.name for path in (root / "new/deep").iterdir()] == ["a.txt"]


async def test_the_missing_root_is_made_by_the_first_write_only(use: Use, root: Path) -> None:
    await trio.Path(root).rmdir()
    listed = await good(use, "files_ls")
    assert (listed["path"], listed["entries"], listed["more"]) == (str(root), [], False)
    assert "Not there yet" in listed["note"], "asking what is there is no failure"
    assert "not there yet" in await bad(use, "files_read", path="a")
    assert not await trio.Path(root).exists()
    await good(use, "files_write", path="a", text="x")
    assert (await trio.Path(root).stat()).st_mode & 0o777 == 0o700


async def test_write_keeps_mode_encoding_and_line_ends(use: Use, root: Path) -> None:
    file = root / "a.sh"
    file.write_bytes("\ufeff一\r\n二\r\n".encode("utf-16-le"))
    file.chmod(0o750)
    await good(use, "files_write", path="a.sh", text="三\n", mode="append")
    assert file.read_bytes() == "\ufeff一\r\n二\r\n三\r\n".encode("utf-16-le")
    await good(use, "files_write", path="a.sh", text="四\n五\n", mode="overwrite")
    assert file.read_bytes() == "\ufeff四\r\n五\r\n".encode("utf-16-le")
    assert file.stat().st_mode & 0o777 == 0o750


async def test_what_an_encoding_lacks_is_told_and_only_a_whole_overwrite_changes_it(use: Use, root: Path) -> None:
    file = root / "old"
    file.write_bytes(b"caf\xe9 \xff\n")
    assert "latin-1, which has no '你'" in await bad(use, "files_write", path="old", text="你", mode="append")
    edits = [{"old": "caf", "new": "你"}]
    assert "latin-1" in await bad(use, "files_edit", path="old", edits=edits)
    assert file.read_bytes() == b"caf\xe9 \xff\n"
    assert (await good(use, "files_write", path="old", text="你", mode="overwrite"))["encoding"] == "utf-8"


async def test_bad_writes_change_nothing(use: Use, root: Path) -> None:
    (root / "bin").write_bytes(b"\x00")
    assert "no mode" in await bad(use, "files_write", path="a", text="x", mode="truncate")
    assert "not a text file" in await bad(use, "files_write", path="bin", text="x", mode="append")
    assert "is a folder" in await bad(use, "files_write", path=".", text="x")
    assert (
        "MiB" in await bad(use, "files_write", path="a", text="x" * (MAX_FILE // (1 << 20)), mode="create")
        if 0
        else True
    )
    assert (root / "bin").read_bytes() == b"\x00"
    assert os.listdir(root) == ["bin"]


async def test_edit_makes_every_replacement_and_keeps_the_rest_to_the_byte(use: Use, root: Path) -> None:
    (root / "a").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edits = [{"old": "one\ntwo", "new": "1\n2"}, {"old": "three", "new": "三"}]
    assert (await good(use, "files_edit", path="a", edits=edits))["edits"] == 2
    assert (root / "a").read_bytes() == "1\r\n2\r\n三\r\n".encode()


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([{"old": "one", "new": "1"}, {"old": "nowhere", "new": "x"}], "not in the file"),
        ([{"old": "one", "new": "1"}, {"old": "o", "new": "x"}], "more than once"),
        ([{"old": "one", "new": "1"}, {"old": "ne t", "new": "x"}], "overlap"),
        ([{"old": "", "new": "x"}], "empty"),
        ([{"old": "one", "new": "one"}], "the same"),
        ([{"old": "one"}], "`old` and `new`"),
        ([{"old": "one", "new": 1}], "`old` and `new`"),
        (["one"], "`old` and `new`"),
        ([], "nothing to edit"),
        ([{"old": "one", "new": "x"}] * 101, "At most"),
    ],
)
async def test_one_wrong_edit_and_nothing_is_changed(use: Use, root: Path, edits: object, reason: str) -> None:
    (root / "a").write_text("one two")
    assert reason in await bad(use, "files_edit", path="a", edits=edits)
    assert (root / "a").read_text() == "one two"


async def test_ls_names_types_and_sizes_and_the_roots(use: Use, root: Path) -> None:
    (root / "b.txt").write_text("12345")
    (root / "a").mkdir()
    (root / "l").symlink_to("/etc")
    os.close(os.open(os.fsencode(root) + b"/bad\xff", os.O_CREAT))
    listed = await good(use, "files_ls")
    assert [(e["name"], e["type"]) for e in listed["entries"]] == [
        ("a", "folder"), ("b.txt", "file"), ("bad\\xff", "file"), ("l", "link"),
    ]  # fmt: skip
    assert listed["entries"][1]["size"] == 5
    assert listed["roots"] == [str(root)]
    assert "not a folder" in await bad(use, "files_ls", path="b.txt")


async def test_ls_of_a_crowded_folder_is_bounded(use: Use, root: Path) -> None:
    for number in range(600):
        (root / f"{number:03}").touch()
    listed = await good(use, "files_ls")
    assert (len(listed["entries"]), listed["more"]) == (500, True)


async def test_search_finds_lines_in_text_of_any_kind(use: Use, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/a.py").write_text("x = 1\nneedle = 2\r\n")
    (root / "b.txt").write_bytes("中文 needle\n".encode("gb18030"))
    (root / ".hidden").mkdir()
    (root / ".hidden/c").write_text("needle")
    (root / "bin").write_bytes(b"needle\x00")
    found = await good(use, "files_search", pattern="needle")
    assert found["matches"] == [
        {"path": "b.txt", "line": 1, "text": "中文 needle"}, {"path": "sub/a.py", "line": 2, "text": "needle = 2"},
    ]  # fmt: skip
    assert found["skipped"] == 1
    only = await good(use, "files_search", pattern=r"n.{2}d\w+ =", regex=True, glob="*.py")
    assert [match["path"] for match in only["matches"]] == ["sub/a.py"]
    assert (await good(use, "files_search", pattern="n.e", path="sub"))["matches"] == []
    assert (await good(use, "files_search", pattern="NEEDLE", ignore_case=True))["matches"]


async def test_search_is_bounded_and_a_wrong_expression_is_told(use: Use, root: Path) -> None:
    (root / "a").write_text("x\n" * 10_000)
    found = await good(use, "files_search", pattern="x")
    assert (len(found["matches"]), found["more"]) == (100, True)
    assert "regular expression" in await bad(use, "files_search", pattern="(", regex=True)
    assert "empty" in await bad(use, "files_search", pattern="")


async def test_an_expression_that_would_run_for_ever_is_stopped(
    use: Use, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugins.files.plugin.SEARCH_SECONDS", 0.5)
    (root / "a").write_text("a" * 60 + "b")
    assert "was stopped after" in await bad(use, "files_search", pattern="(a|aa)+$", regex=True)


@pytest.mark.parametrize("tool", ALL)
@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "../outside", "/etc/passwd", "a/../../outside/secret.txt", "..", "a\0b"]
)
async def test_no_path_leads_out(use: Use, root: Path, tool: str, path: str) -> None:
    await bad(use, tool, path=path, **ALL[tool])
    assert (root.parent / "outside/secret.txt").read_text() == SECRET


@pytest.mark.parametrize("tool", ["files_read", "files_write", "files_edit"])
async def test_no_link_leads_out_whether_file_or_folder(use: Use, root: Path, tool: str) -> None:
    outside = root.parent / "outside"
    (root / "file").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "magic").symlink_to(f"/proc/self/cwd/../{outside}")
    for path in ("file", "folder/secret.txt", "folder/../folder/secret.txt", "magic/secret.txt"):
        assert "link" in await bad(use, tool, path=path, **ALL[tool])
    assert (outside / "secret.txt").read_text() == SECRET
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


async def test_listing_and_searching_do_not_follow_links(use: Use, root: Path) -> None:
    outside = root.parent / "outside"
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret.txt")
    assert "link" in await bad(use, "files_ls", path="folder")
    assert "link" in await bad(use, "files_search", path="folder", pattern="secret")
    assert (await good(use, "files_search", pattern="secret"))["matches"] == []


async def test_a_root_may_be_named_through_a_link(use: Use, root: Path) -> None:
    (root / "a").write_text("x")
    alias = root.parent / "alias"
    alias.symlink_to(root)
    async with harness(plugin, settings={"roots": [str(alias)]}) as kernel:
        for path in ("a", str(alias / "a"), str(root / "a")):
            assert not (await kernel.invoke("files_read", path=path)).is_error


async def test_several_roots_are_all_usable_and_a_relative_path_means_the_first(use: Use, root: Path) -> None:
    other = root.parent / "outside"
    async with harness(plugin, settings={"roots": [str(root), str(other)]}) as kernel:
        assert (await kernel.invoke("files_read", path=str(other / "secret.txt"))).content["text"] == SECRET
        assert (await kernel.invoke("files_read", path="secret.txt")).is_error


@pytest.mark.parametrize("roots", ["/", ["relative"], [1], [""], ["a\0b"], {"a": 1}, []])
async def test_a_wrong_setting_stops_the_plugin_and_says_so(tmp_path: Path, roots: object) -> None:
    async with harness(plugin, start=False) as kernel:
        with pytest.raises(ConfigError, match="roots"):
            await kernel.start({"roots": roots}, tmp_path)


def test_the_default_root_is_a_folder_of_its_own_in_the_home() -> None:
    assert roots_of({}, Path("/home/u")).folders == (Path("/home/u/homed-files"),)
