"""Bringing skills in and out: a folder, a zip, a package.  Blocking; nothing half is ever in place."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from homed.errors import HomedError
from homed.wire.archive import Archive, read_archive, unpack_archive
from homed.wire.manifest import FILE_NAME
from homed.wire.package import SUMS, open_package

from .front import BadSkill
from .shelf import FILE_NAMES, MAX_BYTES, MAX_FILES, Skill, list_files, read_file, read_skill, read_unchanged

OLD = "old"
_INCOMING = ".incoming-"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def install(source: Path, own: Path, environment: Mapping[str, str], *, replace: bool) -> Skill:
    """Put the skill in a folder or an archive into ``own``, under its name.  Raises `BadSkill` and `OSError`."""
    own.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=own, prefix=_INCOMING) as made:
        into = Path(made) / "skill"
        if source.is_dir():
            _copy(source, into)
        else:
            into = _unpacked(source, into)
        skill = read_skill(into, own=True, environment=environment)
        if skill.problem:
            raise BadSkill(skill.problem)
        place = own / skill.name
        if place.exists():
            if not replace:
                raise BadSkill(f"there is a skill {skill.name} already; replace: true puts this one in its place")
            place.rename(Path(made) / OLD)
        try:
            into.rename(place)
        except OSError:
            if (Path(made) / OLD).exists():
                (Path(made) / OLD).rename(place)
            raise
    return read_skill(place, own=True, environment=environment)


def recover(own: Path, environment: Mapping[str, str]) -> None:
    """Put back what a kill left out of its place, and delete what it left half.  While nothing is brought in."""
    for left in own.glob(f"{_INCOMING}*") if own.is_dir() else ():
        old = left / OLD
        if old.is_dir():
            skill = read_skill(old, own=True, environment=environment)
            if not skill.problem and not (own / skill.name).exists():
                old.rename(own / skill.name)
        shutil.rmtree(left, ignore_errors=True)


def create(own: Path, name: str, text: str) -> None:
    """A new skill of one file.  Raises `BadSkill` when the name is taken."""
    own.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=own, prefix=_INCOMING) as made:
        (Path(made) / "skill").mkdir()
        (Path(made) / "skill" / FILE_NAMES[0]).write_text(text, encoding="utf-8")
        if (own / name).exists():
            raise BadSkill(f"there is a skill {name} already")
        (Path(made) / "skill").rename(own / name)


def export(skill: Skill, out: Path) -> None:
    """Write the skill as a zip: the same files give the same bytes, and installed again the same files."""
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_name(f".{out.name}.new")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for name in skill.files:
                info = zipfile.ZipInfo(f"{skill.name}/{name}", _LONG_AGO)
                info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
                executable = os.stat(skill.folder / name, follow_symlinks=False).st_mode & 0o111
                info.external_attr = (0o100755 if executable else 0o100644) << 16
                packed.writestr(info, read_unchanged(skill, name))
        new.replace(out)
    finally:
        new.unlink(missing_ok=True)


def _copy(source: Path, into: Path) -> None:
    if not any((source / name).is_file() for name in FILE_NAMES):
        raise BadSkill(f"there is no SKILL.md in {source}")
    for name in list_files(source):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(read_file(source, name, MAX_BYTES + 1))
        if os.stat(source / name, follow_symlinks=False).st_mode & 0o100:
            target.chmod(0o755)


def _unpacked(source: Path, into: Path) -> Path:
    """The folder below ``into`` that has the SKILL.md."""
    try:
        archive = read_archive(source)
        _check(archive)
        packed = archive.member(SUMS) is not None and archive.member(FILE_NAME) is not None
        if packed and not open_package(source).is_skill:
            raise BadSkill("that package is a plugin, no skill; plugin_install installs it")
        unpack_archive(archive, into)
    except HomedError as error:
        raise BadSkill(str(error)) from error
    if archive.member(SUMS) is not None:
        (into / SUMS).unlink()
    if any((into / name).is_file() for name in FILE_NAMES):
        return into
    tops = sorted(into.iterdir())
    if len(tops) == 1 and tops[0].is_dir():
        return tops[0]
    raise BadSkill("there is no SKILL.md at its top or in its one folder")


def _check(archive: Archive) -> None:
    if len(archive.members) > MAX_FILES:
        raise BadSkill(f"it has over {MAX_FILES} files")
    if sum(member.size for member in archive.members) > MAX_BYTES:
        raise BadSkill(f"it has over {MAX_BYTES} bytes")
