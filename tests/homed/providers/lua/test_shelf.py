"""The folder of scripts: those that come along are kept fresh, and nobody's edits are lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homed.errors import NotFound, StorageError
from homed.providers.lua.shelf import BUNDLED, MAX_SCRIPT, Shelf


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "a.lua").write_text("a 1")
    (folder / "b.lua").write_text("b 1")
    return folder


@pytest.fixture
def shelf(tmp_path: Path, shipped: Path) -> Shelf:
    made = Shelf(tmp_path / "adapters", shipped)
    made.refresh()
    return made


def origins(shelf: Shelf) -> dict[str, str]:
    return {one.name: one.origin for one in shelf.found()}


def test_the_scripts_are_put_in_place(shelf: Shelf) -> None:
    assert (shelf.read("a"), shelf.read("b")) == ("a 1", "b 1")
    assert origins(shelf) == {"a": "bundled", "b": "bundled"}
    assert shelf.folder.stat().st_mode & 0o777 == 0o700


def test_an_upgrade_replaces_what_nobody_has_edited(shelf: Shelf, shipped: Path) -> None:
    (shipped / "a.lua").write_text("a 2")
    (shipped / "c.lua").write_text("c 1")
    shelf.refresh()
    assert [shelf.read(name) for name in "abc"] == ["a 2", "b 1", "c 1"]


def test_an_edited_one_is_kept_and_the_newer_put_beside_it_once(shelf: Shelf, shipped: Path) -> None:
    shelf.path("a").write_text("a mine")
    shelf.refresh()
    assert not list(shelf.folder.glob("*.new"))  # nothing newer yet
    (shipped / "a.lua").write_text("a 2")
    shelf.refresh()
    assert shelf.read("a") == "a mine"
    [found] = [one for one in shelf.found() if one.name == "a"]
    assert (found.origin, Path(found.newer).read_text()) == ("edited", "a 2")
    Path(found.newer).unlink()
    shelf.refresh()
    assert not list(shelf.folder.glob("*.new"))
    (shipped / "a.lua").write_text("a 3")
    shelf.refresh()
    assert (shelf.folder / "a.lua.new").read_text() == "a 3"


def test_one_that_was_brought_back_is_kept_fresh_again(shelf: Shelf, shipped: Path) -> None:
    shelf.path("a").write_text("a mine")
    (shipped / "a.lua").write_text("a 2")
    shelf.refresh()
    (shelf.folder / "a.lua.new").rename(shelf.path("a"))
    (shipped / "a.lua").write_text("a 3")
    shelf.refresh()
    assert (shelf.read("a"), origins(shelf)["a"]) == ("a 3", "bundled")


def test_one_that_was_removed_comes_again(shelf: Shelf) -> None:
    shelf.path("a").unlink()
    shelf.refresh()
    assert shelf.read("a") == "a 1"


def test_a_script_of_ones_own_by_a_name_that_comes_later_is_kept(shelf: Shelf, shipped: Path) -> None:
    shelf.path("mine").write_text("own")
    (shipped / "mine.lua").write_text("theirs")
    shelf.refresh()
    assert shelf.read("mine") == "own"
    assert (shelf.folder / "mine.lua.new").read_text() == "theirs"


def test_killed_between_a_script_and_its_record_it_goes_on(shelf: Shelf, shipped: Path) -> None:
    (shipped / "a.lua").write_text("a 2")
    record = (shelf.folder / ".shipped.json").read_bytes()
    shelf.refresh()
    (shelf.folder / ".shipped.json").write_bytes(record)
    shelf.refresh()
    (shipped / "a.lua").write_text("a 3")
    shelf.refresh()
    assert shelf.read("a") == "a 3"


@pytest.mark.parametrize("record", ["", "{", "[]", '{"a.lua": 7}'])
def test_a_broken_record_overwrites_nothing(shelf: Shelf, shipped: Path, record: str) -> None:
    shelf.path("a").write_text("a mine")
    (shelf.folder / ".shipped.json").write_text(record)
    (shipped / "a.lua").write_text("a 2")
    shelf.refresh()
    assert shelf.read("a") == "a mine"


def test_nothing_is_written_when_nothing_is_new(shelf: Shelf) -> None:
    before = {file: file.stat().st_mtime_ns for file in shelf.folder.iterdir()}
    shelf.refresh()
    assert {file: file.stat().st_mtime_ns for file in shelf.folder.iterdir()} == before


def test_what_is_no_script_is_refused_in_words(shelf: Shelf) -> None:
    with pytest.raises(NotFound):
        shelf.read("none")
    with pytest.raises(NotFound):
        shelf.stamp("none")
    shelf.path("big").write_text("-" * (MAX_SCRIPT + 1))
    with pytest.raises(StorageError, match="over"):
        shelf.read("big")
    shelf.path("odd").write_bytes(b"\xff")
    with pytest.raises(StorageError, match="UTF-8"):
        shelf.read("odd")
    shelf.path("folder").mkdir()
    with pytest.raises(NotFound):
        shelf.read("folder")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("put", [pipe, huge, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", ["a.lua", ".shipped.json", "a.lua.new", "a.lua.part", "own.lua"])
def test_what_lies_there_and_is_no_script_costs_nobody_anything(
    tmp_path: Path, shipped: Path, name: str, put: Callable[[Path], object]
) -> None:
    """A daemon that waited for a pipe could not be stopped, and one that read a terabyte would not start."""
    folder = tmp_path / "new"
    folder.mkdir()
    put(folder / name)
    shelf = Shelf(folder, shipped)
    with contextlib.suppress(StorageError):
        shelf.refresh()
    assert {one.name for one in shelf.found()} >= ({"b"} if name in ("a.lua", "own.lua") else set())
    with contextlib.suppress(NotFound, StorageError):
        shelf.read(name.removesuffix(".lua"))


@pytest.mark.parametrize("put", [pipe, Path.mkdir, lambda path: path.symlink_to("/nowhere")])
def test_it_is_theirs_and_stays(tmp_path: Path, shipped: Path, put: Callable[[Path], object]) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    put(folder / "a.lua")
    shelf = Shelf(folder, shipped)
    for _ in range(2):
        shelf.refresh()
        assert not (folder / "a.lua").is_file()
        assert (folder / "b.lua").read_text() == "b 1"
        with pytest.raises(NotFound):
            shelf.read("a")


def test_nothing_is_written_through_a_link(tmp_path: Path, shipped: Path) -> None:
    folder, elsewhere = tmp_path / "new", tmp_path / "mine"
    folder.mkdir()
    elsewhere.write_text("mine")
    (folder / "a.lua.part").symlink_to(elsewhere)
    Shelf(folder, shipped).refresh()
    assert elsewhere.read_text() == "mine"
    assert (folder / "a.lua").read_text() == "a 1"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, shipped: Path) -> None:
    (tmp_path / "adapters").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be put into"):
        Shelf(tmp_path / "adapters", shipped).refresh()


def test_eight_come_along() -> None:
    names = {path.stem for path in BUNDLED.glob("*.lua")}
    assert names == {"deepseek", "openai", "anthropic", "gemini", "mistral", "groq", "github", "ollama"}
