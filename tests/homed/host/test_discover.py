"""Where plugins come from decides what they are; a broken one is shown with all its errors.  Fault C15."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.host.discover import Broken, Installed, discover
from homed.host.states import Trust
from tests.kit.hosting import install, manifest


def test_packaged_ones_first_each_sorted_and_folders_without_a_manifest_left_out(tmp_path: Path) -> None:
    install(tmp_path / "in", manifest("b"), manifest("a"))
    install(tmp_path / "out", manifest("c"))
    (tmp_path / "in" / "strings").mkdir()
    (tmp_path / "in" / "file.txt").touch()
    found = discover(tmp_path / "in", tmp_path / "out")
    assert [(f.name, f.trust) for f in found] == [
        ("a", Trust.PACKAGED), ("b", Trust.PACKAGED), ("c", Trust.EXTERNAL),
    ]  # fmt: skip


def test_a_missing_place_holds_no_plugins(tmp_path: Path) -> None:
    assert discover(tmp_path / "none", tmp_path / "nothing") == []


def test_an_external_plugin_cannot_take_a_name_that_is_taken(tmp_path: Path) -> None:
    install(tmp_path / "in", manifest("shell"))
    install(tmp_path / "out", manifest("shell"), manifest("twin"))
    other = tmp_path / "out" / "zzz"
    other.mkdir()
    (other / "plugin.json").write_text((tmp_path / "out" / "twin" / "plugin.json").read_text())
    found = {f.name: f for f in discover(tmp_path / "in", tmp_path / "out")}
    assert isinstance(found["shell"], Installed)
    assert found["shell"].trust is Trust.PACKAGED
    for name, taken_by in (("shell@external", tmp_path / "in" / "shell"), ("zzz@external", tmp_path / "out" / "twin")):
        broken = found[name]
        assert isinstance(broken, Broken)
        assert str(taken_by) in broken.errors[0]


def test_a_broken_manifest_keeps_its_folders_name_and_every_error(tmp_path: Path) -> None:
    install(tmp_path, manifest("good"), {**manifest("odd"), "version": 5, "restart": "sometimes"})
    broken, good = sorted(discover(tmp_path, tmp_path / "none"), key=lambda f: not isinstance(f, Broken))
    assert isinstance(good, Installed)
    assert isinstance(broken, Broken)
    assert broken.name == "odd"
    assert [e.split(":")[0] for e in broken.errors] == ["version", "restart"]


def test_a_folder_that_may_not_be_looked_into_is_shown_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, manifest("good"), manifest("locked"))
    is_file, locked = Path.is_file, tmp_path / "locked" / "plugin.json"

    def refused(path: Path) -> bool:  # root may look everywhere, so a mode would not do
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused)
    assert {found.name for found in discover(tmp_path, tmp_path / "none")} == {"good", "locked"}
