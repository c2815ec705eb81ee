"""What a plugin knows of a change that is under way: on disk from before its first step until the kernel has it.

``DATA/plugin-data/NAME/tracking/SET/``: ``lock`` is held by the process that works on it, ``before.json`` says what was
there, ``kept/`` holds contents by their sha256.  Whoever finds one that nobody holds finishes it: its process is gone.
All of it blocks.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homed.sdk.tracking.look import Limits, Seen, Snapshot
from homed.wire.tracked import Change, decoded, encoded, state_of

NAME = "tracking"
_SET = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Job:
    """What is being tracked: a folder, whole (``paths`` None) or these entries of it."""

    folder: Path
    limits: Limits
    ignore: tuple[str, ...] = ()
    avoid: tuple[tuple[int, int], ...] = ()
    paths: tuple[bytes, ...] | None = None


class Spool:
    """The folder of one change, held by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = path / "kept"

    @property
    def set(self) -> str:
        """The id of the change."""
        return self.path.name

    def begin(self, job: Job, before: Snapshot) -> None:
        """Note what was there; once this returns a crash loses nothing of it."""
        entries = [
            [encoded(path), seen.state.wire(), seen.stamp, seen.fresh]  # a list: a folder may have many thousand
            for path, seen in before.items()
        ]
        limits = [job.limits.entries, job.limits.seconds, job.limits.file, job.limits.total]
        said = {
            "folder": encoded(os.fsencode(job.folder)), "limits": limits, "ignore": job.ignore, "avoid": job.avoid,
            "paths": None if job.paths is None else [encoded(path) for path in job.paths], "before": entries,
        }  # fmt: skip
        part = self.path / "before.part"
        with part.open("w", encoding="ascii") as file:
            json.dump(said, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path / "before.json")

    def begun(self) -> tuple[Job, Snapshot] | None:
        """What was noted; None if nothing was, and so nothing was changed."""
        try:
            said: Mapping[str, Any] = json.loads((self.path / "before.json").read_text("ascii"))
        except (OSError, ValueError):
            return None
        paths = said["paths"]
        job = Job(
            Path(os.fsdecode(decoded(said["folder"]))), Limits(*said["limits"]), tuple(said["ignore"]),
            tuple((device, inode) for device, inode in said["avoid"]),
            None if paths is None else tuple(decoded(path) for path in paths),
        )  # fmt: skip
        before = {decoded(path): Seen(state_of(state), stamp, fresh) for path, state, stamp, fresh in said["before"]}
        return job, before

    def content(self, hash_: str) -> Path:
        """Where the content of this hash is, or would be."""
        return self.kept / hash_

    def remove(self) -> None:
        """It is over."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def open_spool(data_dir: Path, set_: str) -> Iterator[Spool]:
    """The spool of a change, made if it is not there, held by nobody else; BlockingIOError if somebody does."""
    if not _SET.fullmatch(set_):
        raise ValueError("no id of a change")
    path = data_dir / NAME / set_
    making = path if path.exists() else path.with_name(f".{set_}.{secrets.token_hex(4)}")
    (making / "kept").mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(making / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if making != path:
            making.replace(path)  # it is seen once it is held
        yield Spool(path)
    finally:
        os.close(fd)


def left_over(data_dir: Path) -> list[str]:
    """The changes that have a spool, whoever holds it."""
    with suppress(OSError):
        return sorted(name for name in os.listdir(data_dir / NAME) if _SET.fullmatch(name))
    return []


def differences(before: Snapshot, after: Snapshot) -> list[Change]:
    """What changed between two looks, by path."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        then, now = before.get(path), after.get(path)
        if then is None or now is None or not then.state.same(now.state):
            found.append(Change(path, then.state if then else None, now.state if now else None))
    return found
