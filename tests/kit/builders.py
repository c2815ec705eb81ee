"""Builds an agent with everything round it faked, but the store, which is the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from homed.agent.conversations import Conversations, Message
from homed.agent.media import Media
from homed.agent.ports import AgentPorts, BuiltinTool
from homed.agent.uploads import Uploads
from homed.clock import WallClock, system_wall_clock
from homed.config.definitions import CORE
from homed.errors import HomedError, PluginFailed, Unavailable
from homed.events import Bus, Notice
from homed.failpoints import Failpoints, NoFailpoints
from homed.host.registry import OutputEntry, StageEntry, ToolEntry
from homed.host.segment import Segment
from homed.host.states import PluginStatus, Trust
from homed.identity.permissions import Rule
from homed.identity.roles import Identity, Role
from homed.identity.tokens import CallTokens
from homed.memory.records import Input
from homed.providers.base import (
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    Part,
    Provider,
    ProviderError,
    ReasoningDelta,
    Source,
    Usage,
    UsagePart,
)
from homed.providers.chain import Chain
from homed.providers.fallback import Policy
from homed.redact import Redactor
from homed.retrieval.rank import Ranker
from homed.retrieval.without import words_only
from homed.spend.ports import NoSpend, SpendPort
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles

OWNER = Identity("webui:owner", "webui", "Owner", Role.OWNER, "owner")
TRUSTED = Identity("chat:anna", "chat", "Anna", Role.TRUSTED, "trusted:chat:anna")
GUEST = Identity("chat:guest", "chat", "Guest", Role.GUEST, "guest:chat:guest")

SETTINGS: dict[str, Any] = {
    "core.agent.max_tool_turns": 10,
    "core.agent.repeat_calls": 3,
    "core.agent.max_context_size": 30,
    "core.agent.protected_events": 10,
    "core.agent.tool_timeout": 60.0,
    "core.agent.result_limit": 32_000,
    "core.agent.approval_timeout": 300.0,
    "core.agent.persona": "",
    "core.agent.stage_timeout": 10.0,
    "core.memory.recall_percent": 0,
    "core.memory.recall_deadline": 1.2,
    "core.memory.inject_min_score": 0.12,
}


class FakeSettings:
    """A dict with the kernel's names."""

    def __init__(self, **changed: Any) -> None:
        self.values: dict[str, Any] = {one.key: one.default for one in CORE} | SETTINGS | changed

    def int(self, key: str) -> int:
        return int(self.values[key])

    def float(self, key: str) -> float:
        return float(self.values[key])

    def bool(self, key: str) -> bool:
        return bool(self.values[key])

    def str(self, key: str) -> str:
        return str(self.values[key])


@dataclass
class Answer:
    """One scripted model answer."""

    parts: Sequence[Part] = ()
    fails: ProviderError | None = None
    hangs_at: int | None = None


def says(*pieces: str, reasoning: str = "") -> Answer:
    """An answer in text, in these pieces."""
    thought = [ReasoningDelta(reasoning)] if reasoning else []
    return Answer([*thought, *map(ContentDelta, pieces), UsagePart(Usage(10, len(pieces), 2)), Done("stop")])


def calls(*wanted: tuple[str, str], text: str = "", ids: Sequence[str] = ()) -> Answer:
    """An answer that calls tools: (name, arguments as JSON text) each."""
    parts: list[Part] = [ContentDelta(text)] if text else []
    for index, (name, arguments) in enumerate(wanted):
        id_ = ids[index] if ids else f"c{index}"
        parts.append(CallDelta(index, id_, name))
        parts.append(CallDelta(index, arguments=arguments))
    return Answer([*parts, UsagePart(Usage(10, 1, 0)), Done("tool_calls")])


def fails(error: ProviderError, *before: str) -> Answer:
    """A stream that breaks after these pieces."""
    return Answer(list(map(ContentDelta, before)), fails=error)


def hangs(*before: str) -> Answer:
    """A stream that says these pieces and then nothing more."""
    return Answer(list(map(ContentDelta, before)), hangs_at=len(before))


