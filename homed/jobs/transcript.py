"""What a pass is given to read: turns as text, and where in them a quote stands.  Pure.

Results of tools are not in it, only which tools ran: what strangers wrote is no statement of the person's, and has no
business in a prompt that makes facts.  Nor is anything that a turn was shown besides (recalled notes, instructions).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from homed.agent import notes
from homed.memory.blocked import shortened
from homed.memory.cooling import Piece
from homed.memory.evidence import Span, locate
from homed.memory.records import Event, EventKind, calls_of
from homed.memory.speakers import is_group

HEAD = 0.4
"""Share of a transcript's room that goes to its beginning where it is too long; the end has the rest."""

GAP = "\n[…]\n"

_SENTENCE = re.compile(r"(?<=[。！？!?])|(?<=[.…])(?=\s|$)|\n+")

_LABEL = re.compile(r"^(?=[ \t]{0,8}(?:USER|ASSISTANT|PROGRAM|TOOLS)\b)", re.MULTILINE)
"""Where a line of somebody's text begins like one of the transcript's own."""

REQUEST, OUTCOME = 120, 200
"""Characters of the two in a summary that nobody wrote."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Where a quote stands: in what a person said (``span``), or only in what others did (``whose``: assistant,
    program); neither: nowhere."""

    span: Span | None = None
    whose: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """``text`` as a model reads it; ``pieces`` it is made of."""

    text: str
    pieces: tuple[Piece, ...]

    @property
    def others(self) -> list[str]:
        """What the model and programs said."""
        return [
            event.text
            for piece in self.pieces
            for event in piece.events
            if event.kind is EventKind.ASSISTANT or (event.kind is EventKind.USER and not piece.own(event))
        ]

    def find(self, quote: str) -> Quote:
        """Look for a quote, the words of the person first, the newest of them before older ones."""
        others = ""
        for piece in reversed(self.pieces):
            for event in reversed(piece.events):
                if event.kind is EventKind.TOOL:
                    continue
                place = locate(event.text, quote)
                if place is None:
                    continue
                if piece.own(event):
                    return Quote(Span(event.id, *place))
                others = others or ("program" if event.kind is EventKind.USER else "assistant")
        return Quote(None, others)


def transcript(pieces: Sequence[Piece], limit: int) -> Transcript:
    """These turns, in order; beyond ``limit`` characters the middle is left out."""
    text = "\n\n".join(filter(None, map(_told, pieces)))
    if len(text) > limit:
        head = int(limit * HEAD)
        text = text[:head] + GAP + text[len(text) - (limit - head) :]
    return Transcript(text, tuple(pieces))


def _told(piece: Piece) -> str:
    lines = []
    for event in piece.events:
        asked = "USER" if piece.own(event) else "PROGRAM"
        who = {EventKind.USER: asked, EventKind.ASSISTANT: "ASSISTANT"}.get(event.kind)
        if who and event.text.strip():
            if who == "USER" and is_group(event.scope):
                who = f"USER {notes.speaker(event.peer, piece.names)}"
            lines.append(f"{who}: {_LABEL.sub('> ', event.text.strip())}")
    if (ran := actions(piece.events)) != "-":
        lines.append(f"TOOLS: {ran}")
    return "\n".join(lines)


def actions(events: Sequence[Event]) -> str:
    """The tools that were called, by name, with how often: ``web_fetch ×2, note``; ``-`` for none."""
    counts = Counter(str(call.get("name", "")) for event in events for call in calls_of(event))
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items()) or "-"


@dataclass(frozen=True, slots=True)
class Outline:
    """What a turn was, without a model: the first sentence asked, what was done, the last sentence answered."""

    request: str
    actions: str
    outcome: str


def outline(piece: Piece) -> Outline:
    """The deterministic summary of a turn."""
    answers = [event.text for event in piece.events if event.kind is EventKind.ASSISTANT and event.text.strip()]
    return Outline(
        shortened((_sentences(piece.said) or [""])[0], REQUEST),
        actions(piece.events),
        shortened((_sentences(answers[-1]) or [""])[-1] if answers else "", OUTCOME),
    )


def _sentences(text: str) -> list[str]:
    return [found for part in _SENTENCE.split(text) if (found := " ".join(part.split()))]
