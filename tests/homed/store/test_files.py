"""Files by their hash: private, whole or not there, never through a link, and what is not ours is never read."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homed.errors import NotFound, StorageError
from homed.store import files as module
from homed.store.executors import InlineExecutor
from homed.store.files import MediaFiles

DATA = b"some bytes \x00\xff" * 100
HASH = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
async def files(tmp_path: Path) -> MediaFiles:
    made = MediaFiles(tmp_path / "media", InlineExecutor())
    await made.prepare()
    return made


async def kept(files: MediaFiles, data: bytes = DATA) -> str:
    hash_ = hashlib.sha256(data).hexdigest()
    await files.write_part("blk_1", data, 0)
    await files.keep("blk_1", hash_)
    return hash_


def place(files: MediaFiles, hash_: str = HASH) -> Path:
    return files.root / hash_[:2] / hash_


async def test_a_file_is_kept_private_under_its_hash_and_read_back(files: MediaFiles) -> None:
    assert await kept(files) == HASH
    assert place(files).read_bytes() == DATA
    assert stat.S_IMODE(place(files).stat().st_mode) == 0o600
    for folder in (files.root, files.root / "incoming", files.root / HASH[:2]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list((files.root / "incoming").iterdir()) == []
    assert await files.read(HASH) == DATA
    assert await files.read(HASH, 5, 10) == DATA[5:15]
    assert await files.read(HASH, len(DATA), 10) == b""
    assert await kept(files) == HASH, "the same again is no error"
    assert await files.remove([HASH, "0" * 64]) == 1
    assert not place(files).exists()
    with pytest.raises(NotFound, match="missing or damaged"):
        await files.read(HASH)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8))
async def test_pieces_come_together_however_they_are_cut(files: MediaFiles, pieces: list[bytes]) -> None:
    at = 0
    for piece in pieces:
        await files.write_part("blk_2", piece, at)
        at += len(piece)
    whole = b"".join(pieces)
    assert await files.read_part("blk_2", 1 << 20) == whole
    hash_ = hashlib.sha256(whole).hexdigest()
    await files.keep("blk_2", hash_)
    assert await files.read(hash_) == whole


async def test_a_start_throws_away_what_was_being_received(files: MediaFiles) -> None:
    hash_ = await kept(files)
    await files.write_part("blk_9", b"half", 0)
    await files.prepare()
    assert list((files.root / "incoming").iterdir()) == []
    assert await files.read(hash_) == DATA
    await files.drop_part("blk_9")


async def test_a_changed_file_is_not_given_out_as_a_whole(files: MediaFiles) -> None:
    await kept(files)
    place(files).write_bytes(DATA[:-1])
    with pytest.raises(NotFound, match="damaged"):
        await files.read(HASH)
    assert await kept(files) == HASH, "the same file again mends it"
    assert await files.read(HASH) == DATA


async def test_a_link_in_the_place_of_a_file_is_not_followed(files: MediaFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(DATA)
    place(files).parent.mkdir()
    place(files).symlink_to(secret)
    for length in (None, 10):
        with pytest.raises(NotFound):
            await files.read(HASH, 0, length)
    await kept(files)
    assert secret.read_bytes() == DATA
    assert not place(files).is_symlink(), "an upload replaces the link, not what it points to"
    place(files).unlink()
    place(files).symlink_to(secret)
    assert await files.remove([HASH]) == 1
    assert secret.exists()


@pytest.mark.parametrize("name", [HASH[:2], "incoming"])
async def test_a_link_in_the_place_of_a_folder_is_not_followed(files: MediaFiles, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    link = files.root / name
    if link.exists():
        link.rmdir()
    link.symlink_to(elsewhere)
    with pytest.raises(StorageError, match="a link or a file") as caught:
        await kept(files)
    assert caught.value.hint
    if name == "incoming":
        with pytest.raises(StorageError):
            await files.prepare()
    assert [p.name for p in elsewhere.iterdir()] == ["precious"]


async def test_a_pipe_or_a_folder_in_the_place_of_a_file_holds_nobody_up(files: MediaFiles) -> None:
    place(files).parent.mkdir()
    os.mkfifo(place(files))
    with pytest.raises(NotFound):
        await files.read(HASH, 0, 10)
    place(files).unlink()
    place(files).mkdir()
    with pytest.raises(NotFound):
        await files.read(HASH, 0, 10)


async def test_a_file_far_larger_than_any_of_ours_is_not_read_as_a_whole(files: MediaFiles) -> None:
    place(files).parent.mkdir()
    with place(files).open("wb") as file:
        file.truncate(module.LARGEST + 1)
    with pytest.raises(NotFound):
        await files.read(HASH)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "x" * 65, "a.b", "\x00"])
async def test_no_name_leaves_the_folder(files: MediaFiles, name: str) -> None:
    with pytest.raises(ValueError, match="part"):
        await files.write_part(name, b"x", 0)
    with pytest.raises(ValueError, match="sha256"):
        await files.read(name)
    with pytest.raises(ValueError, match="sha256"):
        await files.remove([name])


@pytest.mark.parametrize(
    ("number", "said"), [(errno.ENOSPC, "no space left"), (errno.EDQUOT, "no space left"), (errno.EIO, "refused")]
)
async def test_a_disk_that_refuses_is_said_with_what_to_do(
    files: MediaFiles, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(StorageError, match=said) as caught:
        await files.write_part("blk_1", b"x", 0)
    assert caught.value.hint
    assert caught.value.detail["reason"] == errno.errorcode[number]


async def test_a_small_picture_lies_beside_its_file_and_goes_with_it(files: MediaFiles) -> None:
    await kept(files)
    assert (await files.read_small(HASH), await files.read_picture(HASH)) == (None, DATA)
    await files.keep_small(HASH, b"a first one, long")
    await files.keep_small(HASH, b"small")
    assert (await files.read_small(HASH), await files.read_picture(HASH)) == (b"small", b"small")
    small = files.root / f"small-{HASH[:2]}" / HASH
    assert stat.S_IMODE(small.stat().st_mode) == 0o600
    assert list((files.root / "incoming").iterdir()) == []
    assert await files.remove([HASH]) == 1
    assert not small.exists()
    assert await files.read_small(HASH) is None


async def test_a_small_picture_that_was_cut_off_does_not_show_behind_the_next_one(files: MediaFiles) -> None:
    await kept(files)
    await files.write_part(f"small-{HASH[:32]}", b"x" * 100, 0)
    await files.keep_small(HASH, b"small")
    assert await files.read_small(HASH) == b"small"


async def test_a_link_in_the_place_of_a_small_picture_is_not_followed(files: MediaFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"not ours")
    await files.keep_small(HASH, b"small")
    small = files.root / f"small-{HASH[:2]}" / HASH
    small.unlink()
    small.symlink_to(secret)
    assert await files.read_small(HASH) is None
