"""Which skills there are, which come first, and that one is enabled only as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from plugins.skills import shelf as shelf_module
from plugins.skills.front import parse
from plugins.skills.shelf import MAX_FILES, Shelf, Skill, missing, read_file, read_skill

ENV = {"PATH": os.environ["PATH"], "HAS": "1"}


def make(place: Path, name: str, description: str = "Does it.", body: str = "Steps.", more: str = "") -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n")
    return folder


def read(folder: Path) -> Skill:
    return read_skill(folder, own=True, environment=ENV)


def test_the_own_folder_comes_first_then_as_listed(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "data", ENV)
    make(tmp_path / "data" / "skills", "a", "own")
    make(tmp_path / "one", "a", "one")
    make(tmp_path / "one", "b", "one")
    make(tmp_path / "two", "b", "two")
    (tmp_path / "two" / "no-skill").mkdir()
    new = shelf.look([tmp_path / "one", tmp_path / "two", tmp_path / "gone"])
    assert {name: skill.front.description for name, skill in shelf.skills.items()} == {"a": "own", "b": "one"}
    assert [skill.front.description for skill in shelf.shadowed] == ["one", "two"]
    assert sorted(skill.name for skill in new) == ["a", "b"]
    assert shelf.look([tmp_path / "one"]) == [], "they are new once"


def test_what_is_enabled_is_as_it_was(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, ENV)
    folder = make(tmp_path / "skills", "a")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_text("echo")
    shelf.look([])
    assert shelf.standing(shelf.skills["a"]) == "disabled"
    shelf.state.enabled["a"] = shelf.skills["a"].sha256
    shelf.save()
    again = Shelf(tmp_path, ENV)
    again.look([])
    assert [skill.name for skill in again.enabled()] == ["a"]
    for change in (
        lambda: (folder / "scripts" / "run.sh").write_text("rm"),
        lambda: (folder / "new").write_text(""),
        lambda: (folder / "scripts" / "run.sh").rename(folder / "other"),
    ):
        change()
        again.look([])
        assert again.standing(again.skills["a"]) == "changed"
        assert again.enabled() == []
        again.state.enabled["a"] = again.skills["a"].sha256
        again.save()


@pytest.mark.parametrize(
    "state", [b"", b"[]", b"{", b'{"enabled": [1], "seen": {}, "loaded": {"t": "x"}}', b"[" * 5000, b"\xff"]
)
def test_a_damaged_memory_enables_nothing(tmp_path: Path, state: bytes) -> None:
    make(tmp_path / "skills", "a")
    (tmp_path / "skills.json").write_bytes(state)
    shelf = Shelf(tmp_path, ENV)
    shelf.look([])
    assert shelf.standing(shelf.skills["a"]) == "disabled"
    json.loads((tmp_path / "skills.json").read_text())


def test_links_devices_and_too_much_are_no_skill(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    linked = make(tmp_path, "linked")
    (linked / "x").symlink_to(tmp_path / "secret")
    into = make(tmp_path, "into")
    (into / "dir").symlink_to(tmp_path)
    piped = make(tmp_path, "piped")
    os.mkfifo(piped / "pipe")
    many = make(tmp_path, "many")
    for number in range(MAX_FILES):
        (many / str(number)).write_text("")
    deep = make(tmp_path, "deep")
    (deep / "/".join("d" * 12)).mkdir(parents=True)
    large = make(tmp_path, "large")
    with (large / "x").open("wb") as file:
        file.truncate(9 << 20)
    odd = make(tmp_path, "odd")
    (odd / "a\u202eb").write_text("")
    said = {folder.name: read(folder).problem for folder in (linked, into, piped, many, deep, large, odd)}
    assert said["linked"] == said["into"].replace("dir", "x") == "'x' is a link or a device"
    assert "link or a device" in said["piped"]
    assert "over 200 files" in said["many"]
    assert "deep" in said["deep"]
    assert "bytes" in said["large"]
    assert "cannot be shown" not in said["odd"] or "no name" in said["odd"]
    assert all(said.values())


def test_a_link_put_in_between_two_looks_is_not_followed(tmp_path: Path) -> None:
    folder = make(tmp_path, "a")
    (tmp_path / "secret").write_text("secret")
    (folder / "x").symlink_to(tmp_path / "secret")
    (folder / "d").symlink_to(tmp_path)
    for name in ("x", "d/secret"):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            read_file(folder, name, 100)


def test_a_skill_md_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (tmp_path / "other").write_text("---\nname: a\ndescription: d\n---\n")
    (folder / "SKILL.md").symlink_to(tmp_path / "other")
    assert "link" in read(folder).problem


def test_a_broken_skill_is_shown_and_harms_no_other(tmp_path: Path) -> None:
    (tmp_path / "skills" / "bad\u202e\n").mkdir(parents=True)
    (tmp_path / "skills" / "bad\u202e\n" / "SKILL.md").write_text("nothing")
    make(tmp_path / "skills", "good")
    shelf = Shelf(tmp_path, ENV)
    shelf.look([])
    assert {name: shelf.standing(skill) for name, skill in shelf.skills.items()} == {
        "bad??": "broken",
        "good": "disabled",
    }


@pytest.mark.parametrize(
    ("openclaw", "lacks"),
    [
        ("{}", ()),
        ("{os: [linux]}", ()),
        ("{os: [darwin, win32]}", ("it is for darwin, win32",)),
        ("{requires: {bins: [sh, no-such-program]}}", ("the program no-such-program",)),
        ("{requires: {bins: [/bin/sh]}}", ("the program /bin/sh",)),
        ("{requires: {anyBins: [no-such-program, sh]}}", ()),
        ("{requires: {anyBins: [x-1, x-2]}}", ("one of the programs x-1, x-2",)),
        ("{requires: {env: [HAS, HAS_NOT]}}", ("the variable HAS_NOT",)),
        ("{requires: {config: [browser.enabled]}}", ("OpenClaw's setting browser.enabled",)),
        ("{always: true, requires: {bins: [no-such-program]}}", ()),
    ],
)
def test_what_a_skill_lacks_is_named(openclaw: str, lacks: tuple[str, ...]) -> None:
    text = f"---\nname: a\ndescription: d\nmetadata:\n  openclaw: {openclaw}\n---\n"
    assert missing(parse(text.encode())[0], ENV) == lacks


def test_what_is_loaded_is_bounded(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, ENV)
    shelf.look([])
    for number in range(250):
        shelf.note_loaded(f"t{number}", "a", loaded=True)
    shelf.note_loaded("t249", "b", loaded=True)
    shelf.note_loaded("t249", "a", loaded=False)
    assert len(shelf.state.loaded) == 200
    assert shelf.state.loaded["t249"] == ["b"]
    assert "t0" not in shelf.state.loaded


def test_the_text_is_the_one_that_the_hash_is_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes while it is read: never the words of one version under the hash of another."""
    folder = make(tmp_path, "a", body="good")
    good = read(folder)
    read_one = shelf_module.read_file

    def flickering(place: Path, name: str, most: int) -> bytes:
        data = read_one(place, name, most)
        other = b"good" if b"evil" in data else b"evil"
        (place / name).write_bytes(data.replace(b"good", other).replace(b"evil", other))
        return data

    monkeypatch.setattr(shelf_module, "read_file", flickering)
    for _ in range(4):
        found = read(folder)
        assert (found.sha256 == good.sha256) == (found.body == good.body)
