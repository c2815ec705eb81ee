"""What a source wants back goes through the store and the turn loop as it came, or not at all (A9, A12)."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from homed.agent.model import Said
from homed.agent.sealed import seal, unsealed
from homed.memory.records import Event, EventKind
from homed.providers.base import Opaque, Source, ToolCall
from homed.providers.registry import Sources, open_sources
from homed.redact import redact
from tests.homed.providers.test_registry import Secrets, Settings
from tests.kit.builders import Agent, FakeHost, Setup, running_agent
from tests.kit.fake_server import FakeServer, open_fake

CALL = ToolCall("c1", "look", {"at": "a"}, '{"at": "a"}')
THOUGHT = "first I look, 然后回答 🌍"
SECRET = "sk-ant-0123456789abcdefghij"

WIRES: Mapping[str, dict[str, Any]] = {
    "openai": {"options": {"reasoning": "strip"}},
    "anthropic": {"options": {"thinking": 1024}},
    "gemini": {},
    "ollama": {},
    "deepseek": {"adapter": "openai", "options": {"reasoning": "echo"}},
}


def event(opaque: str = "") -> Event:
    return Event("ev_1", 1, "owner", "t", "turn_1", "cli", "", EventKind.ASSISTANT, "hi", 0.0, opaque=opaque)


def said(**changes: Any) -> Said:
    return Said(text="hi", calls=(CALL,), opaque=Opaque("anthropic", '[{"signature":"s"}]'), **changes)


def test_is_kept_with_the_message_it_came_with() -> None:
    kept = seal(said(), "hi", [ToolCall("c1", "look", {"at": "a"})], redact)
    assert unsealed(event(kept)) == Opaque("anthropic", '[{"signature":"s"}]')
    assert unsealed(event()) is None


@pytest.mark.parametrize(
    ("text", "calls"),
    [("hi!", [CALL]), ("hi", []), ("hi", [ToolCall("c1", "look", {"at": "b"})]), ("hi", [ToolCall("c2", "look", {})])],
)
def test_is_left_out_whole_once_the_message_is_another(text: str, calls: list[ToolCall]) -> None:
    assert seal(said(), text, calls, redact) == ""


def test_is_left_out_whole_where_a_secret_would_stand_in_it() -> None:
    opaque = Opaque("anthropic", json.dumps([{"type": "thinking", "thinking": f"the key is {SECRET}"}]))
    assert seal(Said(text="hi", opaque=opaque), "hi", [], redact) == ""


@asynccontextmanager
async def sources_on(*fakes: FakeServer) -> AsyncIterator[Sources]:
    """Every fake as a source, by the name of its wire."""
    secrets = Secrets()
    async with open_sources(Settings(secrets), secrets) as sources:
        for fake in fakes:
            changes = {"adapter": fake.wire.name, **WIRES[fake.wire.name]}
            vision = fake.wire.name != "deepseek"
            await sources.add(Source(fake.wire.name, fake.url, fake.model, vision=vision, **changes), fake.key)
        yield sources


def looking() -> FakeHost:
    async def look(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return "a heron"

    host = FakeHost()
    host.tool("look", look)
    return host


@asynccontextmanager
async def agent_on(folder: Path, host: FakeHost, *fakes: FakeServer) -> AsyncIterator[tuple[Agent, Sources]]:
    async with (
        sources_on(*fakes) as sources,
        running_agent(folder, Setup(model=sources, host=host)) as agent,  # type: ignore[arg-type]
    ):
        yield agent, sources


def signed(fake: FakeServer) -> list[str]:
    """What was signed and went out in the last request, in its order."""
    found: list[str] = []

    def walk(value: object) -> None:
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)
        if isinstance(value, dict):
            found.extend(str(value[name]) for name in ("signature", "thoughtSignature") if name in value)

    walk(fake.chats[-1].body)
    return found


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
async def test_signatures_come_back_with_the_result_and_after_a_restart_and_are_shown_nowhere(
    tmp_path: Path, wire: str
) -> None:
    async with open_fake(wire) as fake:
        fake.call_tool("look", {}, say="Looking.", think=THOUGHT, then="It is a heron.")
        async with agent_on(tmp_path, looking(), fake) as (agent, _):
            done = await agent.ask("what is there?")
            assert done.outcome is not None
            assert done.outcome.text == "It is a heron.", done.outcome
            first = signed(fake)
            assert first
            told = json.dumps([await agent.history(done.thread), [dict(n.data) for n in agent.notices]], default=str)
            assert "Looking." in told
            assert not [one for one in first if one in told]
        fake.say("Still a heron.")
        async with agent_on(tmp_path, looking(), fake) as (agent, _):
            again = await agent.ask("and now?", thread=done.thread)
            assert again.outcome is not None
            assert again.outcome.text == "Still a heron.", again.outcome
        assert signed(fake)[: len(first)] == first
        assert [chat.status for chat in fake.chats] == [200, 200, 200]


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
@pytest.mark.parametrize("changed", ["llm_text", "tool_calls"])
async def test_where_a_stage_changed_the_message_the_turn_goes_on_without(
    tmp_path: Path, wire: str, changed: str
) -> None:
    host = looking()

    async def rewrite(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        if not fields["tool_calls"]:
            return None
        if changed == "llm_text":
            return {"llm_text": "Rewritten."}
        return {"tool_calls": [{**call, "arguments": {"at": "elsewhere"}} for call in fields["tool_calls"]]}

    host.stage("post_action", rewrite)
    async with open_fake(wire) as fake, agent_on(tmp_path, host, fake) as (agent, _):
        fake.call_tool("look", {"at": "here"}, say="Looking.", think=THOUGHT, then="A heron.")
        done = await agent.ask("what is there?")
        assert done.outcome is not None
        assert done.outcome.text == "A heron.", done.outcome
        assert signed(fake) == ([] if wire == "anthropic" else ["skip_thought_signature_validator"])


async def test_a_secret_thought_is_stored_nowhere_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with open_fake("anthropic") as fake, agent_on(tmp_path, looking(), fake) as (agent, _):
        fake.call_tool("look", {}, think=f"the key is {SECRET}", then="A heron.")
        done = await agent.ask("what is there?")
        assert done.outcome is not None
        assert done.outcome.text == "A heron.", done.outcome
        rows = await agent.store.read(lambda tx: tx.all("SELECT text, data, opaque FROM events"))
        assert SECRET not in str(rows)
        assert signed(fake) == []


async def test_what_before_output_changes_loses_it_and_what_it_leaves_keeps_it(tmp_path: Path) -> None:
    host = FakeHost()

    async def scrub(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"final_text": str(fields["final_text"]).replace("77881", "[removed]")}

    host.stage("before_output", scrub)
    async with open_fake("gemini") as fake, agent_on(tmp_path, host, fake) as (agent, _):
        fake.say("The code is 77881.", think=THOUGHT)
        fake.say("No code.", think=THOUGHT)
        for text in ("one", "two"):
            await agent.ask(text)
        rows = await agent.store.read(
            lambda tx: tx.all("SELECT text, opaque <> '' FROM events WHERE kind = 'assistant' ORDER BY seq")
        )
        assert rows == [("The code is [removed].", 0), ("No code.", 1)]


def every_way(names: list[str]) -> list[str]:
    """A walk that goes from each name to each other one (Hierholzer's)."""
    left = {name: [other for other in names if other != name] for name in names}
    path, walk = [names[0]], list[str]()
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            walk.append(path.pop())
    return walk[::-1]


def test_the_walk_goes_every_way() -> None:
    walk = every_way(list(WIRES))
    assert set(itertools.pairwise(walk)) == set(itertools.permutations(WIRES, 2))


async def test_a_conversation_goes_from_every_source_to_every_other(tmp_path: Path) -> None:
    """With tools and thoughts, through the store, against servers that refuse what is not right."""
    async with AsyncExitStack() as stack:
        fakes = {wire: await stack.enter_async_context(open_fake(wire)) for wire in WIRES}
        agent, sources = await stack.enter_async_context(agent_on(tmp_path, looking(), *fakes.values()))
        thread = ""
        for number, wire in enumerate(every_way(list(WIRES))):
            await sources.use(wire)
            fakes[wire].call_tool("look", {}, say="Looking.", think=f"thought {number}", then=f"Answer {number}.")
            done = await agent.ask(f"Question {number}?", thread=thread)
            thread = done.thread
            assert done.outcome is not None
            assert done.outcome.text == f"Answer {number}.", (wire, done.outcome)
        assert not [chat.error for fake in fakes.values() for chat in fake.chats if chat.status != 200]
