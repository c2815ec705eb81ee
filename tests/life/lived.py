"""The life lived: through the real agent and the real store, a pass after each turn, a restart each night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any

import trio

from homed.agent.complete import Completion, Question
from homed.agent.uploads import Piece
from homed.builtin.ports import MemoryPorts
from homed.builtin.tools import builtin_tools
from homed.errors import HomedError, PluginFailed
from homed.events import Notice
from homed.failpoints import NoFailpoints
from homed.identity.roles import Identity, Role
from homed.jobs.extract import Extractor
from homed.jobs.job import Job, JobPorts, Later, Outage, Run
from homed.jobs.making import by_rules
from homed.jobs.model import Background, BackgroundPorts
from homed.jobs.passing import PassPorts, passing
from homed.memory import hiding, mutate, passes, stable
from homed.memory.projects import key
from homed.memory.records import Input
from homed.providers.base import Source, Usage
from homed.redact import redact
from homed.store.rows import Tx
from tests.homed.jobs.past import Settings
from tests.kit.builders import OWNER, Agent, FakeHost, FakeModel, Setup, calls, running_agent, says
from tests.life.script import Turn, read

BEGIN = 1_780_000_000.0
DAY, APART, AFTER = 86_400.0, 900.0, 300.0
"""Seconds: between two turns, and from the end of one to its pass."""

GROUP = "group:chat:7"
PEOPLE = {
    "owner": OWNER,
    "anna": Identity("chat:anna", "chat", "Anna", Role.TRUSTED, "trusted:chat:anna"),
    "ben": Identity("chat:ben", "chat", "Ben", Role.GUEST, "guest:chat:ben"),
}
MEMBERS = {
    name: Identity(f"chat:{name}", "chat", name.title(), Role.TRUSTED, GROUP) for name in ("anna", "bob", "marta")
}
CLOUD = Source("cloud", "http://c", "m")


def who_of(turn: Turn) -> Identity:
    """Who speaks, and where."""
    return MEMBERS[turn.who] if turn.thread == "group" else PEOPLE[turn.who]


@dataclass
class Clock:
    """The wall clock."""

    now: float = BEGIN

    def __call__(self) -> float:
        return self.now


@dataclass
class Reader:
    """The model that the pass asks: it finds the turns by what was said in them, and answers as the script has it."""

    turns: list[Turn]
    known: dict[str, str] = field(default_factory=dict)
    """Ids of true statements, by key."""
    asked: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Transcripts in which words of strangers stand."""

    def list(self) -> list[Source]:
        return [CLOUD]

    def current(self) -> Source | None:
        return CLOUD

    async def ask(self, plugin: str, question: Question) -> Completion:
        """One answer."""
        await trio.lowlevel.checkpoint()
        script = question.said[1][1].rpartition("<transcript>")[2]
        self.asked.append(question.said[1][1])
        (turn,) = [turn for turn in self.turns if f": {redact(turn.say)}\n" in script]
        if turn.how == "fails":
            raise PluginFailed("The model said something that cannot be read.")
        again = len(question.said) > 2
        if turn.how == "twice" or (turn.how == "once" and not again):
            return self._said("I am afraid that I cannot put this into JSON.")
        return self._said(turn.answered(self.known))

    def _said(self, text: str) -> Completion:
        return Completion(text, "stop", Usage(), "cloud", "m")


@dataclass
class Life:
    """Everything that came of it.  ``threads``: by name; ``done``: of each turn its input as it ended."""

    folder: Path
    turns: list[Turn] = field(default_factory=read)
    clock: Clock = field(default_factory=Clock)
    threads: dict[tuple[str, str], str] = field(default_factory=dict)
    done: list[Input] = field(default_factory=list)
    written: list[Notice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reader = Reader(self.turns)

    async def live(self) -> None:
        """All of it."""
        for day in sorted({turn.day for turn in self.turns}):
            self.clock.now = max(self.clock.now, BEGIN + day * DAY)
            async with agent_of(self.folder, self.clock) as agent:
                job = self._passing(agent)
                for turn in self.turns:
                    if turn.day == day:
                        await self._one(agent, job, turn)
                self.written += [notice for notice in agent.notices if notice.data.get("what") == "written"]

    async def _one(self, agent: Agent, job: Job, turn: Turn) -> None:
        who = who_of(turn)
        place = (who.scope, turn.thread)
        more: dict[str, Any] = {"thread": self.threads.get(place, "")}
        if turn.project:
            more["project"] = project(turn)
        if turn.file:
            piece = Piece(data=turn.file[1].encode(), name=turn.file[0], last=True)
            more["attachments"] = ((await agent.uploads.receive(who, piece))[0],)
        agent.model.script = [calls((turn.page[0], "{}"))] if turn.page else []
        agent.model.script.append(says(turn.answer))
        shows = turn.page[1] if turn.page else ""

        async def web(_: Mapping[str, Any]) -> object:
            await trio.lowlevel.checkpoint()
            return shows

        agent.host.tool("web", web, untrusted=True)
        done = await agent.ask(turn.say, who=who, **more)
        assert done.outcome is not None
        assert done.outcome.text == turn.answer
        self.threads[place] = done.thread
        self.done.append(done)
        self.clock.now += AFTER
        await _run(agent, job, self.clock)
        await agent.store.write(lambda tx: self._after(tx, turn, who))
        self.clock.now += APART

    def _after(self, tx: Tx, turn: Turn, who: Identity) -> None:
        """Note the ids; and what the person does by hand."""
        for item in turn.true:
            found = tx.value(
                "SELECT id FROM records WHERE scope = ? AND record = 'fact' AND text = ? ORDER BY seq DESC",
                (who.scope, item.text),
            )
            if found:
                self.reader.known[item.key] = str(found)
        for name in turn.hides:
            hiding.hide(tx, stable.find(tx, who.scope, self.reader.known[name]), at=self.clock.now)
        for title, text in turn.writes:
            mutate.note(tx, mutate.Note(who.scope, text, record="capsule", title=title), at=self.clock.now)

    def _passing(self, agent: Agent) -> Job:
        settings = Settings()
        background = Background(
            BackgroundPorts(
                sources=self.reader, completions=self.reader, settings=settings, store=agent.store, wall=self.clock,
                turns=agent.conversations,
            )
        )  # fmt: skip
        return passing(
            PassPorts(
                store=agent.store, settings=settings, wall=self.clock, bus=agent.bus, failpoints=NoFailpoints(),
                reader=Extractor(background, agent.store, settings), rules=by_rules,
            )
        )  # fmt: skip


def project(turn: Turn) -> str:
    """The key of the folder that is worked in."""
    return key(f"/home/marta/{turn.project}") if turn.project else ""


def agent_of(folder: Path, clock: Clock, **more: Any) -> Any:
    """The agent on that folder."""

    def tools(store: Any, _: FakeHost) -> Any:
        return builtin_tools(store, wall=clock, memory=MemoryPorts(store=store, wall=clock))

    return running_agent(folder, Setup(model=FakeModel(), builtins=tools, wall=clock, **more))


async def _run(agent: Agent, job: Job, clock: Clock) -> None:
    """One run of the pass, as the runner would."""
    ports = JobPorts(store=agent.store, wall=clock, zone=lambda: UTC, turns=agent.conversations)
    await agent.store.write(
        lambda tx: tx.execute("INSERT OR IGNORE INTO jobs VALUES (?, 0, 0, 0, '{}')", (passes.JOB,))
    )
    try:
        await job.work(Run(job, ports, {}))
    except (Outage, Later, HomedError):
        raise AssertionError("the pass was cut short") from None
