"""What a turn shows the model of what was before it.  Changed by the turn's own task only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from homed.agent.notes import Place
from homed.memory.budget import Budget
from homed.memory.records import Event
from homed.retrieval.asking import Question


@dataclass(slots=True)
class View:
    """``window``: the selected earlier events of the scope, in time order; ``places`` names their conversations,
    ``names`` the members of a group who speak in them.

    ``noted``: events told in notes, those of the ``snapshot`` before the input and of the ``earlier`` ones (by turn).
    ``room``: the tokens that events and notes may fill, once a recovery has set it; 0 before.  ``dropped``: events of
    the running turn that are not shown any more; ``left``: how many events went, as the model is told.
    ``told``: tokens of all notes.  ``budget``: what the selection went by.  ``scores``: the relevance of its events.
    ``sent``: ids of all events that the last request really showed; ``cut``: selected events that had no room beside
    the turn's own, and stay out until a new selection.  ``offered``: messages that ``pre_action`` was offered, None
    before; a later selection shows no others.  ``question``: what the turn is about, once the ranker was asked.
    ``doubtful``: whose words from outside are in the records that are told (`homed.memory.origins`).  ``tools``: those
    that the last request described.
    """

    window: list[Event] = field(default_factory=list)
    places: Mapping[str, Place] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    noted: tuple[Event, ...] = ()
    snapshot: str = ""
    told: int = 0
    earlier: Mapping[str, str] = field(default_factory=dict)
    room: int = 0
    dropped: frozenset[str] = frozenset()
    recoveries: int = 0
    left: int = 0
    budget: Budget | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    sent: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()
    offered: frozenset[str] | None = None
    question: Question | None = None
    doubtful: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()

    @property
    def shown(self) -> list[Event]:
        """Every earlier event whose text, or part of it, is before the model."""
        return [*self.window, *self.noted]

    @property
    def in_view(self) -> list[Event]:
        """The selected events but for those that had no room: what was cut must be found by looking for it."""
        return [event for event in self.window if event.id not in self.cut]

    @property
    def ids(self) -> frozenset[str]:
        """Their ids."""
        return frozenset(event.id for event in self.shown)
