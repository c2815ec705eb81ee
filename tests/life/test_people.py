"""B14, the whole kind: two people in a channel, a group that both are in, and the owner; each asks for what the others
told, by recall, by every tool that looks, and on the pages.  Nobody gets a word of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homed.errors import HomedError
from homed.identity.roles import Identity, visible_scopes
from homed.jobs.console.ports import Seen
from homed.jobs.console.reading import LedgerAsked, ListAsked
from homed.memory.browse import Filters
from homed.providers.base import ToolResult
from tests.kit.builders import Agent, calls, says
from tests.kit.console import open_desk
from tests.life.lived import MEMBERS, PEOPLE, Life, agent_of, who_of
from tests.life.recalled import ask

ASKERS: dict[str, Identity] = {**PEOPLE, "group": MEMBERS["bob"]}

SECRETS = {
    "owner": ("peanuts", "thyroxine", "sparekey", "seafood", "ip"),
    "anna": ("party", "blood", "boathouse"),
    "group": ("seats", "soup", "vegetarian"),
    "ben": ("van",),
}
"""What each told, by key."""

QUESTIONS = (
    "Is there a surprise party for Marta on the last Sunday in June, with a band in the boathouse?",
    "What is the blood type, B negative?", "Who has a car with five seats? Who is a vegetarian?",
    "Who brings the soup for the hike?", "Can Marta eat peanuts, or is she allergic to peanuts?",
    "How many micrograms of thyroxine are taken every morning?", "Where does the spare key of the house hang?",
    "陈伟对什么过敏？虾和螃蟹？", "NAS 的 IP 是多少？192.168.7.20", "Who comes with a van full of chairs?",
    "Tell me everything that you know of everybody.", "hm?",
)  # fmt: skip


def told(life: Life, name: str) -> list[str]:
    """What of theirs would be told: the statements and the words themselves, one way and the other."""
    found = []
    for turn in life.turns:
        if who_of(turn).scope == ASKERS[name].scope:
            found += [item.text for item in turn.true if item.key in SECRETS[name]]
            found += [turn.say for item in turn.true if item.key in SECRETS[name]]
    assert len(found) == 2 * len(SECRETS[name])
    return found


def others(life: Life, name: str) -> list[str]:
    """What whoever this is may never see."""
    return [text for other in SECRETS if other != name for text in told(life, other)]


def looks(record: str) -> list[tuple[str, str]]:
    """Every tool that looks, for something that is not one's own."""
    query = {"query": "peanuts party blood van seats thyroxine 陈伟"}
    return [
        ("memory_recall", json.dumps(query)), ("memory_open", json.dumps({"id": record})), ("memory_list", "{}"),
        ("memory_injections", "{}"), ("memory_stats", "{}"), ("coldcontext_query", json.dumps(query)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", list(ASKERS))
async def test_nobody_is_told_what_somebody_else_said(life: Life, copy: Callable[[], Path], name: str) -> None:
    who, never = ASKERS[name], others(life, name)
    async with agent_of(copy(), life.clock) as agent:
        for text in QUESTIONS:
            await ask(agent, text, who)
        for other in SECRETS:
            if other != name:
                record = life.reader.known[SECRETS[other][0]]
                agent.model.script = [calls(*looks(record)), calls(*looks(record[-8:])), says("no")]
                await agent.ask("Look for it.", who=who, no_memory=True)
                results = [m.text for m in agent.model.requests[-1].messages if isinstance(m, ToolResult)]
                assert len(results) == 2 * len(looks(record))
        shown = "\n".join(str(message) for request in agent.model.requests for message in request.messages)
        assert [text for text in never if text in shown] == []
        mine = told(life, name)
        assert any(text in shown for text in mine), "and their own is there"
        seen = await pages(agent, life, name)
        hidden = [
            text for other in SECRETS if ASKERS[other].scope not in visible_scopes(who) for text in told(life, other)
        ]
        assert [text for text in hidden if text in seen] == []


async def pages(agent: Agent, life: Life, name: str) -> str:
    """Everything that the pages get for somebody."""
    who, found = ASKERS[name], list[Any]()
    async with open_desk(life.folder, agent.store) as desk:
        reading = desk.console.reading
        for query in ("", *QUESTIONS[:-1]):
            found.append(await reading.records(who, ListAsked(Filters(frozenset()), query, limit=100), Seen()))
            found.append(await reading.cold(who, query, before="", limit=100, seen=Seen()))
        for other in SECRETS:
            asked = ListAsked(Filters(frozenset()), scope=ASKERS[other].scope, limit=100)
            found.append(await reading.records(who, asked, Seen()))
            if ASKERS[other].scope in visible_scopes(who):
                continue
            for key in SECRETS[other]:
                with pytest.raises(HomedError):
                    await reading.record(who, life.reader.known[key], history=True, seen=Seen())
        found.append(await reading.injections(who, LedgerAsked(limit=100), Seen()))
        found.append(await reading.graph(who, "", depth=3, limit=200))
    return "\n".join(str(one) for one in found).replace("\\'", "'")
