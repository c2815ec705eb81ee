"""A packaged plugin for tests of shared memory: ``python bulk_plugin.py``; named and declared by its ``plugin.json``.

Its tools hand large values about; its stage handlers change what their name says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import trio

from homed import sdk

NAME = os.environ["HOMED_PLUGIN"]
plugin = sdk.Plugin(NAME, folder=Path(__file__).parent)


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_echo")
async def echo(ctx: sdk.Context, value: Any) -> Any:
    """Give it back."""
    return value


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_make")
async def make(ctx: sdk.Context, size: int) -> str:
    """A text of this many characters."""
    return "é" * size


LARGE = "x" * (8 << 20)


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_large")
async def large(ctx: sdk.Context) -> str:
    """8 MiB."""
    return LARGE


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_ask")
async def ask(ctx: sdk.Context, method: str, params: Any) -> Any:
    """Call the kernel and say what came, and that the memory for it is free again."""
    return await ctx.call(method, params)


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_look")
async def look(ctx: sdk.Context) -> Any:
    """What this process has of ours: descriptors, variables, mappings."""
    fds = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and _open(fd)}
    maps = [line for line in (await trio.Path("/proc/self/maps").read_text()).splitlines() if "memfd:" in line]
    return {"fds": fds, "env": [name for name in os.environ if name.startswith("HOMED_FD_")], "maps": maps}


def _open(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


@plugin.tool(cls="read", parallel_safe=True, name=f"{NAME}_hold")
async def hold(ctx: sdk.Context, count: int) -> int:
    """Take blocks of the arena, and keep them."""
    for _ in range(count):
        await ctx.call("core.arena_alloc", {"len": 1 << 20})
    return count


@plugin.stage("pre_action")
async def count(ctx: sdk.Context, fields: Any) -> Any:
    """Add one to what is this plugin's own, and set what everybody sets."""
    extra, listed = fields.get("extra", {}), {element["id"]: element for element in fields["context_msgs"]}
    told = int(listed.get(NAME, {"text": "0"})["text"]) + 1
    listed[NAME] = {"id": NAME, "text": str(told)}
    return {"extra": {**extra, NAME: extra.get(NAME, 0) + 1}, "context_msgs": [*listed.values()], "memory": NAME}


@plugin.stage("before_output")
async def show(ctx: sdk.Context, fields: Any) -> Any:
    """What was seen."""
    return {"extra": {NAME: {name: len(str(value)) for name, value in fields.items()}}}


if __name__ == "__main__":
    sdk.run(plugin)
