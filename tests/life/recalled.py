"""What the life's memory tells of questions, asked through the real agent: each as a conversation of its own, of which
nothing is kept, so that no question is answered by another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from homed.config.secrets import Secrets
from homed.errors import Unavailable
from homed.events import Bus
from homed.identity.roles import Identity
from homed.memory import injections
from homed.memory.injections import Injection, Line
from homed.paths import Paths
from homed.retrieval.embed.current import CurrentEmbedder, embed_ports, open_embedder
from homed.retrieval.rank import Ranker
from homed.retrieval.vectors import Vectors, todo
from homed.retrieval.vectors.refill import Refill, RefillPorts
from homed.settings.registry import open_settings
from tests.kit.builders import OWNER, Agent, FakeSettings
from tests.life.lived import Clock, Life, agent_of, project, who_of
from tests.life.script import Asked, Turn

PATIENCE, LOOK = 120.0, 0.05
"""Seconds: for a machine that does much besides, and between two looks at whether all has its vector."""


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


@asynccontextmanager
async def by_meaning(folder: Path, clock: Clock) -> AsyncIterator[Agent]:
    """The agent on that folder with the bundled embedder, once everything has its vector."""
    paths, held = Paths(folder), list[CurrentEmbedder]()
    ranker = Ranker(lambda: held[0].current if held else None, Vectors())
    patient = FakeSettings(**{"core.memory.recall_deadline": PATIENCE})
    async with (
        agent_of(folder, clock, ranker=ranker, settings=patient) as agent,
        open_settings(agent.store, {}, Secrets(paths.secrets, {})) as settings,
        open_embedder(embed_ports(paths, settings, lambda _: None)) as current,
        trio.open_nursery() as nursery,
    ):
        held.append(current)
        nursery.start_soon(Refill(RefillPorts(agent.store, current, Bus(), _no_picture, lambda: None)).keep)
        with trio.fail_after(PATIENCE):
            while current.standing.state == "coming":
                await current.wait_changed()
            while await agent.store.read(todo.left):  # noqa: ASYNC110 - nobody tells of the last
                await trio.sleep(LOOK)
        assert current.standing.used == "bundled"
        yield agent
        nursery.cancel_scope.cancel()


async def _no_picture(hash_: str) -> bytes:
    await trio.lowlevel.checkpoint()
    raise Unavailable(f"There are no pictures here ({hash_}).")
