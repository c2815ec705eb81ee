"""Reading a Lua plugin's files: nothing leads out of the folder, and changes are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plugins.lua.source import MAX_FILE, MAX_FILES, Source


def test_modules_are_files_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "main.lua").write_text("x")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.lua").write_text("b")
    (tmp_path / "a" / "init.lua").write_text("init")
    source = Source(tmp_path)
    assert source.main() == b"x"
    assert source.module("a.b") == ("a/b.lua", b"b")
    assert source.module("a") == ("a/init.lua", b"init")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a..b", "", "a/b", "a\0b", "x" * 100, ".x", "a." * 20 + "a"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LookupError, match="a module is a"):
        Source(tmp_path).module(name)


def test_links_and_devices_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    folder.mkdir()
    (tmp_path / "secret.lua").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.lua").write_text("secret")
    (folder / "link.lua").symlink_to(tmp_path / "secret.lua")
    (folder / "dir").symlink_to(tmp_path / "outside")
    (folder / "main.lua").symlink_to(tmp_path / "secret.lua")
    (folder / "folder.lua").mkdir()
    os.mkfifo(folder / "pipe.lua")
    source = Source(folder)
    for name in ("link", "dir.x", "folder", "pipe"):
        with pytest.raises(LookupError, match=r"links are not followed|no regular file"):
            source.module(name)
    with pytest.raises(LookupError, match="links are not followed"):
        source.main()


def test_what_is_missing_or_too_large_is_said(tmp_path: Path) -> None:
    (tmp_path / "big.lua").write_bytes(b" " * (MAX_FILE + 1))
    source = Source(tmp_path)
    with pytest.raises(LookupError, match=r"there is no main\.lua"):
        source.main()
    with pytest.raises(LookupError, match=r"there is no gone\.lua"):
        source.module("gone")
    with pytest.raises(LookupError, match="is over"):
        source.module("big")


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    source = Source(tmp_path)
    for number in range(MAX_FILES):
        with pytest.raises(LookupError, match="there is no"):
            source.module(f"m{number}")
    with pytest.raises(LookupError, match=f"over {MAX_FILES} files"):
        source.module("one_more")


def test_changes_are_seen(tmp_path: Path) -> None:
    (tmp_path / "main.lua").write_text("1")
    source = Source(tmp_path)
    source.main()
    with pytest.raises(LookupError):
        source.module("later")
    assert not source.changed()
    (tmp_path / "later.lua").write_text("now")
    assert source.changed()
    source = Source(tmp_path)
    source.main()
    replaced = tmp_path / "new"
    replaced.write_text("2")
    replaced.replace(tmp_path / "main.lua")
    assert source.changed()
    source.main()
    (tmp_path / "main.lua").unlink()
    assert source.changed()


def test_a_module_may_be_read_while_somebody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lua's thread reads, the watcher looks: a dict that grows under a loop would end the plugin."""
    (tmp_path / "main.lua").write_text("")
    (tmp_path / "a.lua").write_text("")
    source = Source(tmp_path)
    source.main()
    look = source._print

    def reading_meanwhile(name: str) -> object:
        if "a.lua" not in source._read:
            source._read["a.lua"] = look("a.lua")
        return look(name)

    monkeypatch.setattr(source, "_print", reading_meanwhile)
    assert not source.changed()
    del source._read["a.lua"]
    assert len(source.prints()) == 1
