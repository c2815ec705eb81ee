"""What tests of recall know, and how they look at what a turn was told."""

from __future__ import annotations

from typing import Any

from homed.memory import evidence, facts, injections, stable
from homed.memory.evidence import Pointer
from homed.memory.facts import NewFact
from homed.memory.injections import Injection
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import Agent
from tests.kit.past import Past, Said, put

AT = 1_760_000_000.0


def fact(text: str, **more: Any) -> NewFact:
    given: dict[str, Any] = {"origin": "manual", "extractor": "manual", "confidence": 0.9, "scope": "owner"} | more
    return NewFact(given.pop("scope"), text, **given)


async def know(agent: Agent, *said: NewFact) -> list[str]:
    """Facts by hand, indexed; their ids."""

    def write(tx: Tx) -> list[str]:
        made = [facts.put(tx, one, at=AT).record for one in said]
        index.catch_up(tx)
        return made

    return await agent.store.write(write)


CELLO = fact("Ida plays the cello.")
RULE = fact("Answers are to be given in metric units.", kind="convention", importance=8)


def snapshot(agent: Agent, at: int = -1) -> str:
    """The recalled notes of a request, '' for none."""
    found = [m.text for m in agent.model.requests[at].messages if m.text.startswith("[Recalled notes")]
    return found[-1] if found else ""


async def rows(agent: Agent, turn: str) -> list[Injection]:
    return await agent.store.read(lambda tx: injections.of_turn(tx, turn))


async def summary(agent: Agent, question: str, answer: str, **row: Any) -> str:
    """A turn of another conversation that is out of view, and its summary's id."""

    def write(tx: Tx) -> str:
        said = put(tx, Past(said=[Said(question=question, answer=answer)], layer="archived"))
        values: dict[str, Any] = {
            "scope": "owner", "record": "summary", "kind": "turn", "title": "", "origin": "auto",
            "text": f"{question}\n-\n{answer}", "key": question, "extractor": "fallback",
        } | row  # fmt: skip
        made = stable.insert(tx, values, at=AT)
        evidence.add(tx, made, evidence.usable(tx, "owner", [Pointer(said[0].id)])[0], at=AT)
        index.catch_up(tx)
        return made

    return await agent.store.write(write)


def summed(tx: Tx, turn: str, text: str) -> str:
    """The summary of a turn that is there; its id."""
    event = tx.value("SELECT id FROM events WHERE turn = ? AND kind = 'user'", (turn,))
    values: dict[str, Any] = {
        "scope": "owner", "record": "summary", "kind": "turn", "text": text, "key": text, "origin": "auto",
        "extractor": "fallback",
    }  # fmt: skip
    made = stable.insert(tx, values, at=AT)
    evidence.add(tx, made, evidence.usable(tx, "owner", [Pointer(str(event))])[0], at=AT)
    index.catch_up(tx)
    return made
