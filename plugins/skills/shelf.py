"""The skills that there are: the plugin's own folder and those a person named, and which of them are enabled.

A skill is enabled as it is: with the hash of all its files.  One that has changed since is not enabled any more.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homed.wire.durable import write_whole

from .front import BadSkill, Front, parse

MAX_FILES = 200
MAX_BYTES = 8 << 20
"""Of one skill."""
MAX_SKILLS = 500
"""Of one folder."""
_MAX_DEPTH = 8
_MAX_STATE = 1 << 20
_THREADS = 200
"""Conversations whose loaded skills are remembered, latest last."""
FILE_NAMES = ("SKILL.md", "skill.md")
_SKIPPED = frozenset({".git"})
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as it lies there.  ``problem`` says why it is none; ``missing`` what it lacks on this machine."""

    name: str
    folder: Path
    own: bool
    front: Front
    body: str
    sha256: str
    files: tuple[str, ...]
    problem: str = ""
    missing: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Of each file, as ``sha256`` was made of them."""


@dataclass
class State:
    """What is remembered: enabled name → hash, names seen, thread → skills loaded in it."""

    enabled: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    loaded: dict[str, list[str]] = field(default_factory=dict)


class Shelf:
    """All skills.  Everything here blocks: run it in a thread."""

    def __init__(self, data_dir: Path, environment: Mapping[str, str]) -> None:
        self.own = data_dir / "skills"
        self._file = data_dir / "skills.json"
        self._environment = environment
        self.state = State()
        self.skills: dict[str, Skill] = {}
        self.shadowed: list[Skill] = []

    def look(self, folders: Sequence[Path]) -> list[Skill]:
        """Read it all anew; returns the skills never seen before.  The own folder comes first, then as listed."""
        self.own.mkdir(parents=True, exist_ok=True)
        self.state = _load(self._file)
        self.skills, self.shadowed = {}, []
        for place in (self.own, *folders):
            for skill in self._scan(place):
                if skill.name in self.skills:
                    self.shadowed.append(skill)
                else:
                    self.skills[skill.name] = skill
        seen = set(self.state.seen)
        new = [skill for skill in self.skills.values() if skill.name not in seen and not skill.problem]
        if new:
            self.state.seen = sorted(seen | {skill.name for skill in new})[-MAX_SKILLS * 4 :]
            self.save()
        return new

    def standing(self, skill: Skill) -> str:
        """``enabled``, ``disabled``, ``changed`` (since it was enabled), ``lacking`` or ``broken``."""
        pinned = self.state.enabled.get(skill.name)
        if skill.problem:
            return "broken"
        if pinned is None:
            return "disabled"
        if pinned != skill.sha256:
            return "changed"
        return "lacking" if skill.missing else "enabled"

    def enabled(self) -> list[Skill]:
        """Those that may be loaded, by name."""
        return [skill for _, skill in sorted(self.skills.items()) if self.standing(skill) == "enabled"]

    def note_loaded(self, thread: str, name: str, *, loaded: bool) -> None:
        """Remember what a conversation has loaded."""
        names = [other for other in self.state.loaded.pop(thread, []) if other != name]
        if loaded:
            names.append(name)
        if names:
            self.state.loaded[thread] = names[-50:]
        while len(self.state.loaded) > _THREADS:
            del self.state.loaded[next(iter(self.state.loaded))]
        self.save()

    def save(self) -> None:
        """Write down what is remembered."""
        data = {"enabled": self.state.enabled, "seen": self.state.seen, "loaded": self.state.loaded}
        write_whole(self._file, json.dumps(data, ensure_ascii=False))

    def _scan(self, place: Path) -> Iterator[Skill]:
        try:
            names = sorted(entry.name for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
        except OSError:
            return
        for name in [name for name in names if not name.startswith(".")][:MAX_SKILLS]:
            folder = place / name
            if any((folder / file).is_file() for file in FILE_NAMES):
                yield read_skill(folder, own=place == self.own, environment=self._environment)


def read_skill(folder: Path, *, own: bool, environment: Mapping[str, str]) -> Skill:
    """The skill in a folder; one that is none has a ``problem``."""
    try:
        files = list_files(folder)
        name = next((file for file in FILE_NAMES if file in files), None)
        if name is None:
            raise BadSkill("there is no SKILL.md")
        hashes, text = _read_all(folder, files, name)
        front, body = parse(text)
    except (BadSkill, OSError) as error:
        why = str(error) if isinstance(error, BadSkill) else f"it cannot be read: {error.strerror}"
        shown = "".join(char if char.isascii() and char.isprintable() else "?" for char in folder.name)[:64]
        return Skill(shown, folder, own, Front(shown, ""), "", "", (), problem=why)
    return Skill(
        front.name, folder, own, front, body, _digest(hashes), tuple(files),
        missing=missing(front, environment), hashes=hashes,
    )  # fmt: skip


def missing(front: Front, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the skill needs and this machine has not."""
    needs, found = front.requires, []
    if needs.os and _SYSTEMS.get(sys.platform, sys.platform) not in needs.os:
        found.append(f"it is for {', '.join(needs.os)}")
    if needs.always:
        return tuple(found)
    path = environment.get("PATH")
    found += [f"the program {name}" for name in needs.bins if not _program(name, path)]
    if needs.any_bins and not any(_program(name, path) for name in needs.any_bins):
        found.append(f"one of the programs {', '.join(needs.any_bins)}")
    found += [f"the variable {name}" for name in needs.env if not environment.get(name)]
    found += [f"OpenClaw's setting {name}" for name in needs.config]
    return tuple(found)


