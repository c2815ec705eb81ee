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


def test_a_path_that_is_half_a_character_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="half a character"):
        Roots([root]).locate("\ud800")


def test_nothing_over_the_limit_is_written(root: Path) -> None:
    with pytest.raises(ToolError, match="MiB"):
        disk.write(Roots([root]).locate("a"), b"x" * (disk.MAX_FILE + 1), expect=None)
    assert os.listdir(root) == []
