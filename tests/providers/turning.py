"""Whole turns over a wire: the real loop, store and adapter, with plugins that are functions of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from homed.memory.records import Input, InputState
from homed.providers.base import Provider, Source
from homed.providers.fallback import Policy
from tests.kit.builders import Agent, FakeHost, FakeModel, FakeSettings, Setup, running_agent
from tests.providers.stage import Case

SOON = Policy(base=0.001, ceiling=0.01)
"""Waits that nobody notices."""


class Providers(FakeModel):
    """The sources of an agent: real providers, one of them in use."""

    def __init__(self, *providers: Provider) -> None:
        super().__init__()
        self.all = list(providers)
        self.used = 0

    @property
    def source(self) -> Source:
        return self.all[self.used].source

    def list(self) -> Sequence[Source]:
        return [provider.source for provider in self.all]

    def current(self) -> Source | None:
        return self.source

    def provider(self, name: str | None = None) -> Provider:
        if name is None:
            return self.all[self.used]
        return next(provider for provider in self.all if provider.source.name == name)

    def use(self, name: str) -> None:
        """Answer with this one from now on."""
        self.used = next(n for n, provider in enumerate(self.all) if provider.source.name == name)


@asynccontextmanager
async def talking(
    case: Case, *, tools: Callable[[FakeHost], None] | None = None, others: Sequence[Provider] = (), **more: Any
) -> AsyncIterator[Agent]:
    """An agent whose model is the case's wire; a second one on the same folder is a restart.

    ``settings``, ``host``, ``policy`` and ``builtins`` as in ``Setup``; the rest are changes of the source.
    """
    host = more.pop("host", None) or FakeHost()
    if tools:
        tools(host)
    given = {"policy": SOON} | {name: more.pop(name) for name in ("policy", "builtins") if name in more}
    settings = FakeSettings(**more.pop("settings", {}))
    setup = Setup(model=Providers(case.guarded(**more)[0], *others), host=host, settings=settings, **given)
    async with running_agent(case.folder, setup) as agent:
        yield agent


async def answered(agent: Agent, text: str, **more: Any) -> Input:
    """A message that must be answered."""
    done = await agent.ask(text, **more)
    assert done.state is InputState.ANSWERED, done
    return done
