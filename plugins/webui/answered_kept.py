"""What is answered about changes of files and about what was said, day by day."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .answered import Answer


class ChangeRow(Answer):
    """What one call changed.  ``undoes``: of a roll back, what it put back; ``undone_by``: the roll back of it."""

    id: str
    seq: int
    at: float
    state: str = Field(description="open, done or untracked; then ``note`` says why.")
    plugin: str
    tool: str
    folder: str
    undoes: str
    undone_by: str
    note: str
    created: int
    changed: int
    deleted: int


class Changes(Answer):
    """Changes, the newest first."""

    changes: list[ChangeRow]
    more: bool


class FileState(Answer):
    """What was there; ``unkept``: why its content is not kept."""

    kind: str
    mode: str


class ChangedFile(Answer):
    """A file of a change: ``moved`` is the old name of a ``renamed``."""

    number: int
    path: str
    change: str = Field(description="created, changed, deleted, renamed or moved.")
    before: FileState | None
    after: FileState | None


class Change(ChangeRow):
    """A change with its files."""

    files: list[ChangedFile]
    more: bool


class FileDiff(ChangedFile):
    """The lines that differ, each with its sign: ``@``, a space, ``+`` or ``-``."""

    kind: str = Field(description="text, binary, large, same or unkept.")
    lines: list[tuple[str, str]]
    more: bool


class NotPutBack(Answer):
    """An entry that is not put back, and why."""

    path: str
    why: str
    detail: str


class PutBack(Answer):
    """``set``: the roll back's own change.  ``refused``: files were changed since, and nothing was touched."""

    set: str
    restored: int
    refused: bool
    troubles: list[NotPutBack]


class ForgotEntries(Answer):
    """Of how many files what was kept is gone."""

    entries: int


class Day(Answer):
    """What was said on a day; ``next`` is where the next page begins."""

    day: str
    lines: list[dict[str, Any]]
    more: bool
    next: int
