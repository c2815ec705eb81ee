"""Needles in a story: forty facts in 300 events of dense narrative that is more than twice a window of 50 000 tokens.

No model judges: a needle counts as found when its own words stand in what the prompt shows, be it in the selected
window or among the notes; the full history shows every one of them.  Each is asked for in its own words and in others.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from benchmarks.figures import Figure
from homed.config.secrets import Secrets
from homed.errors import Unavailable
from homed.events import Bus
from homed.paths import Paths
from homed.providers.base import System
from homed.retrieval.embed.current import embed_ports, open_embedder
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.settings.registry import open_settings
from homed.store.db import open_store
from tests.kit.builders import Agent, FakeModel, FakeSettings, Setup, running_agent
from tests.kit.past import Past, Said, put

EVENTS = 300
WINDOW, ALL = 50_000, 2_000_000
SENTENCES = 26
"""Of one event: some 380 tokens, 115 000 in all."""

PEOPLE = (
    "Marta", "Ivo", "Lena", "Tomas", "Greta", "Pavel", "Nora", "Emil", "Sofia", "Anton", "Klara", "Viktor", "Ada",
    "Bruno",
)  # fmt: skip
PLACES = (
    "the harbour", "the old mill", "the chapel", "the market square", "the lighthouse", "the inn", "the orchard",
    "the notary's office", "the ferry landing", "the schoolhouse", "the quarry", "the boathouse",
)  # fmt: skip
THINGS = (
    "a lantern", "the ledger", "a coil of rope", "the letter", "a basket of pears", "the brass compass",
    "a folded map", "the ferry bell", "two oars", "a grey coat", "the kettle", "a box of nails",
)  # fmt: skip
WEATHER = ("rain", "fog", "sleet", "a cold wind", "thin sunlight", "thunder", "haze", "frost", "drizzle")
STORY = (
    "{a} walked to {place} before dawn, and {weather} hung over the water.",
    "At {place} {a} met {b}, who had been waiting since {n} o'clock.",
    "{b} carried {thing} and would not say where it came from.",
    "Nobody at {place} had seen {a} since the {n}th of the month.",
    '"You should never have gone to {place}," said {b}, and put down {thing}.',
    "{a} counted {n} boats, turned away and thought of what {b} had told {c}.",
    "That evening {c} wrote in the diary about {thing}, {a} and the {weather}.",
    "They argued about {thing} until {b} left for {place} in the {weather}.",
    "{c} remembered how {a} had once mended {thing} at {place} in a single night.",
    "For {n} days there was {weather}, and {b} stayed at {place} with {c}.",
    "{a} sold {thing} to {c} for {n} coins and regretted it at once.",
    "When {b} asked about {place}, {c} only shrugged and looked at {thing}.",
    "The road from {place} was blocked, so {a} and {b} came back without {thing}.",
    "{c} laughed, {b} did not, and {a} hid {thing} behind the door of {place}.",
)


@dataclass(frozen=True, slots=True)
class Needle:
    """``key``: words that only it has, and that no question has."""

    fact: str
    key: str
    question: str
    reworded: str


def _needle(line: str) -> Needle:
    return Needle(*(part.strip() for part in line.split("|")))


NEEDLES = tuple(map(_needle, Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()))
"""One a line: the fact, its key, the question in its words, and in others."""


def story(seed: int = 7) -> list[Said]:
    """The same 300 events each time, two to a turn, the needles somewhere in the middle of forty of them."""
    chance = random.Random(seed)
    texts = [[_sentence(chance) for _ in range(SENTENCES)] for _ in range(EVENTS)]
    for at, needle in zip(chance.sample(range(EVENTS), len(NEEDLES)), NEEDLES, strict=True):
        texts[at].insert(chance.randint(3, SENTENCES - 3), needle.fact)
    whole = [" ".join(text) for text in texts]
    return [Said(question=asked, answer=answer) for asked, answer in zip(whole[::2], whole[1::2], strict=True)]


def _sentence(chance: random.Random) -> str:
    a, b, c = chance.sample(PEOPLE, 3)
    return chance.choice(STORY).format(
        a=a, b=b, c=c, place=chance.choice(PLACES), thing=chance.choice(THINGS), n=chance.randint(2, 28),
        weather=chance.choice(WEATHER),
    )  # fmt: skip


async def tell(agent: Agent, turns: int = 10) -> None:
    """Put the story in, some turns to a conversation, and let a first turn sink what does not fit."""
    said = story()
    for at in range(0, len(said), turns):
        past = Past(said=said[at : at + turns], title=f"Chapter {at // turns + 1}", at=1_750_000_000.0 + 3600 * at)
        await agent.store.write(lambda tx, past=past: put(tx, past))  # type: ignore[misc]
    await agent.ask("Shall we go on with the story tomorrow?", no_memory=True)


async def found(agent: Agent, questions: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether the prompt that each question leads to has its key; a conversation of its own for each."""
    seen = []
    for question, key in questions:
        await agent.ask(question, no_memory=True)
        request = agent.model.requests[-1]
        seen.append(any(key in message.text for message in request.messages if not isinstance(message, System)))
    return seen


