"""``cmd_run``: one command in a process group of its own."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from homed import sdk

from .environment import scrubbed

MAX_SECONDS = 600.0
MAX_COMMAND = 64 << 10
LIMIT = 12 << 10
"""Bytes kept of each stream: both together stay below the kernel's limit for one result."""

plugin = sdk.Plugin("shell")


def start_folder(settings: Mapping[str, object], home: Path, workdir: str) -> Path:
    """Where the command runs: ``workdir``, which may start at the setting of that name, itself by default the home."""
    base = home / Path(str(settings.get("workdir") or ".")).expanduser()
    if "\0" in workdir:
        raise sdk.ToolError("`workdir` cannot hold a NUL character.")
    folder = base / Path(workdir).expanduser()
    if not folder.is_dir():
        raise sdk.ToolError(f"There is no folder {folder}.", hint="Leave `workdir` empty to start at home.")
    return folder


def readable(data: bytes) -> str:
    """Output as text.  A byte that is not UTF-8 shows as ``\\xNN``, never as a silent replacement."""
    return data.decode("utf-8", "backslashreplace")


# The kernel's limit is above the longest time a command may ask for: it is this tool that ends it, with its output.
@plugin.tool(cls="dangerous", timeout=MAX_SECONDS + 15, untrusted=True)
async def cmd_run(ctx: sdk.Context, command: str, timeout: float = 60, workdir: str = "") -> dict[str, object]:
    """Run a shell command (see tools/cmd_run.md)."""
    if not command.strip() or "\0" in command:
        raise sdk.ToolError("`command` is empty or holds a NUL character.")
    if len(command.encode("utf-8", "surrogatepass")) > MAX_COMMAND:
        raise sdk.ToolError("The command is too long.", hint="Write a script file and run that.")
    if not (math.isfinite(timeout) and timeout > 0):
        raise sdk.ToolError("`timeout` must be a number of seconds above 0.")
    seconds = min(timeout, MAX_SECONDS)
    folder = start_folder(ctx.settings, Path.home(), workdir)
    async with ctx.tracked(folder):
        done = await sdk.process.run(
            ["/bin/sh", "-c", command], cwd=folder, env=scrubbed(os.environ), timeout=seconds, limit=LIMIT
        )
    return report(done, seconds)


def report(done: sdk.process.Completed, seconds: float) -> dict[str, object]:
    """``{status, exit_code, stdout, stderr}``, and a ``note`` on a timeout or a signal.  Over-long output has a gap."""
    ended = None if done.timed_out or done.exit.signal else done.exit.code
    answer: dict[str, object] = {
        "status": "timed_out" if done.timed_out else "ok" if ended == 0 else "failed",
        "exit_code": ended,
        "stdout": readable(done.stdout),
        "stderr": readable(done.stderr),
    }
    if done.timed_out:
        answer["note"] = (
            f"Killed after {seconds:g} s with everything it had started; the output is what came until then."
        )
    elif done.exit.signal:
        answer["note"] = f"It was {done.exit}."
    return answer
