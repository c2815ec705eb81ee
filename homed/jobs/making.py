"""What is made of turns, whoever asks for it: with a model where there is one, else with rules and an outline.

Shared by the pass that follows a turn and by what looks after cold memories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from homed.config.definitions import EXTRACT_MAX_TRANSCRIPT, EXTRACT_MIN_TURN
from homed.jobs.job import Run
from homed.jobs.storing import Extracted, Found, Topics, summaries, told, unknown
from homed.jobs.transcript import Transcript, transcript
from homed.memory.amount import characters
from homed.memory.cooling import NONE, RULES, Piece
from homed.memory.records import KERNEL, Event, EventKind
from homed.store.rows import Storage, Tx

LEAST = 12
"""Characters of what a person said, as `homed.memory.amount` counts, below which no model is asked, also of several
turns: "ok", "thanks"."""


class SettingsPort(Protocol):
    """What is read of the settings."""

    def int(self, key: str) -> int:
        """A whole number."""
        ...


class ReaderPort(Protocol):
    """Makes something of a transcript with a model: ``homed.jobs.extract.Extractor``."""

    def ready(self) -> bool:
        """Whether there is a model to ask."""
        ...

    async def read(self, run: Run, script: Transcript) -> Extracted:
        """What it found; ``by`` '' when it answered nothing that can be used."""
        ...


Rules = Callable[[Event], Sequence[Found]]
"""What the rules find in a message of a person's; called in a thread."""


def by_rules(event: Event) -> list[Found]:
    """The rules of this release.  Blocks, the first time for a while: so many patterns are no matter of a start."""
    from homed.memory.distil.sources import facts_of

    return [Found(fact, (span,)) for fact, span in facts_of(event)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes it.  ``asked``: called between a model's answer and what comes of it."""

    store: Storage
    settings: SettingsPort
    reader: ReaderPort
    rules: Rules
    topics: Topics = unknown
    asked: Callable[[], None] = lambda: None

    def small(self, piece: Piece) -> bool:
        """Whether a turn is small talk: no summary is made of it, and a model reads it together with others."""
        return is_small(piece, self.settings)

    def readable(self, piece: Piece) -> bool:
        """Whether a model is to read it: there is one, a person spoke, and no pass has read it."""
        return piece.unread and not piece.foreign and self.reader.ready()

    async def with_model(self, run: Run, pieces: Sequence[Piece]) -> Extracted:
        """With the model; with rules where there is too little for one, or where its answer cannot be used.  Raises as
        the reader does."""
        said = sum(characters(event.text) for piece in pieces for event in piece.events if piece.own(event))
        if said < min(self.settings.int(EXTRACT_MIN_TURN), LEAST):
            return await self.without(pieces)
        script = await trio.to_thread.run_sync(transcript, pieces, self.settings.int(EXTRACT_MAX_TRANSCRIPT))
        found = await self.reader.read(run, script)
        self.asked()
        return found if found.by else await self.without(pieces, found)

    async def without(self, pieces: Sequence[Piece], before: Extracted | None = None) -> Extracted:
        """What rules find in what no pass has read, and of each turn that is more than small talk and has no summary
        what it was.

        Marked as rules' where these found facts: what has an outline alone, a model may still read.  ``before``: an
        answer that could not be used.
        """
        found: list[Found] = []
        for piece in pieces:
            for event in piece.events:
                if piece.own(event) and event.id in piece.fresh:
                    found += await trio.to_thread.run_sync(self.rules, event)
        bare = await self.store.read(lambda tx: _bare(tx, pieces))
        recorded = [piece for piece in bare if is_recorded(piece, self.settings)]
        outlines = await trio.to_thread.run_sync(lambda: tuple(told(piece, self.topics) for piece in recorded))
        return Extracted(RULES if found else NONE, tuple(found), outlines, drops=before.drops if before else {})


def is_small(piece: Piece, settings: SettingsPort) -> bool:
    """As ``Maker.small``."""
    return size(piece) < settings.int(EXTRACT_MIN_TURN)


def is_recorded(piece: Piece, settings: SettingsPort) -> bool:
    """Whether a turn has a summary: it is more than small talk, and not the kernel talking to its own model."""
    return not is_small(piece, settings) and piece.mark != KERNEL


def size(piece: Piece) -> int:
    """How much was said in it, in characters of English (`homed.memory.amount`)."""
    return sum(characters(e.text) for e in piece.events if e.kind in (EventKind.USER, EventKind.ASSISTANT))


def _bare(tx: Tx, pieces: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in pieces if not summaries(tx, [piece])]
