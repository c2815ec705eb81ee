"""The folder that is worked in, as homed is told it: what belongs to a project is told there again and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

LEVELS = 40
"""Folders above this one in which a repository is looked for."""


def folder(environment: Mapping[str, str]) -> str:
    """The root of the repository we are in, or the folder we are in; '' where that is the home folder or the root.

    The real path, whatever links led here.  Raises nothing: without a folder there is no project.
    """
    try:
        here = Path(os.getcwd()).resolve(strict=True)  # of a folder that is gone it raises, too
        home = Path(environment.get("HOME") or "/").resolve()
        for place in (here, *list(here.parents)[:LEVELS]):
            if place in (home, Path("/")):
                break
            if (place / ".git").exists():
                return _told(place)
    except (OSError, RuntimeError):
        return ""
    return "" if here in (home, Path("/")) else _told(here)


def _told(place: Path) -> str:
    """The path if it can be told at all: one that is no text, or has unseen characters, is none."""
    path = str(place)
    try:
        path.encode()
    except UnicodeEncodeError:
        return ""
    return path if path.isprintable() and len(path) <= 4096 else ""
