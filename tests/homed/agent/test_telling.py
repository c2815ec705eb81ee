"""What a turn is told, with all its headings, takes no more of the window than memory may."""

from __future__ import annotations

import random
from dataclasses import fields

import pytest

from homed.agent import telling
from homed.agent.bands import Limits
from homed.agent.known import Known
from homed.agent.reading import Found, Wanted
from homed.memory.budget import Budget
from homed.memory.records import Event, EventKind
from homed.memory.tokens import estimate_tokens
from homed.retrieval.asking import Question
from tests.homed.agent.test_bands import PEER, fact

TEXTS = telling.load_texts()
WORDS = ("word ", "汉字", "слово ")


def said(number: int, text: str) -> Event:
    return Event(
        f"ev_{number:016x}", number, "owner", "thread", "turn", "webui", PEER, EventKind.USER, text, 1_760_000_000.0
    )


def found(seed: int) -> Found:
    """Some of everything that may be told."""
    pick = random.Random(seed)
    text = pick.choice(WORDS)
    hits = [fact(n, text * pick.randint(1, 80), relevance=pick.random()) for n in range(pick.randint(0, 8))]
    active = [fact(100 + n, text * 20, why="active", importance=9) for n in range(pick.randint(0, 3))]
    known = Known(tuple(hits), tuple(active), ("Anna",), pick.choice([0, 30]))
    notes = [(said(n, text * pick.randint(1, 600)), 0.5) for n in range(pick.randint(0, 3))]
    turns = [f"turn_{n}" for n in range(pick.randint(0, 12))]
    earlier = {turn: [said(10 + n, text * 100) for n in range(pick.randint(0, 3))] for turn in turns}
    facts = {turn: [fact(200 + n, text * 30) for n in range(pick.randint(0, 4))] for turn in turns}
    return Found(known=known, hits=notes, earlier=earlier, facts=facts)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("room", [0, 1, 20, 60, 100, 150, 300, 600, 1_000])
def test_all_that_is_told_stays_within_what_memory_may_take(room: int, small: bool) -> None:
    budget = Budget(**{one.name: room if one.name == "memory" else 100_000 for one in fields(Budget)})
    for seed in range(40):
        wanted = Wanted(
            "owner", "thread", "turn", Question("x"), budget, 30, 10, 0.12, 1_760_000_000.0, small=small, peer=PEER,
            telling=Limits(),
        )  # fmt: skip
        told = telling.tell(TEXTS, wanted, found(seed), peer=PEER)
        real = sum(map(estimate_tokens, filter(None, (told.snapshot, *told.earlier.values()))))
        assert real == told.tokens <= room, seed
