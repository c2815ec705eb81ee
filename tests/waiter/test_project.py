"""Which folder homed is told is worked in."""

from __future__ import annotations

from pathlib import Path

import pytest

from waiter.project import folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home" / "work" / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "home")
    return (tmp_path / "home").resolve()


def at(place: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> str:
    monkeypatch.chdir(place)
    return folder({"HOME": str(home)})


def test_the_root_of_the_repository_or_the_folder_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = home / "work" / "src" / "deep"
    assert at(deep, monkeypatch, home) == str(deep)
    (home / "work" / ".git").write_text("gitdir: elsewhere")
    assert at(deep, monkeypatch, home) == str(home / "work")
    (home / "link").symlink_to(deep)
    assert at(home / "link", monkeypatch, home) == str(home / "work"), "whatever led here"


def test_home_and_the_root_are_no_project_and_nor_is_a_repository_of_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".git").mkdir()
    assert at(home, monkeypatch, home) == ""
    assert at(Path("/"), monkeypatch, home) == ""
    assert at(home / "work", monkeypatch, home) == str(home / "work")


def test_a_folder_that_is_gone_or_cannot_be_told_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gone", "a\u202eb"):
        (home / name).mkdir()
    assert at(home / "a\u202eb", monkeypatch, home) == ""
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    assert folder({"HOME": str(home)}) == ""
