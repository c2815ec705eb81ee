"""C11: which file systems are local, told from made-up mount tables and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from homed.store.filesystem import FUSE, file_system

EXT4, BTRFS, OVERLAY, TMPFS = 0xEF53, 0x9123683E, 0x794C7630, 0x01021994
TABLE = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:40 / {home} rw,relatime shared:5 master:2 - {name} server:/export rw
31 30 8:2 / {home}/disk rw - xfs /dev/sdb1 rw
broken line
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "mountinfo"


def look(folder: Path, table: Path, name: str, magic: int | None) -> tuple[str, bool]:
    table.write_text(TABLE.format(home=str(folder).replace(" ", "\\040"), name=name))
    found = file_system(folder, mounts=table, magic=lambda _: magic)
    return found.name, found.local


@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("nfs4", 0x6969), ("nfs", 0x6969), ("cifs", 0xFF534D42), ("smb3", 0xFE534D42), ("9p", 0x01021997),
        ("virtiofs", FUSE), ("fuse.sshfs", FUSE), ("fuse.rclone", FUSE), ("fuse", FUSE), ("ceph", 0x00C36400),
        ("afs", 0x5346414F), ("vboxsf", 0x786F4256), ("glusterfs", None), ("lustre", 0x0BD00BD0), ("davfs", None),
        ("fuse.glusterfs", None),
    ],
)  # fmt: skip
def test_shared_and_user_space_file_systems_are_not_local(tmp_path: Path, table: Path, name: str, magic: int) -> None:
    assert look(tmp_path, table, name, magic) == (name, False)


@pytest.mark.parametrize(
    ("name", "magic"),
    [("ext4", EXT4), ("btrfs", BTRFS), ("overlay", OVERLAY), ("tmpfs", TMPFS), ("fuseblk", FUSE), ("xfs", None)],
)
def test_disks_of_this_machine_are_local(tmp_path: Path, table: Path, name: str, magic: int) -> None:
    assert look(tmp_path, table, name, magic) == (name, True)


def test_the_number_alone_is_enough_where_there_is_no_table(tmp_path: Path) -> None:
    assert file_system(tmp_path, mounts=tmp_path / "none", magic=lambda _: 0x6969).name == "nfs"
    assert not file_system(tmp_path, mounts=tmp_path / "none", magic=lambda _: 0x6969).local
    assert not file_system(tmp_path, mounts=tmp_path / "none", magic=lambda _: FUSE).local
    assert file_system(tmp_path, mounts=tmp_path / "none", magic=lambda _: None).local


def test_the_deepest_mount_counts_and_of_two_on_one_place_the_later(tmp_path: Path, table: Path) -> None:
    text = TABLE.format(home=tmp_path, name="nfs4")
    table.write_text(text)
    (tmp_path / "disk" / "data").mkdir(parents=True)
    assert file_system(tmp_path / "disk" / "data", mounts=table, magic=lambda _: None).name == "xfs"
    table.write_text(text + f"40 30 0:50 / {tmp_path}/disk rw - fuse.sshfs me@host: rw\n")
    assert file_system(tmp_path / "disk" / "data", mounts=table, magic=lambda _: None).local is False


def test_a_place_with_spaces_and_links_is_found(tmp_path: Path, table: Path) -> None:
    home = tmp_path / "my files"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    assert look(home, table, "nfs4", None) == ("nfs4", False)
    assert file_system(tmp_path / "link" / "not yet", mounts=table, magic=lambda _: None).local is False


def test_the_machine_this_runs_on_is_told_by_name(tmp_path: Path) -> None:
    found = file_system(tmp_path / "not" / "there" / "yet")
    assert found.name != "unknown"
