"""The plugin lua itself: it checks files."""

from __future__ import annotations

from homed.sdk.testing import harness
from plugins.lua.plugin import MAX_SOURCE, plugin


async def test_a_file_is_checked_and_not_run() -> None:
    async with harness(plugin) as kernel:
        assert (await kernel.invoke("lua_check", source="while true do end")).content == {"ok": True, "problem": ""}
        wrong = await kernel.invoke("lua_check", source="local x = 1\nfunction start(sdk\nend")
        assert wrong.content["ok"] is False
        assert wrong.content["problem"].startswith("main.lua:3: ")
        assert (await kernel.invoke("lua_check", source="\x1bLua")).content["ok"] is False
        assert (await kernel.invoke("lua_check", source="x" * (MAX_SOURCE + 1))).is_error
