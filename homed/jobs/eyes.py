"""Looks into files: in a process of its own for each, that cannot do harm and may die of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from homed.errors import Unavailable
from homed.jobs.looking import BROKEN, KINDS
from homed.proc.bounded import run_bounded
from homed.proc.spawn import Command
from homed.store.files import SMALL

LIMIT = 120.0
"""Seconds for one file: it waits for everybody else on the machine, and reading a page of print takes some ten."""

ROOM = 2 * SMALL
"""Bytes of an answer."""

_ARGV = (sys.executable, "-P", "-m", "homed.jobs.looking")


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in a file.  ``picture``: a small one, or nothing; ``broken``: it is not what it should be."""

    picture: bytes = b""
    words: str = ""
    broken: bool = False


class EyesPort(Protocol):
    """Whoever can look into a file."""

    async def look(self, data: bytes, kind: str) -> Look:
        """See ``Eyes.look``."""
        ...


class Eyes:
    """``folder``: for the processes to be in; ``env``: theirs, without secrets; ``family``: what marks begin with."""

    def __init__(self, folder: Path, env: Mapping[str, str], family: str, argv: tuple[str, ...] = _ARGV) -> None:
        self._folder = folder
        self._env = {**dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"), **env}
        self._family = family
        self._argv = argv

    async def look(self, data: bytes, kind: str) -> Look:
        """What is in a file of this kind (``looking.KINDS``).

        A process that is killed, by its limits or by what it read, has been given a broken file.  Raises Unavailable
        when none can be started, or it fails in a way that is not the file's doing.  Cancelled: it is killed.
        """
        assert kind in KINDS
        command = Command((*self._argv, kind), self._folder, self._env)
        done = await run_bounded(command, input=data, limit=ROOM, timeout=LIMIT, mark=f"{self._family}:eyes")
        if done.timed_out or done.exit.signal or done.exit.code == BROKEN:
            return Look(broken=True)
        if done.exit.failed:
            raise Unavailable(f"A file could not be looked into ({done.exit}).", hint="Is an extra installed in part?")
        return _answer(done.stdout)


def _answer(data: bytes) -> Look:
    head, _, rest = data.partition(b"\n")
    said = json.loads(head)
    if len(rest) != said["picture"] or len(rest) > SMALL:
        raise Unavailable("What a file holds was not told in whole.")
    return Look(rest, said["words"])