def _program(name: str, path: str | None) -> bool:
    return "/" not in name and shutil.which(name, path=path) is not None


def list_files(folder: Path) -> list[str]:
    """All files of a skill, sorted.  Raises `BadSkill` for links, devices, and too much of anything."""
    found: list[str] = []
    total = 0
    for name, info in _walk(folder, "", 0):
        if not stat.S_ISREG(info.st_mode):
            raise BadSkill(f"{name!r} is a link or a device")
        if not name.isprintable():
            raise BadSkill(f"{name!r} is no name that can be shown")
        found.append(name)
        total += info.st_size
        if len(found) > MAX_FILES:
            raise BadSkill(f"it has over {MAX_FILES} files")
        if total > MAX_BYTES:
            raise BadSkill(f"it has over {MAX_BYTES} bytes")
    return sorted(found)


def _walk(folder: Path, below: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    if depth > _MAX_DEPTH:
        raise BadSkill(f"its folders are more than {_MAX_DEPTH} deep")
    with os.scandir(folder / below) as entries:
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            if entry.name in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder, name, depth + 1)
            else:
                yield name, entry.stat(follow_symlinks=False)


def read_file(folder: Path, name: str, most: int) -> bytes:
    """At most ``most`` bytes of a file of `list_files`.  No link is followed."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        *above, last = name.split("/")
        for part in above:
            held, fd = fd, os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            os.close(held)
        held, fd = fd, os.open(last, _FILE, dir_fd=fd)
        os.close(held)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise BadSkill(f"{name!r} is a link or a device")
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(most)
    finally:
        os.close(fd)


def read_unchanged(skill: Skill, name: str) -> bytes:
    """A file of a skill, if it still is what the skill's hash was made of.  Raises `BadSkill` and `OSError`."""
    data = read_file(skill.folder, name, MAX_BYTES + 1)
    if hashlib.sha256(data).hexdigest() != skill.hashes.get(name):
        raise BadSkill(f"{name!r} has just changed")
    return data


def _read_all(folder: Path, files: Sequence[str], wanted: str) -> tuple[dict[str, str], bytes]:
    """The hash of each file, and the bytes of ``wanted`` that its hash is of: one that is read again may be another."""
    hashes, kept, room = {}, b"", MAX_BYTES
    for name in files:
        data = read_file(folder, name, room + 1)
        room -= len(data)
        if room < 0:
            raise BadSkill(f"it has over {MAX_BYTES} bytes")
        hashes[name] = hashlib.sha256(data).hexdigest()
        if name == wanted:
            kept = data
    return hashes, kept


def _digest(hashes: Mapping[str, str]) -> str:
    whole = hashlib.sha256()
    for name, digest in hashes.items():
        whole.update(f"{digest} {name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _load(path: Path) -> State:
    """What was remembered; a file that is gone or damaged enables nothing."""
    try:
        with path.open("rb") as file:
            data: Any = json.loads(file.read(_MAX_STATE))
    except (OSError, ValueError, RecursionError):
        return State()
    if not isinstance(data, dict):
        return State()
    enabled, seen, loaded = data.get("enabled"), data.get("seen"), data.get("loaded")
    return State(
        {str(k): str(v) for k, v in enabled.items()} if isinstance(enabled, dict) else {},
        [str(name) for name in seen] if isinstance(seen, list) else [],
        {str(k): [str(n) for n in v] for k, v in loaded.items() if isinstance(v, list)}
        if isinstance(loaded, dict)
        else {},
    )
