"""What scripts log, in homed's own log: redacted, cut, and not more than somebody reads."""

from __future__ import annotations

import logging
from collections.abc import Callable

import trio

from homed.redact import Redactor

PERIOD = 60.0
LINES = 30
"""Lines of one script in a period; of the others their number is told."""
LONGEST = 500
"""Characters of a line."""

_LEVELS = {"debug": logging.DEBUG, "warn": logging.WARNING, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger(__name__)


class Lines:
    """The lines of one script."""

    def __init__(self, file: str, now: Callable[[], float] = trio.current_time) -> None:
        self._file = file
        self._now = now
        self._since = -PERIOD
        self._lines = 0

    def line(self, level: str, text: str) -> None:
        """One line of it."""
        if self._now() - self._since >= PERIOD:
            if self._lines > LINES:
                log.warning("%s: %d lines more were left out", self._file, self._lines - LINES)
            self._since, self._lines = self._now(), 0
        self._lines += 1
        if self._lines <= LINES:
            plain = " ".join(Redactor().redact(text[: 8 * LONGEST]).split())[:LONGEST]
            log.log(_LEVELS.get(level, logging.INFO), "%s: %s", self._file, plain)
