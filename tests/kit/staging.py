"""Stages of one turn over real plugins, as many rounds as wanted; and how it would be if each copied the whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import trio

from homed.agent.journal import Journal
from homed.agent.ports import AgentPorts
from homed.agent.stages import Stages
from homed.agent.turn import Turn
from homed.events import Bus
from homed.host.host import Host
from homed.identity.roles import Identity
from homed.identity.tokens import CallTokens
from homed.memory.records import Input, InputState
from tests.kit.builders import OWNER, FakeSettings
from tests.kit.bulk import bulk
from tests.kit.hosting import hosting

STAGE = "pre_action"
COUNTED = "context_msgs"


@dataclass
class Staging:
    """Runs rounds; each plugin adds one to its own element and its own key, and sets a scalar that all set."""

    host: Host
    stages: Stages
    turn: Turn
    plugins: tuple[str, ...]
    now: list[dict[str, Any]] = field(default_factory=list)
    conflicts: int = 0

    async def by_field(self) -> None:
        """One round of the kernel's own way."""
        staged = await self.stages.run(self.turn, STAGE, {"raw_message": "go", COUNTED: self.now})
        self.now = [dict(element) for element in staged.elements(COUNTED)]
        errors = cast("list[dict[str, str]]", self.turn.fields.pop("errors", []))
        assert all("memory" in error["error"] for error in errors), errors
        self.conflicts += len(errors)

    async def by_copy(self) -> None:
        """One round where each handler copies the context, changes its copy and gives the whole of it back."""
        async with trio.open_nursery() as nursery:
            for plugin in self.plugins:
                nursery.start_soon(self._copied, plugin)

    async def _copied(self, plugin: str) -> None:
        whole: dict[str, Any] = {
            "extra": dict(cast("dict[str, int]", self.turn.fields.get("extra", {}))),
            COUNTED: list(self.now),
        }
        params = {"stage": STAGE, "seq": 1, "call": "t", "fields": whole}
        answer = cast("dict[str, Any]", await self.host.call(plugin, "stage.invoke", params, timeout=30))
        whole |= answer["changes"]
        self.turn.fields["extra"], self.now = whole["extra"], whole[COUNTED]

    def lost(self, rounds: int) -> int:
        """Updates that are nowhere: of the list's elements and of the keys of ``extra``, in that many rounds."""
        listed = sum(int(element["text"]) for element in self.now)
        keyed = sum(cast("dict[str, int]", self.turn.fields.get("extra", {})).get(name, 0) for name in self.plugins)
        return 2 * rounds * len(self.plugins) - listed - keyed


@asynccontextmanager
async def staging(tmp_path: Path, count: int) -> AsyncIterator[Staging]:
    """That many plugins, running, with one handler each."""
    names = tuple(f"hand{n}" for n in range(count))
    async with hosting(tmp_path, *(bulk(name) for name in names)) as host:
        for name in names:
            await host.wait_ready(name)
        ports = cast(
            AgentPorts, _Ports(host=host, settings=FakeSettings(), tokens=CallTokens(), bus=Bus(trio.current_time))
        )
        yield Staging(host, Stages(ports, Journal(ports)), _turn(OWNER), names)


@dataclass
class _Ports:
    """What stages use of the agent's ports."""

    host: Host
    settings: FakeSettings
    tokens: CallTokens
    bus: Bus


def _turn(who: Identity) -> Turn:
    given = Input(
        "input_1", "thread_1", who.scope, "webui", who.peer, "owner", "go", "", False, False, InputState.ACCEPTED, 0,
        "", 0.0,
    )  # fmt: skip
    return Turn("turn_1", given, who)
