"""A question as the ranker takes it, and the making of its vector within a time."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from homed.errors import HomedError
from homed.memory.ports import Embedder
from homed.retrieval.words import cleaned

if TYPE_CHECKING:
    from homed.memory.ports import Space, Vectors

log = logging.getLogger(__name__)

LONGEST = 1.2
"""Seconds that a vector of a question may take where nothing else is set: the whole of what a recall has before the
model is called."""

TIMEOUTS, PAUSE = 3, 60.0
"""After so many time-outs in a row no vector is asked for, for so many seconds: each one was waited for in vain."""

VECTOR = "vector"
"""In ``Question.late``: there is an embedder, but what is asked had no vector in time."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.  ``vector``, shape (dims,), is of ``space``; without it only words count.

    ``late``: what should be in it and is not, for the record of the turn.
    """

    text: str
    vector: Vectors | None = None
    space: Space | None = None
    late: tuple[str, ...] = ()


class Asker:
    """Makes questions."""

    def __init__(
        self, embedder: Callable[[], Embedder | None], patience: Callable[[], float] = lambda: LONGEST
    ) -> None:
        """``patience``: seconds that a vector may take at the most, asked each time."""
        self._embedder = embedder
        self._patience = patience
        self._timeouts = 0
        self._not_before = float("-inf")

    def warm(self) -> None:
        """See ``Ranker.warm``.  Only an embedder with a process of its own has something to load."""
        warm = getattr(self._embedder(), "warm", None)
        if warm is not None:
            warm()

    async def ask(self, text: str, *, within: float = math.inf) -> Question:
        """The question with its vector, if that can be had within so many seconds, and within the asker's patience.

        Raises nothing; a checkpoint.  Cancelled: the embedding is abandoned.
        """
        embedder = self._embedder()
        if embedder is None or not text.strip():
            await trio.lowlevel.checkpoint()
            return Question(text)
        space = embedder.space
        vector = await self._vector(embedder, cleaned(text), min(within, self._patience()))
        if vector is None or not _of(vector, space) or embedder.space != space:
            return Question(text, late=(VECTOR,))
        return Question(text, vector, space)

    async def _vector(self, embedder: Embedder, text: str, within: float) -> Vectors | None:
        if trio.current_time() < self._not_before:
            await trio.lowlevel.checkpoint()
            return None
        with trio.move_on_after(max(0.0, within)):
            try:
                vector: Vectors = (await embedder.embed([text], query=True))[0]
            except HomedError as error:
                log.info("a question goes on without its vector: %s", error.code)
                return None
            self._timeouts = 0
            return vector
        self._timeouts += 1
        if self._timeouts >= TIMEOUTS:
            self._timeouts, self._not_before = 0, trio.current_time() + PAUSE
            log.warning("the embedder was too slow %d times; questions go without it for %.0f s", TIMEOUTS, PAUSE)
        return None


def _of(vector: Vectors, space: Space) -> bool:
    """Whether it points anywhere in this space: what is of another size, not a number or nothing is near to nothing."""
    return vector.shape == (space.dims,) and math.isfinite(length := float(vector @ vector)) and length > 0
