"""What was typed before, for the Up key: a file of one's own for each homed, a JSON string a line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

KEPT = 1000
"""Inputs kept; the file is cut to them when it has twice as many."""
LONGEST = 20_000
"""Characters of an input that is kept: no pasted book."""
PRIVATE = ("/settings set", "/remote")
"""Commands that may hold a key."""


def history_path(environment: Mapping[str, str], where: str) -> Path:
    """The file for the homed at ``where``."""
    home = Path(environment.get("HOME") or "/")
    state = Path(environment.get("XDG_STATE_HOME") or home / ".local/state")
    return state / "homed" / "waiter" / f"{hashlib.sha256(where.encode()).hexdigest()[:16]}.inputs"


def worth_keeping(text: str) -> bool:
    """Not what begins with a space, what may hold a key, or is empty or huge."""
    bare = " ".join(text.lower().split())  # as the command is read: however it is spaced, it holds its key
    return bool(bare) and not text[0].isspace() and len(text) <= LONGEST and not bare.startswith(PRIVATE)


class Inputs(History):
    """The history of a prompt.  A file that cannot be read or written is done without: typing must go on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Newest first."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        if len(lines) > 2 * KEPT:
            self._cut(lines[-KEPT:])
        for line in reversed(lines[-KEPT:]):
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, str):
                    yield found

    def append_string(self, string: str) -> None:
        """Remember for the Up key, and in the file, unless it is private."""
        if worth_keeping(string):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        """Append to the file."""
        line = json.dumps(string, ensure_ascii=True) + "\n"
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:
                os.fchmod(fd, 0o600)
                file.write(line)

    def _cut(self, lines: list[str]) -> None:
        fresh = self._path.with_suffix(".new")
        with suppress(OSError):
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))
            os.replace(fresh, self._path)
