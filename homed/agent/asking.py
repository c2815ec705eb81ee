"""Asking the ranker on somebody's behalf: whatever an embedder does, words are enough (B12, B13)."""

from __future__ import annotations

import logging
import math

from homed.retrieval.asking import VECTOR, Question
from homed.retrieval.rank import Ranker

log = logging.getLogger(__name__)


async def asked(ranker: Ranker, text: str, *, within: float = math.inf) -> Question:
    """``text`` as a question, with its vector if that can be had within so many seconds.

    Raises nothing, also where the embedder has a defect.  Cancelled: nothing is left behind.
    """
    try:
        return await ranker.ask(text, within=within)
    except Exception:
        log.exception("a question goes on without its vector")
        return Question(text, late=(VECTOR,))
