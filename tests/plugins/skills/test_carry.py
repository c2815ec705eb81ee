"""Skills in and out: folders, zips, packages; also hostile ones."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from homed.wire.package import write_package
from plugins.skills import carry
from plugins.skills.front import BadSkill
from plugins.skills.shelf import Skill

from .test_shelf import ENV, make, read


def install(source: Path, own: Path, *, replace: bool = False) -> Skill:
    return carry.install(source, own, ENV, replace=replace)


def rich(place: Path) -> Path:
    folder = make(place, "rich", body="Run {baseDir}/scripts/run.sh\n\n中文")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\necho hi\n")
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "assets").mkdir()
    (folder / "assets" / "日本.bin").write_bytes(bytes(range(256)))
    (folder / ".hidden").write_text("x")
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), bool(file.stat().st_mode & stat.S_IXUSR))
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_out_and_in_again_it_is_the_same(tmp_path: Path) -> None:
    folder = rich(tmp_path / "src")
    first = install(folder, tmp_path / "one")
    carry.export(first, tmp_path / "out" / "a.zip")
    second = install(tmp_path / "out" / "a.zip", tmp_path / "two")
    carry.export(second, tmp_path / "b.zip")
    assert contents(first.folder) == contents(second.folder) == contents(folder)
    assert first.sha256 == second.sha256
    assert (tmp_path / "out" / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["rich"], "nothing else is left there"


def test_a_package_whose_entry_is_a_skill(tmp_path: Path) -> None:
    folder = make(tmp_path, "packed")
    (folder / "plugin.json").write_text(json.dumps({"name": "packed", "version": "1", "entry": "SKILL.md"}))
    write_package(folder, tmp_path / "packed.hmap")
    skill = install(tmp_path / "packed.hmap", tmp_path / "own")
    assert skill.files == ("SKILL.md", "plugin.json")


def test_a_package_that_is_a_plugin_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, "packed")
    (folder / "plugin.json").write_text(json.dumps({"name": "packed", "version": "1", "entry": "main.lua"}))
    write_package(folder, tmp_path / "packed.hmap")
    with pytest.raises(BadSkill, match="is a plugin"):
        install(tmp_path / "packed.hmap", tmp_path / "own")


def test_a_package_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, "packed")
    (folder / "plugin.json").write_text(json.dumps({"name": "packed", "version": "1", "entry": "SKILL.md"}))
    write_package(folder, tmp_path / "packed.hmap")
    with zipfile.ZipFile(tmp_path / "packed.hmap", "a") as file:
        file.writestr("more.sh", "rm -rf /")
    with pytest.raises(BadSkill, match="not listed"):
        install(tmp_path / "packed.hmap", tmp_path / "own")


def test_a_name_that_is_taken_needs_a_word(tmp_path: Path) -> None:
    install(make(tmp_path / "1", "a", body="old"), tmp_path / "own")
    new = make(tmp_path / "2", "a", body="new")
    with pytest.raises(BadSkill, match="already"):
        install(new, tmp_path / "own")
    assert read(tmp_path / "own" / "a").body == "old\n"
    assert install(new, tmp_path / "own", replace=True).body == "new\n"
    with pytest.raises(BadSkill, match="already"):
        carry.create(tmp_path / "own", "a", "x")


HOSTILE = {
    "escape": {"../../evil/SKILL.md": "x"},
    "absolute": {"/etc/SKILL.md": "x"},
    "backslash": {"a\\..\\SKILL.md": "x"},
    "no skill": {"a/readme.md": "x"},
    "two folders": {"a/SKILL.md": "x", "b/SKILL.md": "x"},
    "bad head": {"SKILL.md": "no head"},
    "twice": {"SKILL.md": "---\nname: a\ndescription: d\n---\n", "skill.md": "x"},
    "many": {"SKILL.md": "x", **{f"f{number}": "" for number in range(250)}},
    "large": {"SKILL.md": "x", "big": "\0" * (9 << 20)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_leaves_nothing(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for path, text in HOSTILE[name].items():
            file.writestr(path, text)
    own = tmp_path / "deep" / "own"
    with pytest.raises(BadSkill):
        install(tmp_path / "x.zip", own)
    assert list(own.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "x.zip"]


def test_a_link_in_a_zip_or_a_folder_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("SKILL.md")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr(info, "/etc/passwd")
    folder = make(tmp_path, "linked")
    (folder / "x").symlink_to("/etc/passwd")
    for source in (tmp_path / "x.zip", folder):
        with pytest.raises(BadSkill, match=r"link|plain file|device"):
            install(source, tmp_path / "own")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"nothing", b"\0" * 100])
def test_what_is_no_zip_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(BadSkill):
        install(tmp_path / "x.zip", tmp_path / "own")


def test_a_folder_without_a_skill_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh" / "id_rsa").write_text("secret")
    with pytest.raises(BadSkill, match=r"no SKILL\.md"):
        install(tmp_path / "ssh", tmp_path / "own")


def test_a_move_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    install(make(tmp_path / "1", "a", "old"), own)
    rename = Path.rename

    def full(self: Path, target: Path) -> Path:
        if self.name == "skill":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space"):
        install(make(tmp_path / "2", "a", "new"), own, replace=True)
    monkeypatch.undo()
    assert read(own / "a").front.description == "old"


def test_what_a_kill_left_out_of_its_place_is_put_back(tmp_path: Path) -> None:
    own = tmp_path / "own"
    make(own / ".incoming-killed", "old", "was in place").joinpath("SKILL.md").write_text(
        "---\nname: a\ndescription: was in place\n---\nSteps.\n"
    )
    make(own / ".incoming-half", "skill")
    make(own, "b", "is in place")
    make(own / ".incoming-after", "old").joinpath("SKILL.md").write_text("---\nname: b\ndescription: old\n---\nS.\n")
    carry.recover(own, ENV)
    carry.recover(tmp_path / "none", ENV)
    assert sorted(path.name for path in own.iterdir()) == ["a", "b"]
    assert (read(own / "a").front.description, read(own / "b").front.description) == ("was in place", "is in place")


def test_what_changes_meanwhile_is_not_exported(tmp_path: Path) -> None:
    skill = read(make(tmp_path, "a"))
    (tmp_path / "a" / "SKILL.md").write_text("another")
    with pytest.raises(BadSkill, match="has just changed"):
        carry.export(skill, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()
