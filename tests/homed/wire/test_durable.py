"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from homed.wire.durable import sync_folder, write_whole


def test_a_file_is_replaced_and_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "book.json"
    write_whole(file, "old")
    write_whole(file, "新的\n")
    assert file.read_text("utf-8") == "新的\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_leaves_the_old_one_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "book.json"
    write_whole(file, "old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, "new")
    assert file.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_file_and_folder_are_put_on_the_disk_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def seen(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", seen)
    write_whole(tmp_path / "book.json", "text")
    assert len(synced) == 2
    assert Path(synced[0]).name.startswith(".book.json.")
    assert synced[1] == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "gone")
