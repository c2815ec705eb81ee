"""``core.*`` about a plugin's own life: begin anew, be let run, be woken at a time, tools known only while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from homed.api.method import Call, Method, Params, no_more, plain

MAX_TOOLS = 256
MAX_LEASE = 64
MAX_TIME = 1e11
"""Seconds: some three thousand years."""


class Restart(Params):
    """``core.restart``"""


class Busy(Params):
    """``core.busy``"""

    lease: str = Field(min_length=1, max_length=MAX_LEASE)
    held: bool


class ToolsSet(Params):
    """``core.tools_set``: as a manifest's ``tools``."""

    tools: Annotated[list[dict[str, Any]], Field(max_length=MAX_TOOLS), AfterValidator(no_more)]


class ScheduleClear(Params):
    """``core.schedule_clear``"""

    name: str = Field(min_length=1, max_length=32)


class ScheduleSet(ScheduleClear):
    """``core.schedule_set``: ``at`` is UTC seconds, ``every`` seconds; one of them at least."""

    at: float | None = Field(default=None, ge=0, le=MAX_TIME, allow_inf_nan=False)
    every: float | None = Field(default=None, gt=0, le=MAX_TIME, allow_inf_nan=False)


def restart(call: Call[Restart]) -> Mapping[str, object]:
    """Stop the plugin and start it again; calls that run are ended as at any stop."""
    call.ports.host.wishes.restart(call.caller.plugin)
    return {}


def busy(call: Call[Busy]) -> Mapping[str, object]:
    """Keep a lazy plugin running while it holds a lease."""
    call.ports.host.wishes.busy(call.caller.plugin, call.params.lease, call.params.held)
    return {}


async def tools_set(call: Call[ToolsSet]) -> Mapping[str, object]:
    """Replace the plugin's dynamic tools."""
    return {"tools": await call.ports.host.wishes.set_tools(call.caller.plugin, list(call.params.tools))}


async def schedule_set(call: Call[ScheduleSet]) -> Mapping[str, object]:
    """Have the plugin woken."""
    asked, wishes = call.params, call.ports.host.wishes
    return {"at": await wishes.schedule(call.caller.plugin, asked.name, at=asked.at, every=asked.every)}


async def schedule_clear(call: Call[ScheduleClear]) -> Mapping[str, object]:
    """No longer."""
    await call.ports.host.wishes.unschedule(call.caller.plugin, call.params.name)
    return {}


METHODS: dict[str, Method] = {
    "core.restart": plain(Restart, restart),
    "core.busy": plain(Busy, busy),
    "core.tools_set": plain(ToolsSet, tools_set),
    "core.schedule_set": plain(ScheduleSet, schedule_set),
    "core.schedule_clear": plain(ScheduleClear, schedule_clear),
}
