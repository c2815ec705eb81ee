"""The folder of external plugins: whatever interrupts a change, the old or the new stands there whole."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from homed.errors import InvalidInput, NotFound, StorageError
from homed.host.discover import Installed, discover
from homed.host.shelf import Shelf
from homed.wire.package import open_package
from tests.homed.wire.zips import good, manifest, packed
from tests.kit.failpoints import RaiseAt

POINTS = ("package.unpacked", "package.moved_out", "package.moved_in", "package.moved_away")


def put(shelf: Shelf, path: Path) -> Path:
    """Install the package at ``path`` as the kernel does, the database left out."""
    package = shelf.take_in(path, open_package(path).sha256)
    return shelf.place_new(package.manifest.name, shelf.unpack(package))


def versions(place: Path) -> list[str]:
    """The versions of the plugins that homed would find."""
    found = discover(place / "none", place)
    assert all(isinstance(one, Installed) for one in found), found
    return [one.manifest.version for one in found if isinstance(one, Installed)]


def whole(place: Path) -> bool:
    """Whether every plugin there has every file that its list names."""
    return all(
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=child, capture_output=True).returncode == 0
        for child in place.iterdir()
        if not child.name.startswith(".")
    )


def leftovers(place: Path) -> list[Path]:
    """What lies about that is not in use."""
    return [path for path in (place / ".packages").rglob("*") if path.is_file()]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "plugins"
    made.mkdir()
    return made


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return good(tmp_path / "1.hmap", version="1.0")


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return packed(tmp_path / "2.hmap", {"plugin.json": manifest(version="2.0"), "new.py": b"NEW = 1\n"})


def test_one_is_put_in_place_replaced_and_removed(place: Path, first: Path, second: Path) -> None:
    shelf = Shelf(place)
    folder = put(shelf, first)
    assert (folder, versions(place), whole(place)) == (place / "hello", ["1.0"], True)
    assert stat.S_IMODE((folder / "__main__.py").stat().st_mode) == 0o644
    put(shelf, second)
    assert (versions(place), whole(place)) == (["2.0"], True)
    assert not (place / "hello" / "__main__.py").exists()
    shelf.remove("hello")
    assert versions(place) == []
    assert leftovers(place) == []
    with pytest.raises(NotFound):
        shelf.remove("hello")


def test_what_was_put_there_by_hand_under_another_name_is_the_one_replaced(place: Path, first: Path) -> None:
    (place / "my-hello").mkdir()
    (place / "my-hello" / "plugin.json").write_bytes(manifest(version="0.1"))
    put(Shelf(place), first)
    assert versions(place) == ["1.0"]
    assert not (place / "my-hello").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(place: Path, tmp_path: Path, first: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "plugin.json").write_bytes(manifest(version="0.1"))
    (place / "hello").symlink_to(mine)
    put(Shelf(place), first)
    assert versions(place) == ["1.0"]
    Shelf(place).remove("hello")
    (place / "hello").symlink_to(mine)
    Shelf(place).remove("hello")
    assert (mine / "plugin.json").exists()
    assert versions(place) == []


@pytest.mark.parametrize("name", ["../plugins/hello", "/etc", "..", ".packages", ".", ""])
def test_no_name_leads_out_of_the_folder(place: Path, first: Path, name: str) -> None:
    put(Shelf(place), first)
    with pytest.raises(NotFound):
        Shelf(place).remove(name)
    assert versions(place) == ["1.0"]


def test_only_the_file_that_was_looked_at_is_taken(place: Path, first: Path, second: Path) -> None:
    reviewed = open_package(first).sha256
    os.replace(second, first)
    with pytest.raises(InvalidInput, match="not the file that was reviewed"):
        Shelf(place).take_in(first, reviewed)
    assert leftovers(place) == []


def test_what_is_copied_cannot_change_any_more(place: Path, first: Path, second: Path) -> None:
    shelf = Shelf(place)
    package = shelf.take_in(first, open_package(first).sha256)
    first.write_bytes(second.read_bytes())
    shelf.place_new("hello", shelf.unpack(package))
    assert versions(place) == ["1.0"]


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "nothing"])
def test_only_a_regular_file_is_taken(place: Path, tmp_path: Path, first: Path, what: str) -> None:
    path = tmp_path / "x"
    if what == "link":
        path.symlink_to(first)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    with pytest.raises(InvalidInput, match=r"cannot be read|no regular file"):
        Shelf(place).take_in(path, "0" * 64)


def test_a_move_that_fails_puts_the_old_one_back(place: Path, first: Path, second: Path) -> None:
    shelf = Shelf(place)
    put(shelf, first)
    package = shelf.take_in(second, open_package(second).sha256)
    fresh = shelf.unpack(package)
    shelf.drop(fresh)  # as if the disk had lost it
    with pytest.raises(StorageError):
        shelf.place_new("hello", fresh)
    assert (versions(place), whole(place)) == (["1.0"], True)


@pytest.mark.parametrize("point", POINTS)
def test_an_error_at_any_step_leaves_one_of_the_two_whole(place: Path, first: Path, second: Path, point: str) -> None:
    put(Shelf(place), first)
    with pytest.raises(RuntimeError):
        put(Shelf(place, RaiseAt(point, RuntimeError("now"))), second)
    Shelf(place).recover()
    assert versions(place) == (["2.0"] if point == "package.moved_away" else ["1.0"])
    assert (whole(place), leftovers(place)) == (True, [])


_CHILD = """
import sys
from pathlib import Path
from homed.host.shelf import Shelf
from tests.kit.failpoints import KillAt
from tests.homed.host.test_shelf import put
place, what, point = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
shelf = Shelf(place, KillAt(point))
shelf.remove("hello") if what == "remove" else put(shelf, Path(what))
"""


def killed(place: Path, what: str, point: str) -> None:
    """Do it in a process that is killed at that point."""
    ran = subprocess.run([sys.executable, "-c", _CHILD, str(place), what, point], timeout=60, capture_output=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("package.unpacked", ["1.0"]),
        ("package.moved_out", ["1.0"]),
        ("package.moved_in", ["2.0"]),
        ("package.moved_away", ["2.0"]),
    ],
)
def test_kill_9_while_one_is_replaced_leaves_the_old_or_the_new_whole(
    place: Path, first: Path, second: Path, point: str, left: list[str]
) -> None:
    put(Shelf(place), first)
    killed(place, str(second), point)
    put_back = Shelf(place).recover()
    assert put_back == (["hello"] if point == "package.moved_out" else [])
    assert (versions(place), whole(place), leftovers(place)) == (left, True, [])
    put(Shelf(place), second)  # and it goes on as if nothing had been
    assert versions(place) == ["2.0"]


def test_kill_9_while_one_is_removed_leaves_nothing_of_it(place: Path, first: Path) -> None:
    put(Shelf(place), first)
    killed(place, "remove", "package.moved_away")
    assert versions(place) == []
    Shelf(place).recover()
    assert (versions(place), leftovers(place)) == ([], [])


def test_kill_9_before_the_first_one_is_there_leaves_none(place: Path, first: Path) -> None:
    killed(place, str(first), "package.unpacked")
    Shelf(place).recover()
    assert (versions(place), leftovers(place)) == ([], [])


def test_what_lies_aside_is_found_by_nobody(place: Path, first: Path) -> None:
    put(Shelf(place), first)
    aside = place / ".packages" / "outgoing" / "evil"
    aside.mkdir(parents=True)
    (aside / "plugin.json").write_text(json.dumps({"name": "evil", "version": "1", "entry": "x"}))
    assert versions(place) == ["1.0"]


def test_a_folder_that_is_not_there_yet_holds_nothing(tmp_path: Path, first: Path) -> None:
    shelf = Shelf(tmp_path / "new")
    assert shelf.recover() == []
    assert shelf.find("hello") is None


def test_a_folder_called_like_another_plugin_is_not_taken_for_it(place: Path, first: Path) -> None:
    (place / "hello").mkdir()
    (place / "hello" / "plugin.json").write_bytes(manifest(name="other"))
    (place / "mine").mkdir()
    (place / "mine" / "plugin.json").write_bytes(manifest(version="0.1"))
    shelf = Shelf(place)
    assert shelf.find("hello") == place / "mine"
    assert shelf.find("other") == place / "hello"
    with pytest.raises(StorageError, match="cannot be put in place"):
        put(shelf, first)  # its place is another's
    assert sorted(versions(place)) == ["0.1", "1.0"]


def test_a_broken_one_goes_by_its_folders_name(place: Path) -> None:
    for name in ("bad", "clash"):
        (place / name).mkdir()
        (place / name / "plugin.json").write_bytes(b"{" if name == "bad" else manifest(name="other"))
    shelf = Shelf(place)
    assert shelf.find("bad") == place / "bad"
    assert shelf.find("clash@external") == place / "clash"
    assert shelf.find("clash") is None
    shelf.remove("bad")
    assert not (place / "bad").exists()


def test_an_end_that_failed_is_in_nobodys_way(place: Path, first: Path, second: Path) -> None:
    put(Shelf(place), first)
    in_the_way = place / ".packages" / "removed"
    in_the_way.write_text("no folder")
    put(Shelf(place), second)  # it is in place: that the old one cannot be deleted is no reason to say that it failed
    assert (versions(place), whole(place)) == (["2.0"], True)
    with pytest.raises(StorageError):
        put(Shelf(place), first)
    assert (versions(place), whole(place)) == (["2.0"], True)
    in_the_way.unlink()
    Shelf(place).recover()
    put(Shelf(place), first)
    assert (versions(place), whole(place), leftovers(place)) == (["1.0"], True, [])
