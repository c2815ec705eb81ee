"""What the life's memory tells of questions, asked through the real agent: each as a conversation of its own, of which
nothing is kept, so that no question is answered by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.identity.roles import Identity
from homed.memory import injections
from homed.memory.injections import Injection, Line
from tests.kit.builders import OWNER, Agent
from tests.life.lived import Life, project, who_of
from tests.life.script import Asked, Turn


@dataclass(frozen=True)
class Told:
    """What a question was told: the lines of the ledger; ``text``: as the model saw them."""

    question: str
    lines: tuple[Line, ...]
    text: str

    @property
    def beyond(self) -> list[Line]:
        """All but the Active Window."""
        return [line for line in self.lines if line.why != "active"]


async def ask(agent: Agent, text: str, who: Identity = OWNER, folder: str = "") -> Told:
    """One question."""
    more = {"project": folder} if folder else {}
    done = await agent.ask(text, who=who, no_memory=True, **more)
    rows: Sequence[Injection] = await agent.store.read(lambda tx: injections.of_turn(tx, done.turn))
    shown = [m.text for m in agent.model.requests[-1].messages if m.text.startswith("[Recalled notes")]
    return Told(text, tuple(line for row in rows for line in row.lines), "\n".join(shown))


@dataclass(frozen=True)
class Right:
    """A question that can be answered, and whether the right record was told."""

    asked: Asked
    told: Told
    right: bool


async def answered(agent: Agent, life: Life, asked: Sequence[Asked]) -> list[Right]:
    """Each by whoever said it, where it was said."""
    turns: dict[str, Turn] = {item.key: turn for turn in life.turns for item in turn.true}
    found = []
    for one in asked:
        turn = turns[one.key]
        told = await ask(agent, one.text, who_of(turn), project(turn))
        found.append(Right(one, told, any(line.id == life.reader.known[one.key] for line in told.lines)))
    return found
