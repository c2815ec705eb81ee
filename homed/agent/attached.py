"""What goes with messages into one prompt: texts and pictures, by event.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import trio

from homed.errors import NotFound
from homed.memory.records import Event
from homed.providers.base import Audio, Image, Source


@dataclass(frozen=True, slots=True)
class Attached:
    """What goes with messages, by event id: ``texts`` behind their own text, ``images`` and ``audio``."""

    texts: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, tuple[Image, ...]] = field(default_factory=dict)
    audio: Mapping[str, tuple[Audio, ...]] = field(default_factory=dict)

    def on(self, event: Event) -> Event:
        """The event with its files behind its text, for this prompt only."""
        text = self.texts.get(event.id)
        return event if text is None else replace(event, text=f"{event.text}\n\n{text}".strip(), tokens=0)


class NoMedia:
    """Where there are no files."""

    async def load(self, events: Sequence[Event], source: Source) -> Attached:  # noqa: ARG002 - MediaPort's
        """Nothing goes with any event."""
        await trio.lowlevel.checkpoint()
        return Attached()

    async def text(self, id_: str, *, scope: str, thread: str) -> str:  # noqa: ARG002 - MediaPort's
        """There is none."""
        await trio.lowlevel.checkpoint()
        raise NotFound(f"There is no text {id_} here.")
