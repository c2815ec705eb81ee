"""An agent whose agents answer from scripts of their own, each by its name; with the tools by which they are made."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio
import trio.testing

from homed.agent.ports import BuiltinTool
from homed.builtin.children import children_tools
from homed.builtin.ports import MemoryPorts
from homed.builtin.tools import builtin_tools
from homed.memory import facts
from homed.memory.facts import NewFact
from homed.providers.base import ChatRequest, Part, System, ToolResult, User
from homed.retrieval import index
from homed.store.db import Store
from homed.store.rows import Tx
from tests.kit.builders import Agent, Answer, FakeHost, FakeModel, Setup, calls, running_agent, says

MAIN = ""

AT = 1_760_000_000.0


class Cast(FakeModel):
    """``scripts``: by the agent's name; ``MAIN`` for whoever talks to people."""

    def __init__(self, scripts: Mapping[str, Sequence[Answer]], **more: Any) -> None:
        super().__init__(**more)
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.asked: dict[str, list[ChatRequest]] = {}
        self.hangs: dict[str, trio.Event] = {}
        """By name: set once an answer of it has come to where it hangs."""

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        name = whose(request, self.scripts)
        self.requests.append(request)
        self.asked.setdefault(name, []).append(request)
        script = self.scripts.get(name, [])
        answer = script.pop(0) if script else says("ok")
        self.open += 1
        try:
            yield self._told(name, answer)
        finally:
            self.open -= 1

    async def _told(self, name: str, answer: Answer) -> AsyncIterator[Part]:
        if answer.hangs_at is not None:
            self.hanging = self.hangs.setdefault(name, trio.Event())
        async for part in self._parts(answer):
            yield part

    def hung(self, name: str) -> trio.Event:
        return self.hangs.setdefault(name, trio.Event())

    def results(self, name: str = MAIN, at: int = -1) -> list[str]:
        """The tool results in a request of this one."""
        return [m.text for m in self.asked[name][at].messages if isinstance(m, ToolResult)]

    def heard(self, name: str = MAIN, at: int = -1) -> list[str]:
        """The messages in it that are no answers."""
        return [m.text for m in self.asked[name][at].messages if isinstance(m, User)]

    def tools(self, name: str, at: int = -1) -> set[str]:
        """The tools it was offered."""
        return {spec.name for spec in self.asked[name][at].tools}


def whose(request: ChatRequest, names: dict[str, Any]) -> str:
    system = next(m.text for m in request.messages if isinstance(m, System))
    return next((n for n in names if n and f"Your name is {n}." in system), MAIN)


def spawn(task: str, name: str = "helper", **more: Any) -> tuple[str, str]:
    """A call that makes an agent for one thing."""
    return "spawn_child", json.dumps({"task": task, "name": name, **more})


def resident(action: str, **more: Any) -> tuple[str, str]:
    """A call about those that stay."""
    return "resident_agents", json.dumps({"action": action, **more})


def one(call: tuple[str, str]) -> Answer:
    """An answer that makes this call alone."""
    return calls(call)


@asynccontextmanager
async def agents(
    folder: Path, scripts: Mapping[str, Sequence[Answer]], *, host: FakeHost | None = None, **more: Any
) -> AsyncIterator[tuple[Agent, Cast]]:
    """An agent with all tools of the kernel, on a store in ``folder``; ``more`` as in ``Setup``, and of the model."""
    of_model = {key: more.pop(key) for key in ("context_window", "tools", "vision") if key in more}
    cast, held = Cast(scripts, **of_model), list[Any]()

    def tools(store: Store, fake: FakeHost) -> tuple[BuiltinTool, ...]:
        memory = MemoryPorts(store=store)
        return (*builtin_tools(store, memory=memory), *children_tools(lambda: held[0], memory))

    given = replace(Setup(model=cast, host=host or FakeHost(), builtins=tools), **more)
    async with running_agent(folder, given) as agent:
        held.append(agent.conversations)
        yield agent, cast


async def quiet(agent: Agent, limit: float = 60.0) -> None:
    """Wait until nothing runs and nothing waits."""
    with trio.fail_after(limit):
        while True:
            await agent.conversations.wait_idle()
            await trio.testing.wait_all_tasks_blocked(0.01)
            if not any(agent.conversations.counts.values()):
                return


def making(*names: str, **more: Any) -> list[Answer]:
    """A turn that makes these."""
    return [*(one(resident("create", name=name, brief="Whatever it is told.", **more)) for name in names), says("made")]


def sending(name: str, text: str = "go") -> list[Answer]:
    return [one(resident("send", agent=name, text=text)), says("sent")]


async def settled(agent: Agent, text: str = "do", **more: Any) -> str:
    """Ask, and wait until nothing works any more; the conversation."""
    done = await agent.ask(text, **more)
    await quiet(agent)
    return done.thread


async def know(agent: Agent, scope: str, text: str, subject: str, value: str) -> None:
    """A fact of a scope."""

    def write(tx: Tx) -> None:
        facts.put(tx, NewFact(scope, text, subject=subject, relation="likes", object=value, origin="manual"), at=AT)
        index.catch_up(tx)

    await agent.store.write(write)


async def child_of(agent: Agent, name: str) -> tuple[str, str]:
    """Its id and its conversation."""
    row = await agent.store.read(lambda tx: tx.one("SELECT id, thread FROM children WHERE name = ?", (name,)))
    assert row is not None
    return str(row[0]), str(row[1])


async def run(agent: Agent, cast: Cast, call: tuple[str, str], thread: str = "") -> Any:
    """What one call of the main agent gives."""
    cast.scripts[MAIN] = [one(call), says("ok")]
    await agent.ask("do it", thread=thread)
    text = cast.results()[-1]
    return json.loads(text) if text.startswith("{") else text


def told(agent: Agent) -> list[dict[str, Any]]:
    """The interrupts by which agents were told of."""
    return [data for data in agent.of("raw_input") if str(data.get("mark", "")).startswith("child:")]
