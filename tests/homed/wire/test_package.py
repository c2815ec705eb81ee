"""``.hmap``: the same folder gives the same bytes, and nothing of what is read is believed."""

from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

import pytest

from homed.errors import InvalidInput, StorageError
from homed.wire.package import open_package, unpack, write_package
from tests.homed.wire.zips import good, info, manifest, packed, sums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "hello"
    (made / "lib" / "__pycache__").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / "plugin.json").write_bytes(manifest())
    (made / "__main__.py").write_text("print('hi')\n")
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o700)
    (made / "lib" / "a.py").write_text("A = 1\n")
    (made / "lib" / "__pycache__" / "a.pyc").write_bytes(b"x")
    (made / ".git" / "config").write_text("secret")
    for name in (".env", "a.py~", "#a.py#", ".a.py.swp", "a.pyc", "old.hmap", "SHA256SUMS"):
        (made / name).write_text("not in it")
    return made


def test_the_same_folder_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    first = write_package(folder, tmp_path / "1.hmap")
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 9999, 12345))
    second = write_package(folder, tmp_path / "2.hmap")
    assert first.sha256 == second.sha256
    assert (tmp_path / "1.hmap").read_bytes() == (tmp_path / "2.hmap").read_bytes()


def test_leavings_and_hidden_files_stay_out(folder: Path, tmp_path: Path) -> None:
    made = write_package(folder, tmp_path / "x.hmap")
    assert sorted(made.files) == ["__main__.py", "lib/a.py", "plugin.json", "run.sh"]
    assert made.files["run.sh"].executable
    assert made.manifest.name == "hello"
    assert made.size == (tmp_path / "x.hmap").stat().st_size


def test_the_list_is_one_that_sha256sum_reads(folder: Path, tmp_path: Path) -> None:
    made = write_package(folder, tmp_path / "x.hmap")
    unpack(made, tmp_path / "out")
    assert os.system(f"cd {tmp_path / 'out'} && sha256sum --quiet --strict -c SHA256SUMS") == 0
    assert (tmp_path / "out" / "lib" / "a.py").read_text() == "A = 1\n"


@pytest.mark.parametrize("what", ["link", "pipe", "folder link"])
def test_a_link_or_device_is_not_packed(folder: Path, tmp_path: Path, what: str) -> None:
    if what == "pipe":
        os.mkfifo(folder / "x")
    else:
        (folder / "x").symlink_to("/etc/passwd" if what == "link" else "/etc")
    with pytest.raises(InvalidInput, match="link or a device"):
        write_package(folder, tmp_path / "x.hmap")
    assert not (tmp_path / "x.hmap").exists()


def test_what_fails_leaves_the_old_file_and_no_other(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    before = write_package(folder, out / "x.hmap")
    (folder / "plugin.json").write_text("{}")
    with pytest.raises(InvalidInput, match="name: is missing"):
        write_package(folder, out / "x.hmap")
    assert os.listdir(out) == ["x.hmap"]
    assert open_package(out / "x.hmap").sha256 == before.sha256
    with pytest.raises(StorageError):
        write_package(folder, tmp_path / "nowhere" / "x.hmap")


def test_a_package_says_what_it_is(tmp_path: Path) -> None:
    found = open_package(good(tmp_path / "x.hmap", capabilities=["io"]))
    assert (found.manifest.name, found.manifest.capabilities, found.is_skill) == ("hello", ("io",), False)
    assert open_package(good(tmp_path / "y.hmap", entry="SKILL.md")).is_skill


FILES = {"plugin.json": manifest(), "a": b"A"}


@pytest.mark.parametrize(
    ("files", "listed", "why"),
    [
        (FILES, sums({"plugin.json": manifest()}), "a is there and not listed"),
        (FILES, sums({**FILES, "b": b""}), "b is listed and not there"),
        (FILES, sums({**FILES, "a": b"B"}), "a is not as SHA256SUMS says"),
        (FILES, sums(FILES) + sums({"a": b"A"}), "names a file again"),
        (FILES, b"rubbish\n", "no hash with a name"),
        (FILES, b"\xff\xfe\n", "no hash with a name"),
        ({"a": b"A"}, None, "holds no plugin.json"),
        ({"plugin.json": b"{"}, None, "line 1"),
        ({"plugin.json": b"\xff"}, None, "invalid UTF-8"),
        ({"plugin.json": b"[" * 100_000}, None, "no usable JSON"),
        ({"plugin.json": manifest(entry="../x")}, None, "entry: must be"),
        ({"plugin.json": manifest(name="Hello!")}, None, "name: "),
        ({"sub/plugin.json": manifest()}, None, "holds no plugin.json"),
    ],
)
def test_a_package_that_is_not_as_it_says_is_refused(
    tmp_path: Path, files: dict[str, bytes], listed: bytes | None, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        open_package(packed(tmp_path / "x.hmap", files, listed=listed))


def test_without_a_list_it_is_no_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.hmap", "w") as archive:
        archive.writestr(info("plugin.json"), manifest())
    with pytest.raises(InvalidInput, match="holds no SHA256SUMS"):
        open_package(tmp_path / "x.hmap")


def test_every_error_of_the_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_package(good(tmp_path / "x.hmap", version="", entry="", capabilities=["flying"]))
    errors = caught.value.detail["errors"]
    assert isinstance(errors, list)
    assert len(errors) == 3
