"""The tool ``lua_check``.  Plugins written in Lua do not run here: each is a process of its own (``runner``)."""

from __future__ import annotations

from homed import sdk

plugin = sdk.Plugin("lua")

MAX_SOURCE = 200_000
"""Characters."""


@plugin.tool(cls="read", timeout=30)
async def lua_check(_ctx: sdk.Context, source: str) -> dict[str, object]:
    """See tools/lua_check.md."""
    if len(source) > MAX_SOURCE:
        raise sdk.ToolError(f"The source has over {MAX_SOURCE} characters.", hint="Split it into files of their own.")
    from .services import none
    from .state import State  # with lupa

    def no_modules(name: str) -> tuple[str, bytes]:
        raise LookupError(name)

    problem = str(await State(no_modules).run("check", source, serve=none))
    return {"ok": not problem, "problem": problem}
