"""Where scenarios are played: one loop with real sockets, an HTTP client and the children of Lua adapters, for a whole
test session, so that a scenario costs what it does and not what it takes to get there.
"""

from __future__ import annotations

import tempfile
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import outcome
import trio

from homed.agent.model import Gatherer, Said
from homed.config.environment import child_environment
from homed.net import open_http
from homed.providers.adapter import Adapter
from homed.providers.adapters import native
from homed.providers.base import (
    Assistant,
    ChatRequest,
    Message,
    Part,
    Provider,
    ProviderError,
    Retrying,
    Source,
    ToolSpec,
    User,
)
from homed.providers.guarded import Guarded, GuardPorts
from homed.providers.http import HttpPorts, HttpProvider, Limits
from homed.providers.lua.scripts import LuaPorts, Scripts
from homed.providers.retry import RetryPolicy
from homed.providers.shaping import said_by
from tests.kit.fake_server import FakeServer, open_fake
from tests.providers.judge import judge
from tests.providers.reading import Reader, reader
from tests.providers.wires import LUA, NATIVE, WIRES, Wired

PATIENCE = 60.0
"""Seconds that a scenario may take before it counts as hung."""

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
PLAIN = ToolSpec("now", "Tells the time.", {"type": "object", "properties": {}})


@dataclass
class Heard:
    """What came of one question: what was said, the parts in order, and the failure if there was one."""

    said: Said
    parts: list[Part]
    error: ProviderError | None = None
    source: Source | None = None

    @property
    def text(self) -> str:
        return self.said.text

    @property
    def calls(self) -> list[tuple[str, object]]:
        """Name and arguments of each call; None where they cannot be decoded."""
        return [(call.name, None if call.arguments is None else dict(call.arguments)) for call in self.said.calls]

    @property
    def ids(self) -> list[str]:
        return [call.id for call in self.said.calls]

    @property
    def retries(self) -> list[Retrying]:
        return [part for part in self.parts if isinstance(part, Retrying)]

    @property
    def failure(self) -> ProviderError:
        """The failure that there must have been."""
        assert self.error is not None, f"no failure, but {self.said}"
        return self.error

    @property
    def message(self) -> Assistant:
        """As it stands in the history from now on."""
        said = self.said
        origin = said_by(self.source) if self.source else ""
        return Assistant(said.text, said.calls, said.reasoning, said.opaque, origin)


@dataclass
class Case:
    """One scenario on one wire and path."""

    wired: Wired
    path: str
    fake: FakeServer
    stage: Stage
    folder: Path

    @property
    def wire(self) -> str:
        """Its name."""
        return self.wired.name

    @property
    def sent(self) -> Reader:
        """The last request as it reached the server, in words that are the same for every wire."""
        return reader(self.wire, self.fake.chats[-1].body, self.fake.chats[-1].headers)

    def source(self, **changes: Any) -> Source:
        """A source of this wire on its fake server; ``options`` are added to the wire's own."""
        options = {**self.wired.quirks(), **changes.pop("options", {})}
        vision = "vision" not in self.wired.lacks
        made = Source(
            self.wire, self.fake.url, self.fake.model, self.wired.adapter_of(self.path), vision=vision, options=options
        )
        return replace(made, **changes)

    def provider(
        self, *, key: str | None = None, limits: Limits | None = None, once: bool = False, **changes: Any
    ) -> HttpProvider:
        """That source ready to be asked, with waits so short that nobody notices them; ``once``: without a second try
        of its own, as within a turn, where the loop sees to that."""
        policy = RetryPolicy(attempts=1 if once else 2, base=0.001, ceiling=0.002)
        given = self.fake.key if key is None else key
        return self.stage.provider(self.source(**changes), given, limits or Limits(), policy)

    def guarded(self, **changes: Any) -> tuple[Guarded, list[int]]:
        """The source as homed asks it, learning from refusals; and the windows it learnt, for others to see."""
        learnt: list[int] = []

        async def learn(window: int) -> None:
            await trio.lowlevel.checkpoint()
            learnt.append(window)

        def make(source: Source) -> HttpProvider:
            once = RetryPolicy(attempts=1)
            return self.stage.provider(source, self.fake.key, Limits(), once)

        ports = GuardPorts(make, lambda: learnt[-1] if learnt else 0, learn)
        return Guarded(self.source(**changes), ports), learnt

    async def ask(self, *messages: Message | str, tools: Sequence[ToolSpec] = (), **changes: Any) -> Heard:
        """Ask once, and hear it out; a failure is in the answer."""
        given = tuple(User(m) if isinstance(m, str) else m for m in messages or ("hi",))
        wanted = {k: changes.pop(k) for k in ("max_tokens", "temperature") if k in changes}
        return await hear(self.provider(**changes), ChatRequest(given, tuple(tools), **wanted))

    async def good(self, *messages: Message | str, tools: Sequence[ToolSpec] = (), **changes: Any) -> Heard:
        """Ask once; a failure is one of the test."""
        heard = await self.ask(*messages, tools=tools, **changes)
        if heard.error is not None:
            raise AssertionError(f"{heard.error.message}\n{self.fake.chats[-1:]}") from heard.error
        return heard

    def another(self, wire: str, fake: FakeServer) -> Case:
        """The same stage with another wire, spoken natively."""
        return Case(WIRES[wire], NATIVE, fake, self.stage, self.folder)


