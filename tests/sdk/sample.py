"""A plugin for the tests that need a real process; run by its path."""

from __future__ import annotations

import subprocess
import time

import trio

from homed import sdk

plugin = sdk.Plugin("sample")

TREE = "setsid sleep 600 & sleep 600 & echo up; wait"
"""A program with a child in its group and one that left it."""


@plugin.tool(cls="read")
async def sample_echo(ctx: sdk.Context, text: str) -> str:
    """Give the text back."""
    return text


@plugin.tool(cls="read")
def sample_noise(ctx: sdk.Context) -> str:
    """Write to stdout in every way there is."""
    print("a print 🔄")
    subprocess.run(["echo", "a child"], check=True)
    subprocess.run(["sh", "-c", "echo a grandchild; echo x >&0"], check=False)
    return "quiet"


@plugin.tool(cls="read")
def sample_stdin(ctx: sdk.Context) -> str:
    """What a child of a plugin reads on its stdin, and the descriptors it has."""
    done = subprocess.run(["sh", "-c", "cat; ls /proc/self/fd | wc -l"], capture_output=True, check=True)
    return done.stdout.decode().strip()


@plugin.tool(cls="dangerous")
async def sample_tree(ctx: sdk.Context) -> str:
    """Run a tree of programs that never end."""
    await sdk.process.run(["sh", "-c", TREE], cwd=ctx.data_dir)
    return "never"


@plugin.tool(cls="dangerous")
async def sample_hang(ctx: sdk.Context) -> str:
    """Start a tree, then block the event loop for ever."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sample_tree, ctx)
        await trio.sleep(0.2)
        (ctx.data_dir / "hung").touch()
        time.sleep(600)  # noqa: ASYNC251 - a hung loop is what this is about
    return "never"


@plugin.tool(cls="dangerous")
def sample_thread(ctx: sdk.Context) -> str:
    """Block a thread for ever."""
    time.sleep(600)
    return "never"


@plugin.main
async def serve(kernel: sdk.Kernel) -> None:
    """Leave a note at a clean stop."""
    try:
        await trio.sleep_forever()
    finally:
        (kernel.data_dir / "stopped").touch()


if __name__ == "__main__":
    sdk.run(plugin)
