"""What the tests of this room share: scripts in a folder of the test's own, run in a real child."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import trio

from homed.config.environment import child_environment
from homed.net import open_http
from homed.providers.base import Source
from homed.providers.http import HttpPorts, HttpProvider, Limits
from homed.providers.lua.engine import IDLE
from homed.providers.lua.scripts import LuaPorts, Scripts
from homed.providers.retry import RetryPolicy

HELLO = """
function transform_request(request, source)
  return { url = source.base_url .. "/chat/completions", body = { model = source.model, messages = json.array({
    { role = "user", content = request.messages[1].text } }), stream = true } }
end
function transform_response(body, state)
  return openai.response(body, state)
end
function transform_stream_chunk(chunk, state)
  return openai.chunk(chunk, state)
end
"""
"""A script that is complete; tests put their own functions behind it."""


@dataclass
class Lua:
    """The scripts of one data folder and what their sources are made with."""

    scripts: Scripts
    folder: Path
    http: httpx2.AsyncClient

    def write(self, name: str, text: str) -> None:
        """A script of the person's own, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.rename(self.folder / f"{name}.lua")

    def provider(self, source: Source, key: str = "") -> HttpProvider:
        """A source, with waits so short that nobody notices them."""
        ports = HttpPorts(
            self.http, lambda: key, limits=Limits, jitter=lambda: 0.0, policy=RetryPolicy(base=0.001, ceiling=0.002)
        )
        return self.scripts.provider(source, ports)


@asynccontextmanager
async def open_lua(tmp_path: Path, idle: float = IDLE) -> AsyncIterator[Lua]:
    """The scripts in ``tmp_path/adapters`` for the length of the block."""
    folder = tmp_path / "adapters"
    async with open_http() as http, trio.open_nursery() as nursery:
        ports = LuaPorts(folder, tmp_path / "run", child_environment(), "testlua", idle)
        yield Lua(Scripts(ports, nursery.start_soon), folder, http)
        nursery.cancel_scope.cancel()