def small(ranker: Ranker) -> Setup:
    """An agent whose model has the small window."""
    return Setup(model=FakeModel(context_window=WINDOW), ranker=ranker, settings=FakeSettings())


async def share(folder: Path, setup: Setup, *, reworded: bool) -> float:
    """The share of the needles that are found."""
    async with running_agent(folder, setup) as agent:
        await tell(agent)
        seen = await found(agent, _questions(reworded=reworded))
    return sum(seen) / len(seen)


def _questions(*, reworded: bool) -> list[tuple[str, str]]:
    return [(needle.reworded if reworded else needle.question, needle.key) for needle in NEEDLES]


async def with_vectors(folder: Path) -> tuple[float, float]:
    """The shares found by the embedder that homed has by default: in the needles' words, and in others."""
    from homed.retrieval.vectors import Vectors
    from homed.retrieval.vectors.refill import Refill, RefillPorts

    paths = Paths(folder / "data")
    paths.create()
    (folder / "agent").mkdir()
    async with (
        open_store(paths.db) as kept,
        open_settings(kept, {}, Secrets(paths.secrets, {})) as settings,
        open_embedder(embed_ports(paths, settings, lambda _: None)) as current,
        running_agent(folder / "agent", small(Ranker(lambda: current.current, Vectors()))) as agent,
        trio.open_nursery() as nursery,
    ):
        refill = Refill(RefillPorts(agent.store, current, Bus(), _no_picture, lambda: None))
        nursery.start_soon(refill.keep)
        while current.current is None:
            await current.wait_changed()
        await current.current.embed(["hello"], query=True)  # what answers questions loads with the first
        await tell(agent)
        refill.wake()
        await refill.wait_done()
        shares = []
        for reworded in (False, True):
            seen = await found(agent, _questions(reworded=reworded))
            shares.append(sum(seen) / len(seen))
        nursery.cancel_scope.cancel()
    return shares[0], shares[1]


async def _no_picture(hash_: str) -> bytes:
    raise Unavailable(f"There are no pictures here ({hash_}).")


def measure() -> Iterator[Figure]:
    """The share of needles found at a window of 50 000 tokens, against the full history."""
    settings = FakeSettings(**{"core.agent.max_context_size": 2 * EVENTS})
    whole = Setup(model=FakeModel(context_window=ALL), settings=settings)
    with tempfile.TemporaryDirectory() as folder:
        vectors = trio.run(with_vectors, Path(folder))
    for reworded, asked in ((False, "in their words"), (True, "in other words")):
        with tempfile.TemporaryDirectory() as full, tempfile.TemporaryDirectory() as folder:
            everything = trio.run(partial(share, Path(full), whole, reworded=reworded))
            value = trio.run(partial(share, Path(folder), small(words_only()), reworded=reworded))
        for name, one in (("by words alone", value), ("with vectors", vectors[reworded])):
            title = f"needles found {name}, asked {asked}"
            yield Figure(title, 100 * one, 100 * everything, "the full history", "%")
