"""Logging: one line an entry, to stderr and to a rotating file, every line redacted as it is written."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
FILE_BYTES = 5_000_000
FILES_KEPT = 3

Redact = Callable[[str], str]


class RedactingFormatter(logging.Formatter):
    """Redacts the finished text, tracebacks included: a secret in an exception's message must not reach the disk."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, redact: Redact) -> None:
        super().__init__(FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The entry as it is written."""
        return self._redact(super().format(record))


class _PrivateFile(RotatingFileHandler):
    """A log file that only this user can read, and that a full disk does not turn into a flood of tracebacks."""

    def _open(self) -> TextIO:  # type: ignore[override]
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """A line that cannot be written is lost here; stderr has it."""


@contextmanager
def logging_to(path: Path | None, *, level: str, redact: Redact, stream: TextIO | None = None) -> Iterator[None]:
    """Send this process's log to ``stream`` (stderr) and, if it can be opened, to ``path``; undone on leaving.

    ``level`` is one of ``LEVELS``.  A file that cannot be opened is a warning, not an end: stderr remains.
    """
    root = logging.getLogger()
    formatter = RedactingFormatter(redact)
    handlers: list[logging.Handler] = [logging.StreamHandler(stream or sys.stderr)]
    refused = ""
    if path is not None:
        try:
            handlers.append(_PrivateFile(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT))
        except OSError as error:
            refused = error.strerror or type(error).__name__
    before = root.level
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    set_level(level)
    if refused:
        logging.getLogger(__name__).warning("no log file: %s: %s", path, refused)
    try:
        yield
    finally:
        root.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def set_files(*, size: int, kept: int) -> None:
    """Change, while running, at how many bytes a log file is full and how many older ones are kept."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _PrivateFile):
            handler.maxBytes, handler.backupCount = size, kept


def set_level(level: str) -> None:
    """Change the level while running.  Libraries stay at ``warning``: their chatter may hold whole requests."""
    if level not in LEVELS:
        raise ValueError(f"no such log level: {level!r}")
    wanted = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    root.setLevel(max(wanted, logging.WARNING))
    for ours in ("homed", "plugin"):
        logging.getLogger(ours).setLevel(wanted)
