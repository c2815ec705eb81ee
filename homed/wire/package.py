"""``.hmap``: a plugin or a skill as one file.  A zip of its folder with ``SHA256SUMS``, which lists every other file.

Written, it is reproducible: the same folder gives the same bytes.  Read, nothing of it is believed (``archive``).
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from homed.errors import InvalidInput, StorageError
from homed.wire.archive import Archive, Member, clashes, name_problem, read_archive, read_member, unpack_archive
from homed.wire.manifest import FILE_NAME, MAX_BYTES, Manifest, decode_manifest

SUFFIX = ".hmap"
SUMS = "SHA256SUMS"
SKILL = "SKILL.md"
"""The entry of what is a skill: read by the model, not run."""

_LEFT_OUT = re.compile(r"\..*|__pycache__|.*~|#.*#|.*\.py[co]|.*\.sw[a-p]|.*\.bak|.*\.orig|.*\.hmap|SHA256SUMS")
"""Names of hidden files, editors' and interpreters' leavings; versions and secrets mostly live in hidden ones."""
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_MAX_SUMS = 8 << 20
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Package:
    """A package whose every byte was looked at.  ``files``: name → file, without ``SHA256SUMS``."""

    manifest: Manifest
    files: Mapping[str, Member]
    archive: Archive

    @property
    def sha256(self) -> str:
        """Of the file itself, in hex."""
        return self.archive.sha256

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.archive.size

    @property
    def is_skill(self) -> bool:
        """Whether it is a skill, which is read and not run."""
        return self.manifest.entry.strip() == SKILL


def open_package(path: Path) -> Package:
    """Read and verify the package at ``path``.  Blocking: up to seconds for a large one.

    Raises `InvalidInput` naming the file and what is wrong: no plain zip, over a limit, a name that escapes, a link, a
    file that is not listed or not as listed, a manifest with errors (``detail["errors"]`` has them all).
    """
    try:
        archive = read_archive(path)
        files = _verified(archive)
        manifest, errors = decode_manifest(read_member(archive, FILE_NAME, MAX_BYTES))
    except InvalidInput as error:
        raise InvalidInput(
            f"{path.name} is no package: {error.message}", hint=error.hint or "`homed plugin pack DIR` makes one."
        ) from error
    if manifest is None:
        raise InvalidInput(
            f"{path.name} is no package: its {FILE_NAME} is wrong: {'; '.join(errors)}."[:2000],
            hint="`homed plugin check DIR` shows all of it to its author.",
            detail={"errors": list(errors)},
        )
    return Package(manifest, files, archive)


def unpack(package: Package, into: Path) -> None:
    """Write its files into the new folder ``into``, verified once more, modes 0644 and 0755, synced to disk.

    Blocking.  Raises `InvalidInput` when the file is not what was opened any more, `StorageError` when the disk
    refuses; ``into`` is gone then.
    """
    unpack_archive(package.archive, into)


def write_package(folder: Path, out: Path) -> Package:
    """Pack ``folder`` into the file ``out``, which is replaced only once the new one is whole and was read back.

    Blocking.  Raises `InvalidInput` for a link, a device, a name that no package may have, a wrong manifest or too
    much of anything, and `StorageError` when it cannot be written.
    """
    try:
        names = sorted(_names(folder))
        if clash := clashes(names):
            raise InvalidInput(f"{folder}: {clash}.")
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=".", suffix=SUFFIX, delete=False) as file:
            made = Path(file.name)
            try:
                _write(folder, names, file)
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
                found = open_package(made)
                made.replace(out)
            except BaseException:
                made.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(f"{folder} cannot be packed into {out}: {error.strerror}.") from error
    archive = Archive(out, found.archive.size, found.archive.sha256, found.archive.members)
    return Package(found.manifest, found.files, archive)


def _verified(archive: Archive) -> dict[str, Member]:
    """Its files by name, once the list says exactly what is there."""
    text = read_member(archive, SUMS, _MAX_SUMS)
    listed: dict[str, str] = {}
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        found = _LINE.fullmatch(line)
        if found is None or found[2] in listed:
            raise InvalidInput(f"Line {number} of {SUMS} is no hash with a name, or names a file again.")
        listed[found[2]] = found[1]
    files = {member.name: member for member in archive.members if member.name != SUMS}
    for name in sorted(files.keys() | listed.keys()):
        if name not in files:
            raise InvalidInput(f"{name} is listed and not there.")
        if name not in listed:
            raise InvalidInput(f"{name} is there and not listed.")
        if files[name].sha256 != listed[name]:
            raise InvalidInput(f"{name} is not as {SUMS} says.")
    return files


def _names(folder: Path, below: str = "") -> Iterator[str]:
    """Every file that goes in, relative to the folder."""
    with os.scandir(folder / below) as entries:
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            if _LEFT_OUT.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _names(folder, name)
            elif not entry.is_file(follow_symlinks=False):
                raise InvalidInput(f"{folder / name} is a link or a device, which no package holds.")
            elif problem := name_problem(name):
                raise InvalidInput(f"The name {name!r} {problem}.")
            else:
                yield name


def _write(folder: Path, names: list[str], file: IO[bytes]) -> None:
    lines = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name in names:
            fd = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as source:
                executable = bool(os.fstat(fd).st_mode & 0o111)
                digest = hashlib.sha256()
                with packed.open(_info(name, executable=executable), "w") as target:
                    while piece := source.read(_PIECE):
                        digest.update(piece)
                        target.write(piece)
            lines.append(f"{digest.hexdigest()}  {name}\n")
        packed.writestr(_info(SUMS), "".join(lines))


def _info(name: str, *, executable: bool = False) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _LONG_AGO)
    info.create_system = 3
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info
