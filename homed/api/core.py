"""``core.*``: what every plugin may do: log, say where it is reached, read and write its own settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from homed.api.method import Json, Method, Params, PorchCall, early

MAX_LOGGED = 8192
"""Characters of one log message; longer ones are cut, with a mark."""


class Log(Params):
    """``core.log``"""

    level: Literal["debug", "info", "warning", "error"] = "info"
    message: str = Field(max_length=1024 * 1024)


class Announce(Params):
    """``core.announce``"""

    kind: Literal["url", "socket"]
    address: str = Field(min_length=1, max_length=1024)


class SettingGet(Params):
    """``core.settings_get``"""

    key: str = Field(min_length=1, max_length=128)


class SettingSet(SettingGet):
    """``core.settings_set``"""

    value: Json


class ArenaAlloc(Params):
    """``core.arena_alloc``"""

    len: int = Field(ge=1, le=1 << 40)


class ArenaFree(Params):
    """``core.arena_free``"""

    off: int = Field(ge=0, le=1 << 40)


async def log(call: PorchCall[Log]) -> Mapping[str, object]:
    """Write a line to the plugin's log; warnings and errors stand in the daemon's too, under the plugin's name."""
    text = call.params.message
    if len(text) > MAX_LOGGED:
        text = f"{text[:MAX_LOGGED]} … ({len(text)} characters)"
    await call.caller.log(call.params.level, text)
    if call.params.level in ("warning", "error"):
        level = logging.getLevelNamesMapping()[call.params.level.upper()]
        logging.getLogger(f"plugin.{call.caller.plugin}").log(level, "%s", text)
    return {}


def announce(call: PorchCall[Announce]) -> Mapping[str, object]:
    """Note where people reach the plugin."""
    call.caller.announce(call.params.kind, call.params.address)
    return {}


def settings_get(call: PorchCall[SettingGet]) -> Mapping[str, object]:
    """A setting of the plugin's own."""
    return {"value": call.ports.settings.get(_own(call.caller.plugin, call.params.key))}


async def settings_set(call: PorchCall[SettingSet]) -> Mapping[str, object]:
    """Change a setting of the plugin's own."""
    await call.ports.settings.set(_own(call.caller.plugin, call.params.key), call.params.value)
    return {}


def arena_alloc(call: PorchCall[ArenaAlloc]) -> Mapping[str, object]:
    """Room in the plugin's arena for a large value that it is about to send."""
    return {"off": call.caller.arena_alloc(call.params.len)}


def arena_free(call: PorchCall[ArenaFree]) -> Mapping[str, object]:
    """Take back a block: one of a result that the plugin has read, or one that it did not need."""
    call.caller.arena_free(call.params.off)
    return {}


def _own(plugin: str, key: str) -> str:
    # the prefix is put before whatever is asked for, so no key can reach another namespace
    return f"plugin.{plugin}.{key}"


METHODS: dict[str, Method] = {
    "core.log": early(Log, log),
    "core.announce": early(Announce, announce),
    "core.settings_get": early(SettingGet, settings_get),
    "core.settings_set": early(SettingSet, settings_set),
    "core.arena_alloc": early(ArenaAlloc, arena_alloc),
    "core.arena_free": early(ArenaFree, arena_free),
}