class FakeModel:
    """A provider and the list of sources in one; answers from a script, keeps the requests."""

    def __init__(
        self,
        *script: Answer,
        pace: float = 0.0,
        context_window: int = 32_768,
        tools: bool = True,
        vision: bool = False,
    ) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []
        self.configured = True
        self.open = 0
        self.hanging = trio.Event()
        """Set once an answer has come to where it hangs."""
        self._pace = pace
        self._source = Source(
            "fake", "http://127.0.0.1", "fake-1", context_window=context_window, tools=tools, vision=vision
        )

    @property
    def source(self) -> Source:
        return self._source

    def list(self) -> Sequence[Source]:
        return [self._source] if self.configured else []

    def current(self) -> Source | None:
        return self._source if self.configured else None

    def provider(self, name: str | None = None) -> Provider:
        if not self.configured:
            raise Unavailable("No model is configured.", hint="Add one: homed models add …, or the page's Models.")
        return self

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        self.requests.append(request)
        answer = self.script.pop(0) if self.script else says("ok")
        self.open += 1
        try:
            yield self._parts(answer)
        finally:
            self.open -= 1

    async def _parts(self, answer: Answer) -> AsyncIterator[Part]:
        for at, part in enumerate(answer.parts):
            if answer.hangs_at == at:
                break
            await trio.sleep(self._pace)
            yield part
        if answer.hangs_at is not None:
            self.hanging.set()
            await trio.sleep_forever()
        if answer.fails is not None:
            raise answer.fails


Handler = Callable[[Mapping[str, Any]], Awaitable[object]]


@dataclass
class FakeRegistry:
    """What the fake plugins have registered."""

    tool_entries: dict[str, ToolEntry] = field(default_factory=dict)
    stage_entries: list[StageEntry] = field(default_factory=list)
    output_entries: dict[str, OutputEntry] = field(default_factory=dict)

    def tools(self) -> Mapping[str, ToolEntry]:
        return dict(self.tool_entries)

    def stages(self, stage: str) -> Sequence[StageEntry]:
        return [entry for entry in self.stage_entries if entry.stage == stage]

    def outputs(self) -> Mapping[str, OutputEntry]:
        return dict(self.output_entries)


