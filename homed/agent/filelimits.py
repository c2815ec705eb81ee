"""What of attachments is taken, and what of them a model is shown, as a person may set it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from homed.config.definitions import (
    SHOWN_IMAGE_BYTES,
    SHOWN_IMAGES,
    SHOWN_TEXT,
    SHOWN_TEXTS,
    UPLOAD_BYTES,
    UPLOAD_IDLE,
    UPLOADS_OPEN,
    WAITING_ALL,
    WAITING_BYTES,
    WAITING_FILES,
)
from homed.memory.blocks import Waiting


@dataclass(frozen=True, slots=True)
class FileLimits:
    """``bytes`` of one file, ``open`` ones at once, given up after ``idle`` seconds; ``waiting`` for a message.

    Of a prompt: ``images``, the newest, each of ``image_bytes`` at the most (a larger one is described; in base64 the
    default is 11 MB, about what servers take), and of ``texts`` ``text`` characters each.
    """

    bytes: int = 20 * 1024 * 1024
    open: int = 10
    idle: float = 600.0
    waiting: Waiting = field(default_factory=Waiting)
    images: int = 4
    image_bytes: int = 8 * 1024 * 1024
    texts: int = 4
    text: int = 16_000


class SettingsPort(Protocol):
    """``homed.settings.Settings``, as far as it is used here."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...

    def float(self, key: str) -> float:
        """A number; durations are seconds."""
        ...


def file_limits(settings: SettingsPort) -> FileLimits:
    """As they are set now."""
    return FileLimits(
        bytes=settings.int(UPLOAD_BYTES),
        open=settings.int(UPLOADS_OPEN),
        idle=settings.float(UPLOAD_IDLE),
        waiting=Waiting(settings.int(WAITING_FILES), settings.int(WAITING_BYTES), settings.int(WAITING_ALL)),
        images=settings.int(SHOWN_IMAGES),
        image_bytes=settings.int(SHOWN_IMAGE_BYTES),
        texts=settings.int(SHOWN_TEXTS),
        text=settings.int(SHOWN_TEXT),
    )
