"""The tools ``plugin_*``: what a model may ask of the kernel about plugins, in the words of the person it works for."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homed import sdk
from homed.wire.package import SUFFIX

DOWNLOADS = "downloads"
INSTALL_SECONDS = 150.0
"""A download has 30 s, the end of an old plugin 8, the start of a new one 40."""

plugin = sdk.Plugin("pluginmgr")


@plugin.on_start
def start(kernel: sdk.Kernel) -> None:
    """What a kill left of a download is deleted."""
    for left in (kernel.data_dir / DOWNLOADS).glob(f"*{SUFFIX}"):
        left.unlink(missing_ok=True)


@plugin.tool(cls="dangerous", confirm=True, timeout=INSTALL_SECONDS, untrusted=True)
async def plugin_install(ctx: sdk.Context, source: str, capabilities: list[str], sha256: str = "") -> dict[str, object]:
    """Install a plugin (see tools/plugin_install.md)."""
    async with _as_file(ctx, source) as path:
        found = await ctx.call("plugin_mgr.review", {"path": str(path)})
        if found["refused"]:
            raise sdk.ToolError(str(found["refused"]))
        problem = disagreement(found, capabilities, sha256)
        if problem:
            return {"installed": False, "why": problem, **brief(found)}
        given = {
            "path": str(path),
            "sha256": found["sha256"],
            "grant": sorted(set(capabilities)),
            "source": _shown(source),
        }
        return {"installed": True, **state(await ctx.call("plugin_mgr.install", given))}


@plugin.tool(cls="read", parallel_safe=True)
async def plugin_list(ctx: sdk.Context) -> dict[str, object]:
    """List the plugins (see tools/plugin_list.md)."""
    found = (await ctx.call("plugin_mgr.list"))["plugins"]
    rows = [{key: one[key] for key in ("name", "version", "state", "reason", "trust", "tools")} for one in found]
    return {"plugins": rows, "tools": sum(len(one["tools"]) for one in found)}


@plugin.tool(cls="read", parallel_safe=True, untrusted=True)
async def plugin_info(ctx: sdk.Context, name: str) -> dict[str, object]:
    """Tell about one plugin (see tools/plugin_info.md)."""
    found = dict(await ctx.call("plugin_mgr.info", {"name": name}))
    crashes = found.pop("crashes", [])
    return {**found, "crashes": [_crash(one) for one in crashes[-3:]]}


@plugin.tool(cls="write", confirm=True, timeout=60)
async def plugin_enable(ctx: sdk.Context, name: str) -> dict[str, object]:
    """Let a plugin run again (see tools/plugin_enable.md)."""
    return state(await ctx.call("plugin_mgr.enable", {"name": name}))


@plugin.tool(cls="dangerous", confirm=True, timeout=60)
async def plugin_disable(ctx: sdk.Context, name: str) -> dict[str, object]:
    """Let a plugin not run (see tools/plugin_disable.md)."""
    return state(await ctx.call("plugin_mgr.disable", {"name": name}))


@plugin.tool(cls="write", timeout=60)
async def plugin_reload(ctx: sdk.Context, name: str) -> dict[str, object]:
    """Read a plugin's folder again (see tools/plugin_reload.md)."""
    return state(await ctx.call("plugin_mgr.reload", {"name": name}))


@plugin.tool(cls="dangerous", confirm=True, timeout=60)
async def plugin_remove(ctx: sdk.Context, name: str, keep_data: bool = True) -> dict[str, object]:
    """Remove a plugin (see tools/plugin_remove.md)."""
    await ctx.call("plugin_mgr.remove", {"name": name, "keep_data": keep_data})
    return {"removed": name, "data": "kept" if keep_data else "deleted"}


def disagreement(found: Mapping[str, Any], capabilities: Sequence[str], sha256: str) -> str:
    """Why what the person approved is not what would be installed; empty when it is.  Pure.

    The approval's card showed the capabilities in the call.  Who names the file's hash has seen the review and may give
    less than is asked for; without it, it must be exactly that.
    """
    if sha256 and sha256 != found["sha256"]:
        return "The file is another one than was reviewed: look at the review below again, with the person."
    wanted = {one["name"] for one in found["capabilities"] if one["allowed"]}
    if beyond := sorted(set(capabilities) - wanted):
        return f"It does not ask for {', '.join(beyond)}, or cannot have it. Nothing was installed."
    if not sha256 and set(capabilities) != wanted:
        return (
            f"It asks for {', '.join(sorted(wanted))}, and the person has not seen that. Nothing was installed. Tell"
            " them what each means and the warnings, and call again with the capabilities they want to give and this"
            " sha256."
        )
    stages = sorted({one["stage"] for one in found["stages"] if one["scope"] == "global"})
    if not sha256 and stages:  # no capability stands for this, so that no card has shown it
        return (
            f"It sees and can change what passes through every turn ({', '.join(stages)}), and the person has not"
            " seen that. Nothing was installed. Tell them, with the warnings, and call again with this sha256."
        )
    return ""


def brief(found: Mapping[str, Any]) -> dict[str, object]:
    """What a person should be told before they decide."""
    kept = (
        "name",
        "version",
        "description",
        "author",
        "capabilities",
        "stages",
        "warnings",
        "replaces",
        "sha256",
        "size",
    )
    return {**{key: found[key] for key in kept}, "tools": [tool["name"] for tool in found["tools"]]}


def state(answer: Mapping[str, Any]) -> dict[str, object]:
    """A plugin after a change, with what is true now."""
    return {key: answer[key] for key in ("name", "version", "state", "reason", "note")}


def _crash(report: Mapping[str, Any]) -> dict[str, object]:
    return {"at": report["at"], "code": report["code"], "signal": report["signal"], "stderr": report["stderr"][-2000:]}


@asynccontextmanager
async def _as_file(ctx: sdk.Context, source: str) -> AsyncIterator[Path]:
    """The package as a file on this machine; what was downloaded is deleted afterwards."""
    if "://" not in source:
        if not source.startswith("/"):
            raise sdk.ToolError(f"{source!r} is no https address and no absolute path.")
        yield Path(source)
        return
    from homed.sdk.fetch import fetch  # loads an HTTP client

    folder = ctx.data_dir / DOWNLOADS
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
    try:
        await fetch(source, path)
        yield path
    finally:
        _delete(path)


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def _shown(source: str) -> str:
    """Where it came from, without what may be secret in it."""
    if "://" not in source:
        return Path(source).name
    from homed.sdk.fetch import shown_url

    return shown_url(source)
