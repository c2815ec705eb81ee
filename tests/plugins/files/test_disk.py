"""Races: a link swapped in, a file changed in between, a name taken meanwhile."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from homed.sdk import ToolError
from plugins.files import disk
from plugins.files.roots import Roots
from tests.plugins.files.conftest import SECRET


def test_a_folder_swapped_for_a_link_again_and_again_never_leads_out(root: Path) -> None:
    outside = root.parent / "outside"
    (root / "real").mkdir()
    (root / "real/secret.txt").write_text("inside")
    os.symlink(outside, root / "link")
    place, done = Roots([root]).locate("folder/secret.txt"), threading.Event()

    def swap() -> None:
        while not done.is_set():
            for name in ("real", "link"):
                os.rename(root / name, root / "folder")
                os.rename(root / "folder", root / name)

    thread = threading.Thread(target=swap)
    thread.start()
    read = 0
    try:
        for _ in range(3_000):
            with suppress(ToolError):
                assert disk.read(place).data == b"inside"
                read += 1
    finally:
        done.set()
        thread.join()
    assert (outside / "secret.txt").read_text() == SECRET


def test_a_file_changed_since_it_was_read_is_not_overwritten(root: Path) -> None:
    place = Roots([root]).locate("a")
    disk.write(place, b"one", expect=None)
    before = disk.read(place)
    (root / "a").write_bytes(b"someone else's")
    with pytest.raises(ToolError, match="changed by someone else"):
        disk.write(place, b"two", expect=before)
    assert (root / "a").read_bytes() == b"someone else's"
    assert os.listdir(root) == ["a"]


def test_a_link_put_in_the_place_of_the_file_is_replaced_not_followed(root: Path) -> None:
    place = Roots([root]).locate("a")
    disk.write(place, b"one", expect=None)
    before = disk.read(place)
    (root / "a").unlink()
    (root / "a").symlink_to(root.parent / "outside/secret.txt")
    with pytest.raises(ToolError):
        disk.write(place, b"two", expect=before)
    assert (root.parent / "outside/secret.txt").read_text() == SECRET


def test_a_failed_write_leaves_the_old_file_and_no_litter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Roots([root]).locate("a")
    disk.write(place, b"one", expect=None)
    before = disk.read(place)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="No space left"):
        disk.write(place, b"two", expect=before)
    assert (root / "a").read_bytes() == b"one"
    assert os.listdir(root) == ["a"]


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **more: object) -> None:
        raise PermissionError(1, "Operation not permitted")  # what FAT says

    monkeypatch.setattr(os, "link", refused)


def test_a_new_file_is_made_where_hard_links_are_not_supported(root: Path, no_links: None) -> None:
    place = Roots([root]).locate("a")
    disk.write(place, b"one", expect=None)
    assert (root / "a").read_bytes() == b"one"
    assert (root / "a").stat().st_mode & 0o7777 == 0o644
    assert os.listdir(root) == ["a"]


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_name_that_is_taken_is_not_overwritten_there_either(root: Path, no_links: None, kind: str) -> None:
    if kind == "file":
        (root / "a").write_bytes(b"mine")
    elif kind == "folder":
        (root / "a").mkdir()
    else:
        (root / "a").symlink_to("nowhere")
    with pytest.raises(ToolError, match="exists already"):
        disk.write(Roots([root]).locate("a"), b"one", expect=None)
    assert os.listdir(root) == ["a"]
    assert kind != "file" or (root / "a").read_bytes() == b"mine"


def test_a_new_file_that_fails_there_leaves_no_litter(
    root: Path, no_links: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(ToolError, match="Input/output"):
        disk.write(Roots([root]).locate("a"), b"one", expect=None)
    assert os.listdir(root) == []


def test_overwriting_keeps_who_may_do_what_and_no_setuid(root: Path) -> None:
    place = Roots([root]).locate("a")
    disk.write(place, b"one", expect=None)
    (root / "a").chmod(0o6751)
    disk.write(place, b"two", expect=disk.read(place))
    assert (root / "a").stat().st_mode & 0o7777 == 0o751


def test_a_path_that_is_half_a_character_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="half a character"):
        Roots([root]).locate("\ud800")


def test_nothing_over_the_limit_is_written(root: Path) -> None:
    with pytest.raises(ToolError, match="MiB"):
        disk.write(Roots([root]).locate("a"), b"x" * (disk.MAX_FILE + 1), expect=None)
    assert os.listdir(root) == []
