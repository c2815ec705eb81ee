"""What the console works with, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx2

from homed.agent.ports import RedactorPort
from homed.clock import WallClock, system_wall_clock
from homed.memory.ports import Embedder
from homed.retrieval.embed.current import Standing
from homed.retrieval.embed.till import FreeTill, Till
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.settings.registry import Settings
from homed.store.rows import Storage


class Bus(Protocol):
    """``homed.events.Bus``."""

    def post(self, type_: str, *, scope: str = "", data: dict[str, object]) -> object:
        """Post a notice."""
        ...


class EmbedderPort(Protocol):
    """``homed.retrieval.embed.current.CurrentEmbedder``."""

    @property
    def current(self) -> Embedder | None:
        """The one in use."""
        ...

    @property
    def standing(self) -> Standing:
        """How it is doing."""
        ...


class DensePort(Protocol):
    """``homed.retrieval.dense.DenseIndex``."""

    @property
    def trouble(self) -> str:
        """Why no vectors are made."""
        ...

    def wake(self) -> None:
        """Something has no vector yet."""
        ...


@dataclass(frozen=True, slots=True)
class Folders:
    """Where memory lies: the database, its vectors' index, attachments, backups."""

    data: Path
    db: Path
    vectors: Path
    media: Path
    backups: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePorts:
    """Built once by the app.  ``know`` hears of a key before it is used; ``till``: what an endpoint that is tried is
    paid by; ``transport``: for tests."""

    store: Storage
    settings: Settings
    redactor: RedactorPort
    bus: Bus
    embedder: EmbedderPort
    dense: DensePort
    folders: Folders
    know: Callable[[list[str]], object] = lambda _: None
    ranker: Ranker = field(default_factory=words_only)
    wall: WallClock = system_wall_clock
    till: Till = field(default_factory=FreeTill)
    transport: httpx2.AsyncBaseTransport | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and whether words of strangers are in it."""

    answer: Mapping[str, object]
    untrusted: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """By what an answer is seen: a person, or a turn for which a plugin works (``turn`` of ``thread``, else '').

    What a turn may not have: what is hidden, what was there before something was hidden, what is private to other
    conversations.
    """

    turn: str = ""
    thread: str = ""

    @property
    def person(self) -> bool:
        """Whether a person looks."""
        return not self.turn
