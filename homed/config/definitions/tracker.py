"""Settings of change tracking."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

TRACKER = "core.tracker.enabled"
TRACKER_KEEP = "core.tracker.keep"
TRACKER_STORED = "core.tracker.max_stored"
TRACKER_ENTRIES = "core.tracker.max_entries"
TRACKER_SECONDS = "core.tracker.max_seconds"
TRACKER_FILE = "core.tracker.max_file"
TRACKER_FOLDER = "core.tracker.max_folder"
TRACKER_IGNORE = "core.tracker.ignore"

_TRACKER = "Changes"
_MIB = 1 << 20

IGNORED = [
    ".git/", ".hg/", ".svn/", "node_modules/", "__pycache__/", ".venv/", ".tox/", ".mypy_cache/", ".pytest_cache/",
    ".ruff_cache/", ".cache/", ".DS_Store",
]  # fmt: skip

CHANGES: tuple[Definition, ...] = (
    Definition(
        TRACKER, "bool", True, "Keep what tools change in your files, so that it can be put back.",
        "Track changes", _TRACKER,
    ),
    Definition(
        TRACKER_KEEP, "int", 200, "Changes that are kept; the oldest go first.", "Changes kept", _TRACKER,
        minimum=1, maximum=100_000,
    ),
    Definition(
        TRACKER_STORED, "int", 1024 * _MIB, "Bytes that kept contents may take on the disk; the oldest changes go"
        " first.", "Room for contents", _TRACKER, minimum=_MIB, maximum=1 << 50,
    ),
    Definition(
        TRACKER_ENTRIES, "int", 20_000, "Files and folders of a work folder, for a command in it to be tracked.",
        "Largest folder", _TRACKER, minimum=1, maximum=1_000_000,
    ),
    Definition(
        TRACKER_SECONDS, "duration", 20, "How long looking at a work folder may take, for a command in it to be"
        " tracked.", "Longest look", _TRACKER, minimum=1, maximum=600,
    ),
    Definition(
        TRACKER_FILE, "int", 16 * _MIB, "Bytes of a file whose content is kept; of larger ones only that they changed.",
        "Largest file", _TRACKER, minimum=1, maximum=256 * _MIB,
    ),
    Definition(
        TRACKER_FOLDER, "int", 256 * _MIB, "Bytes of all files together that are kept while a command runs; of the"
        " files beyond that only that they changed.", "Most of a folder", _TRACKER, minimum=1, maximum=1 << 40,
    ),
    Definition(
        TRACKER_IGNORE, "list", IGNORED, "What is left out of a work folder, in patterns as in .gitignore.",
        "Left out", _TRACKER,
    ),
)  # fmt: skip
