"""What a page of a conversation is made of, and where each piece stands.

A page holds *sections* (one a turn) of *items*, each with a key and a place in the order; putting an item again
replaces it, so that telling a page what it knows already changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SAID = "0000.0"
RECALLED = "0000.0.5"
AGENT = "9998.5"
PAUSED = "9998.9"
END = "9999.9"
WRITTEN = "9999.9.5"
INSERTED, REASONING, TEXT, TOOL, APPROVAL, NOTE = 0, 1, 2, 3, 4, 5
"""The places within a step."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation for the page: ``name`` is the type of the server-sent event, ``data`` its JSON."""

    name: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a turn's section.  ``blocks`` are for a text, whose markup comes block by block."""

    key: str
    order: str
    html: str = ""
    blocks: tuple[str, ...] | None = None


@dataclass(slots=True)
class Section:
    """A turn as it stands on the page."""

    turn: str
    input: str = ""
    live: bool = False
    suspended: bool = False
    items: list[Item] = field(default_factory=list)

    def ordered(self) -> list[Item]:
        """The items from top to bottom; of two with one key the later counts."""
        return sorted({item.key: item for item in self.items}.values(), key=lambda item: item.order)


def order(step: int, kind: int, nth: int = 0) -> str:
    """The place of the ``nth`` piece of a kind within a step."""
    return f"{step:04}.{kind}.{nth:03}"
