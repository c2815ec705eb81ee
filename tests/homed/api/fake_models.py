"""The sources of models, as a fake that records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homed.providers.base import Source
from homed.providers.listing import Available
from homed.providers.local.models import Standing
from homed.providers.lua.scripts import Listed


@dataclass(frozen=True)
class FakeTrial:
    ok: bool = True
    latency_ms: float = 5.0
    streaming: bool = True
    tools: bool = False
    error: str = ""
    hint: str = ""
    total_ms: float = 9.0
    reasoning: bool = False
    usage: bool = True
    images: bool | None = None
    notes: tuple[str, ...] = ()


class FakeSources:
    """Sources and their keys in memory."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self.keys: dict[str, str] = {}
        self.standings: dict[str, Standing] = {}
        self.windows: dict[str, int] = {}
        self.asked: list[tuple[Source, str | None]] = []
        self.scripts: Sequence[Listed] = ()
        self.used = ""

    def list(self) -> Sequence[Source]:
        return list(self.sources.values())

    async def adapters(self) -> Sequence[Listed]:
        return self.scripts

    def current(self) -> Source | None:
        return self.sources.get(self.used)

    def has_key(self, name: str) -> bool:
        return name in self.keys

    def standing(self, source: Source) -> Standing:
        return self.standings.get(source.name, Standing())

    async def add(self, source: Source, api_key: str | None) -> Source:
        self.sources[source.name] = source
        if api_key is not None:
            self.keys[source.name] = api_key
        return source

    async def remove(self, name: str) -> None:
        del self.sources[name]
        self.keys.pop(name, None)

    async def use(self, name: str) -> None:
        self.used = name

    def learnt(self, source: Source) -> int:
        return self.windows.get(source.name, 0)

    async def available(self, source: Source, api_key: str | None) -> Sequence[Available]:
        self.asked.append((source, api_key))
        return [Available("m", "Model", 8192, vision=True)]

    async def test(self, name: str) -> FakeTrial:
        return FakeTrial()
