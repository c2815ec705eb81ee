"""A short transcript, and answers of a model that has read it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from homed.memory.distil import contract
from homed.memory.distil.contract import Answer
from homed.memory.distil.grounding import Ground, grounded
from homed.memory.evidence import Span, locate

SAID = "I keep seven hives of bees in the garden. My name is Anna."
ECHO = "You told me that your cat is called Rex."
GROUND = Ground("owner", [("ev1", SAID)])
FACT: dict[str, Any] = {
    "text": "The user keeps seven hives of bees", "kind": "fact", "scope": "user", "tags": ["bees"], "confidence": 0.8,
    "importance": 6, "quote": "I keep seven  hives of bees", "subject": "user", "relation": "keeps", "object": "bees",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    span: Span | None = None
    whose: str = ""


class Script:
    """What was said, and what was answered."""

    others = (ECHO,)

    def find(self, quote: str) -> Found:
        place = locate(SAID, quote)
        if place is not None:
            return Found(Span("ev1", *place))
        return Found(whose="assistant" if locate(ECHO, quote) else "")


def read(*facts: dict[str, Any], **parts: Any) -> Answer:
    """What is taken of an answer with these."""
    return contract.read(json.dumps({"l2": list(facts), **parts}))


def ground(*facts: dict[str, Any], **more: Any) -> tuple[list[Any], dict[str, int]]:
    """What is left of these, and the gates; ``more`` as of ``Ground``."""
    found, gates = grounded(read(*facts), Script(), Ground(**{"scope": "owner", "said": GROUND.said, **more}))
    return list(found), dict(gates)