async def hear(provider: Provider, request: ChatRequest) -> Heard:
    """One answer as the turn loop gathers it."""
    gatherer, parts, failed = Gatherer(), list[Part](), None
    try:
        async with provider.stream(request) as stream:
            async for part in stream:
                parts.append(part)
                gatherer.take(part)
    except ProviderError as error:
        failed = error
    return Heard(gatherer.said(), parts, failed, provider.source)


class Stage:
    """The loop's inhabitants; made by ``open_stage``."""

    def __init__(self, http: httpx2.AsyncClient, scripts: Scripts, token: trio.lowlevel.TrioToken) -> None:
        self.http = http
        self._scripts = scripts
        self._token = token

    def play(self, wired: Wired, path: str, run: Callable[[Case], Awaitable[None]], folder: Path) -> None:
        """Play a scenario to its end, from another thread; raises what it raises.

        Every request that the server took must be one that the provider's own SDK could have sent.
        """

        async def whole() -> None:
            try:
                with trio.fail_after(PATIENCE):
                    async with open_fake(wired.name) as fake:
                        await run(Case(wired, path, fake, self, folder))
                        for chat in fake.chats:
                            if chat.status == 200:
                                judge(wired.name, chat.body)
            except BaseExceptionGroup as group:  # of the server's nursery; the scenario's own failure is what counts
                raise _alone(group) from None

        trio.from_thread.run(whole, trio_token=self._token)

    def bodies(self, wired: Wired, source: Source, requests: Sequence[ChatRequest]) -> list[bytes]:
        """Each request as the wire's script would send it, from another thread."""

        async def whole() -> list[bytes]:
            made: list[bytes] = []
            for request in requests:
                asked = await self._script(wired).open(source, "k", request)
                asked.decoder.close()
                made.append(asked.body)
            return made

        return trio.from_thread.run(whole, trio_token=self._token)

    def read(self, wired: Wired, chunks: Sequence[bytes]) -> Gatherer:
        """What the wire's script makes of an answer in these pieces, from another thread."""

        async def whole() -> Gatherer:
            source = Source(wired.name, "http://127.0.0.1:1", "fake-1", wired.adapter_of(LUA), options=wired.quirks())
            asked = await self._script(wired).open(source, "k", ChatRequest((User("hi"),)))
            gatherer, out = Gatherer(), deque[Part]()
            for chunk in chunks:
                await asked.decoder.feed(chunk, out)
            await asked.decoder.end(out)
            assert asked.decoder.finished
            asked.decoder.close()
            for part in out:
                gatherer.take(part)
            return gatherer

        return trio.from_thread.run(whole, trio_token=self._token)

    def _script(self, wired: Wired) -> Adapter:
        ports = HttpPorts(self.http, lambda: "k")
        return self._scripts.adapter(wired.adapter_of(LUA), ports)

    def provider(self, source: Source, key: str, limits: Limits, policy: RetryPolicy) -> HttpProvider:
        """A source ready to be asked."""
        ports = HttpPorts(self.http, lambda: key, limits=lambda: limits, jitter=lambda: 0.0, policy=policy)
        if source.adapter.startswith("lua:"):
            return self._scripts.provider(source, ports)
        return HttpProvider(source, native(source.adapter), ports)


def _alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one failure in a group, or the group where there are several."""
    if len(group.exceptions) != 1:
        return group
    inner = group.exceptions[0]
    return _alone(inner) if isinstance(inner, BaseExceptionGroup) else inner


@contextmanager
def open_stage() -> Iterator[Stage]:
    """A stage in a thread of its own."""
    up = threading.Event()
    held: dict[str, Any] = {}

    async def main() -> None:
        with tempfile.TemporaryDirectory() as kept:
            async with open_http() as http, trio.open_nursery() as nursery:
                ports = LuaPorts(Path(kept) / "adapters", Path(kept) / "run", child_environment(), "testwires", 300.0)
                stop = trio.Event()
                held["stage"] = Stage(http, Scripts(ports, nursery.start_soon), trio.lowlevel.current_trio_token())
                held["stop"] = stop
                up.set()
                await stop.wait()
                nursery.cancel_scope.cancel()

    def run() -> None:
        held["result"] = outcome.capture(trio.run, main)
        up.set()

    thread = threading.Thread(target=run, name="stage", daemon=True)
    thread.start()
    up.wait()
    stage = held.get("stage")
    if stage is None:
        held["result"].unwrap()
        raise AssertionError("the stage ended at once")
    try:
        yield stage
    finally:
        trio.from_thread.run_sync(held["stop"].set, trio_token=stage._token)
        thread.join(10)
