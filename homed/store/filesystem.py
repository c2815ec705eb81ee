"""What kind of file system a folder lies on, because SQLite's write-ahead log needs a local one.

In WAL the readers and the writer share a piece of mapped memory.  Over a network, or through a file server in user
space, the two ends of that mapping are not the same memory, and a database is damaged within minutes.  There the older
rollback journal is used, which needs locks only.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

FUSE = 0x65735546
REMOTE_MAGIC = {
    0x6969: "nfs", 0x517B: "smb", 0xFE534D42: "smb2", 0xFF534D42: "cifs", 0x01021997: "9p", 0x00C36400: "ceph",
    0x5346414F: "afs", 0x6B414653: "kafs", 0x564C: "ncp", 0x73757245: "coda", 0x47504653: "gpfs", 0x0BD00BD0: "lustre",
    0x01161970: "gfs2", 0x7461636F: "ocfs2", 0x786F4256: "vboxsf", 0xBACBACBC: "vmhgfs", 0x013111A8: "ibrix",
    0xAAD7AAEA: "panfs", 0x20030528: "pvfs2", 0x19830326: "beegfs", 0x61636673: "acfs",
}  # fmt: skip
"""``f_type`` of statfs(2) → name, from statfs(2) and linux/magic.h."""

REMOTE_NAMES = frozenset(REMOTE_MAGIC.values()) | {
    "nfs4", "smb3", "smbfs", "cifs", "virtiofs", "glusterfs", "davfs", "ncpfs", "prl_fs", "beegfs", "orangefs",
}  # fmt: skip
LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.ext4", "fuse.fuse-overlayfs"})
"""File servers in user space that stand on a disk of this machine; every other one is taken for remote."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """``name`` as mount(8) shows it, ``local`` where several processes may share mapped memory of its files."""

    name: str
    local: bool


def file_system(
    folder: Path, *, mounts: Path = MOUNTS, magic: Callable[[Path], int | None] | None = None
) -> FileSystem:
    """The file system of ``folder``, or of the nearest folder above it that exists.

    What cannot be found out counts as local: that is what nearly every machine has.  Raises nothing.
    """
    number = (magic or _magic)(_existing(folder))
    name = _mounted_name(folder, mounts)
    if number in REMOTE_MAGIC:
        return FileSystem(name or REMOTE_MAGIC[number], False)
    if name in REMOTE_NAMES:
        return FileSystem(name, False)
    if number == FUSE or name.startswith("fuse"):
        return FileSystem(name or "fuse", name in LOCAL_FUSE)
    return FileSystem(name or "unknown", True)


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _magic(folder: Path) -> int | None:
    """``f_type`` of statfs(2): the first word of its structure on Linux.  None where there is no such call."""
    try:
        call = ctypes.CDLL(None, use_errno=True).statfs
    except (OSError, AttributeError):
        return None
    buffer = ctypes.create_string_buffer(512)  # struct statfs has 120 bytes
    if call(os.fsencode(folder), buffer) != 0:
        return None
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def _mounted_name(folder: Path, mounts: Path) -> str:
    """The type of the mount that ``folder`` is in; of several on one place the last one covers the others."""
    try:
        text = mounts.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
    real, best, found = folder.resolve(), -1, ""
    for place, name in _parsed(text):
        if real.is_relative_to(place) and len(place.parts) >= best:
            best, found = len(place.parts), name
    return found


def _parsed(text: str) -> Iterator[tuple[Path, str]]:
    """``(mount point, type)`` of each line; see proc(5).  Optional fields end with a single dash."""
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, named = before.split(" "), after.split(" ")
        if dash and len(fields) >= 5 and named[0]:
            place = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4])
            yield Path(place), named[0]
