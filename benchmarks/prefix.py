"""How much of what is sent comes from the provider's own prefix cache, over a conversation of 50 turns.

A real daemon with its built-in plugins, and the fake OpenAI server, which caches prefixes as the real one does: from
1 024 tokens, in steps of 128.  Beside it what a conversation that only ever grows would have: everything but the new
words of each call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.figures import Figure
from tests.kit.house import PACKAGED, House, Plan, house

TURNS = 50
TOOL_EVERY = 4
"""Every so many turns the model calls a tool of the kernel's before it answers."""

ASKED = ((9, "timer", "timer_list"), (30, "skills", "skill_list"))
"""In which turn the model asks for the tools of which plugin, and uses which."""

TOPICS = (
    "the tomatoes on the balcony", "a train to Lisbon in May", "the leaking tap in the kitchen", "Anna's birthday",
    "the quarterly report", "a recipe for borscht", "the cat's vaccination", "learning the cello",
)  # fmt: skip


def measure() -> Iterator[Figure]:
    """Shares in percent of all prompt tokens."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(only=tuple(name for name in PACKAGED if name != "webui"))
        with house(Path(folder) / "data", plan) as home:
            yield _figure(home, "provider-cached share over 50 turns", topics=1)
        with house(Path(folder) / "other", plan) as home:
            yield _figure(home, "provider-cached share over 50 turns, eight topics in turn", topics=len(TOPICS))
        with house(Path(folder) / "third", plan) as home:
            for part, plugin, tool in ASKED:
                home.fake.when(
                    f"part {part}.", {"calls": [{"name": "get_plugin_tools", "args": {"plugin": plugin}}]},
                    {"calls": [{"name": tool, "args": {}}]}, {"say": _words(part)},
                )  # fmt: skip
            yield _figure(home, "provider-cached share over 50 turns, two plugins asked for on the way", topics=1)


def _figure(home: House, name: str, *, topics: int) -> Figure:
    home.fake.when("mind", {"calls": [{"name": "memory_recall", "args": {"query": "tomatoes"}}]}, {"say": _words(7)})
    thread = ""
    for at in range(TURNS):
        topic = TOPICS[at // max(1, TURNS // topics) % len(TOPICS)] if topics > 1 else TOPICS[0]
        verb = "What was in your mind" if at % TOOL_EVERY == TOOL_EVERY - 1 else "Tell me more"
        thread = str(home.chat(f"{verb} about {topic}, part {at}. {_words(at)}", thread=thread)["thread"])
    prompts = [record.prompt for record in home.fake.chats if record.prompt is not None]
    total = sum(prompt.tokens for prompt in prompts)
    cached = sum(prompt.cached for prompt in prompts)
    best = sum(min(one.tokens, other.tokens) for one, other in pairwise(prompts))
    return Figure(name, 100 * cached / total, 100 * best / total, "one that only ever grows", "%")


def _words(seed: int) -> str:
    """Some fifty words, others for each seed."""
    return " ".join(f"word{(seed * 31 + n * 7) % 97}" for n in range(50))
