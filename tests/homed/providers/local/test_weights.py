"""The built-in weights: whole, checked, put right, and cheap to check again."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from homed.errors import StorageError, Unavailable
from homed.providers.local.weights import SMOLLM2, Pinned, Telling, Weights, in_wheel

CONTENT = bytes(range(256)) * 12_000
PINNED = Pinned("tiny.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "wheel.gguf"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def weights(tmp_path: Path, wheel: Path) -> Weights:
    return Weights(tmp_path / "models", pinned=PINNED, source=lambda _: wheel if wheel.exists() else None)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry each time the file is hashed."""
    seen: list[int] = []
    real = hashlib.file_digest

    def digest(file: object, name: str) -> object:
        seen.append(1)
        return real(file, name)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", digest)
    return seen


def test_missing_it_is_put_in_place_whole_and_private(weights: Weights) -> None:
    told: list[tuple[int, int]] = []
    path = weights.ready(lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(os.listdir(path.parent)) == ["tiny.gguf", "tiny.gguf.json"]
    assert told[-1] == (len(CONTENT), len(CONTENT))


def test_in_place_it_is_not_read_again_and_the_wheel_is_not_needed(
    weights: Weights, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights.ready()
    wheel.unlink()
    seen = reads(monkeypatch)
    assert weights.ready().read_bytes() == CONTENT
    assert seen == []
    weights.ready(thorough=True)
    assert seen == [1]


def test_touched_it_is_read_once_more(weights: Weights, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = weights.ready()
    wheel.unlink()
    os.utime(path, (1, 1))
    seen = reads(monkeypatch)
    weights.ready()
    weights.ready()
    assert seen == [1]


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "empty"])
def test_damaged_it_is_put_right_from_the_wheel(weights: Weights, damage: str) -> None:
    path = weights.ready()
    if damage == "cut":
        path.write_bytes(CONTENT[:1000])
    elif damage == "flipped":
        path.write_bytes(b"X" + CONTENT[1:])
    elif damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"")
    assert weights.ready().read_bytes() == CONTENT


def test_damage_that_kept_size_and_time_is_found_by_a_thorough_look(weights: Weights) -> None:
    path = weights.ready()
    seen = path.stat()
    path.write_bytes(b"X" + CONTENT[1:])
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert weights.ready(thorough=True).read_bytes() == CONTENT


def test_damaged_without_the_wheel_it_says_what_to_do(weights: Weights, wheel: Path) -> None:
    path = weights.ready()
    wheel.unlink()
    path.write_bytes(b"X" + CONTENT[1:])
    with pytest.raises(Unavailable, match=r"is damaged.*make install.*homed models install"):
        weights.ready()
    path.unlink()
    with pytest.raises(Unavailable, match="is not there"):
        weights.ready()
    assert not weights.present()


def test_a_wheel_with_another_content_is_refused_and_leaves_nothing(weights: Weights, wheel: Path) -> None:
    wheel.write_bytes(b"X" + CONTENT[1:])
    with pytest.raises(Unavailable, match="its hash is wrong"):
        weights.ready()
    assert os.listdir(weights.path.parent) == []


def test_a_disk_that_does_not_take_it_is_a_storage_error_and_leaves_what_was_there(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        weights.ready()
    assert os.listdir(weights.path.parent) == []


def test_a_copy_that_was_killed_is_swept_away_and_one_under_way_is_not(weights: Weights) -> None:
    folder = weights.path.parent
    folder.mkdir()
    old, new = folder / "tiny.gguf.1-1.part", folder / "tiny.gguf.2-2.part"
    for part in (old, new):
        part.write_bytes(b"x")
    os.utime(old, (1, 1))
    weights.ready()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_copy_is_told_of_once_a_second_and_a_quick_one_not_at_all() -> None:
    said: list[str] = []
    now = [0.0]
    telling = Telling(said.append, lambda: now[0])
    for second in (0.1, 0.9, 1.0, 1.5, 2.1):
        now[0] = second
        telling(int(second * 10_000_000), 98_000_000)
    assert said == [
        "Putting the built-in model in place: 10 % of 98 MB", "Putting the built-in model in place: 21 % of 98 MB",
    ]  # fmt: skip


@pytest.mark.model
def test_the_pinned_file_is_the_one_in_the_wheel() -> None:
    path = in_wheel()
    assert path is not None
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SMOLLM2.sha256
    assert path.stat().st_size == SMOLLM2.size
