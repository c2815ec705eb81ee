"""A conversation goes on with another source: what one wire made, every other takes."""

from __future__ import annotations

import re
from typing import Any

from homed.providers.base import Assistant, Message, ToolResult, User
from tests.kit.fake_script import Call
from tests.kit.fake_server import open_fake
from tests.providers.scenario import Book
from tests.providers.scenarios.pictures import PNG
from tests.providers.stage import LOOK, PLAIN, Case
from tests.providers.wires import WIRES

BOOK = Book("Switching")

ROUNDS = (
    (Call("look", {"at": "a"}, "former-1"), Call("now", {}, "former-2")),
    (Call("look", {"at": "北"}, "former-3"),),
)


async def _past(case: Case, wire: str) -> list[Message]:
    """Two turns as they were with another wire: pictures, thoughts, parallel calls, and the second in mid-turn."""
    async with open_fake(wire) as fake:
        other = case.another(wire, fake)
        sees = "vision" not in case.wired.lacks and "vision" not in other.wired.lacks
        if sees:
            fake.insist(vision=True)
        asked: dict[str, Any] = {"tools": (LOOK, PLAIN), "name": f"former-{wire}"}
        history: list[Message] = [User("what is this?", (PNG,) if sees else ())]
        for n, calls in enumerate(ROUNDS):
            fake.call_tools(*calls, say=f"Looking {n}.", think=f"thought {n}", redacted="hidden")
            heard = await other.good(*history, **asked)
            history.append(heard.message)
            history += [ToolResult(i, name, f"seen {i}") for i, (name, _) in zip(heard.ids, heard.calls, strict=True)]
        fake.say("That was it.", think="done thinking")
        history.append((await other.good(*history, **asked)).message)
        fake.call_tools(Call("look", {"at": "more"}, "former-4"), think="once more")
        heard = await other.good(*history, User("and now?"), **asked)
        return [*history, User("and now?"), heard.message, ToolResult(heard.ids[0], "look", "seen more")]


async def _goes_on(case: Case, wire: str) -> None:
    history = await _past(case, wire)
    case.fake.insist(vision="vision" not in case.wired.lacks)
    case.fake.call_tools(Call("look", {"at": "here"}), think="my own thought")
    heard = await case.good(*history, tools=(LOOK, PLAIN))
    assert len(case.sent.results) == len(case.sent.calls) == 4
    opaque = [message.opaque for message in history if isinstance(message, Assistant) and message.opaque]
    assert bool(opaque) == (wire in ("anthropic", "gemini"))
    for mark in re.findall(r"[A-Za-z0-9+/]{43}=", "".join(one.data for one in opaque)):
        assert mark not in str(case.sent.body), "what another source signed stays away"
    history += [heard.message, ToolResult(heard.ids[0], "look", "seen here")]
    case.fake.say("I went on.")
    assert (await case.good(*history, tools=(LOOK, PLAIN))).text == "I went on."
    assert [name for name, _ in case.sent.calls] == ["look", "now", "look", "look", "look"]
    assert ("assistant", "That was it.") in case.sent.said


async def from_openai(case: Case) -> None:
    """A conversation with OpenAI, in mid-turn, goes on here."""
    await _goes_on(case, "openai")


async def from_anthropic(case: Case) -> None:
    """A conversation with Anthropic, in mid-turn, goes on here; its signed thoughts stay away."""
    await _goes_on(case, "anthropic")


async def from_gemini(case: Case) -> None:
    """A conversation with Gemini, in mid-turn, goes on here; its signatures stay away."""
    await _goes_on(case, "gemini")


async def from_ollama(case: Case) -> None:
    """A conversation with Ollama, in mid-turn, goes on here."""
    await _goes_on(case, "ollama")


async def from_deepseek(case: Case) -> None:
    """A conversation with DeepSeek, in mid-turn, goes on here; its thoughts stay away."""
    await _goes_on(case, "deepseek")


for _run in (from_openai, from_anthropic, from_gemini, from_ollama, from_deepseek):
    BOOK.scenario("A12", "A13")(_run)
assert len(BOOK.scenarios) == len(WIRES)