class FakeHost:
    """Plugins as functions in this process."""

    def __init__(self) -> None:
        self.registry = FakeRegistry()
        self.segment = Segment()
        """Read by nobody, unless a test says ``read_by``."""
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self._tools: dict[str, Handler] = {}
        self._stages: dict[tuple[str, str], Handler] = {}
        self._outputs: dict[str, Handler] = {}

    def tool(self, name: str, run: Handler, *, plugin: str = "demo", **changed: Any) -> None:
        """Register a tool; ``run`` gets its arguments and returns the content, or raises."""
        entry = ToolEntry(
            name, plugin, f"The tool {name}.", {"type": "object", "properties": {}}, "read", guest=False,
            parallel_safe=False, timeout=0.0, confirm=False, no_memory=False, untrusted=False, trust=Trust.PACKAGED,
        )  # fmt: skip
        self.registry.tool_entries[name] = replace(entry, **changed)
        self._tools[name] = run

    def stage(self, stage: str, run: Handler, *, plugin: str = "hooks", **changed: Any) -> None:
        """Register a stage handler; ``run`` gets the fields and returns the changed ones, or None."""
        entry = StageEntry(plugin, stage, "global", 0, "open")
        self.registry.stage_entries.append(replace(entry, **changed))
        self._stages[plugin, stage] = run

    def output(
        self, name: str, run: Handler, *, plugin: str = "chat", caps: tuple[str, ...] = ("text",), limit: int = 0
    ) -> None:
        """Register an output; ``run`` gets ``{"content": …}`` and returns the status."""
        self.registry.output_entries[name] = OutputEntry(name, plugin, caps, "A chat.", "", limit)
        self._outputs[name] = run

    def statuses(self) -> Sequence[PluginStatus]:
        return []

    async def wait_ready(self, name: str) -> None:
        await trio.lowlevel.checkpoint()
        raise Unavailable(f"The plugin {name} is stopped.")

    async def call(self, plugin: str, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        given: dict[str, Any] = dict(params)
        self.calls.append((plugin, method, given))
        try:
            if method == "stage.invoke":
                return {"changes": await self._stages[plugin, given["stage"]](given.get("fields", given["seq"])) or {}}
            if method == "output.invoke":
                return {"status": await self._outputs[given["output"]](given)}
            return {"content": await self._tools[given["tool"]](given["args"]), "is_error": False}
        except HomedError:
            raise
        except Exception as error:
            if method == "tool.invoke":
                return {"content": f"{error}", "is_error": True}
            raise PluginFailed(f"{type(error).__name__}: {error}") from error

    def invoked(self, method: str = "tool.invoke") -> list[dict[str, Any]]:
        """Parameters of the calls of one method, in order."""
        return [params for _, name, params in self.calls if name == method]


class FakeRules:
    """Rules in a list."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    async def list_(self) -> Sequence[Rule]:
        await trio.lowlevel.checkpoint()
        return list(self.rules)

    async def add(self, rule: Rule) -> Rule:
        await trio.lowlevel.checkpoint()
        self.rules.append(rule)
        return rule


@dataclass
class Agent:
    """A running agent and everything round it."""

    conversations: Conversations
    store: Store
    bus: Bus
    model: FakeModel
    host: FakeHost
    rules: FakeRules
    settings: FakeSettings
    tokens: CallTokens
    notices: list[Notice]
    nursery: trio.Nursery
    uploads: Uploads
    ports: AgentPorts

    @property
    def chain(self) -> Chain:
        """Who is asked, and who is in trouble."""
        return self.ports.chain

    async def ask(self, text: str, *, who: Identity = OWNER, thread: str = "", **more: Any) -> Input:
        """Send a message and wait for its outcome."""
        receipt = await self.conversations.inject(who, message(text, who, thread=thread, **more))
        return await self.conversations.wait(who, receipt.input.id)

    async def history(self, thread: str, who: Identity = OWNER) -> dict[str, Any]:
        """The thread as a watcher sees it."""
        return await self.conversations.archive.history(who, thread)

    def of(self, type_: str) -> list[dict[str, Any]]:
        """Data of the notices of one type so far."""
        return [dict(notice.data) for notice in self.notices if notice.type == type_]

    async def until(self, test: Callable[[], object], limit: float = 60.0) -> None:
        """Wait until ``test`` holds, looking again after every notice."""
        with trio.fail_after(limit), self.bus.subscribe() as news:
            while not test():
                await anext(aiter(news))


def message(text: str, who: Identity = OWNER, **more: Any) -> Message:
    """A message in the peer's own channel."""
    return Message(text=text, channel=who.plugin, **{"can_ask": False, **more})


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What an agent is built from."""

    model: FakeModel = field(default_factory=FakeModel)
    host: FakeHost = field(default_factory=FakeHost)
    settings: FakeSettings = field(default_factory=FakeSettings)
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    builtins: Callable[[Store, FakeHost], tuple[BuiltinTool, ...]] = lambda store, host: ()
    ranker: Ranker = field(default_factory=words_only)
    stored: Callable[[], object] = lambda: None
    wall: WallClock = system_wall_clock
    policy: Policy = field(default_factory=Policy)
    """How long is waited for a source that is busy."""
    spend: Callable[[Store], SpendPort] = lambda store: NoSpend()


@asynccontextmanager
async def running_agent(folder: Path, setup: Setup | None = None) -> AsyncIterator[Agent]:
    """An agent at work on a store in ``folder``; a second one on the same folder is a restart."""
    given = setup or Setup()
    async with open_store(folder / "homed.db", failpoints=given.failpoints) as store, trio.open_nursery() as nursery:
        bus, rules, tokens = Bus(), FakeRules(), CallTokens()
        files, redactor = MediaFiles(folder / "media"), Redactor()
        uploads = Uploads(store, files, redactor, failpoints=given.failpoints)
        notices: list[Notice] = []
        ports = AgentPorts(
            store=store,
            bus=bus,
            settings=given.settings,
            host=given.host,
            sources=given.model,
            rules=rules,
            tokens=tokens,
            redactor=redactor,
            wall=given.wall,
            media=Media(store, files, redactor),
            failpoints=given.failpoints,
            builtins=given.builtins(store, given.host),
            ranker=given.ranker,
            stored=given.stored,
            spend=given.spend(store),
            chain=Chain(given.model, policy=given.policy),
        )
        post = bus.post

        def recording(type_: str, **more: Any) -> Notice:
            notice = post(type_, **more)
            notices.append(notice)
            return notice

        bus.post = recording  # type: ignore[method-assign]
        conversations = Conversations(ports, uploads)
        await nursery.start(conversations.run)
        yield Agent(
            conversations, store, bus, given.model, given.host, rules, given.settings, tokens, notices, nursery,
            uploads, ports,
        )  # fmt: skip
        nursery.cancel_scope.cancel()
