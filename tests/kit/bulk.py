"""Hosts of the plugin in ``bulk_plugin.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from homed.host.host import Host

ENTRY = Path(__file__).with_name("bulk_plugin.py")
TOOLS = ("echo", "make", "large", "ask", "look", "hold")


def bulk(name: str, **more: Any) -> dict[str, Any]:
    """Its manifest under this name; ``more`` replaces fields."""
    tools = [
        {"name": f"{name}_{tool}", "description": "See there.", "class": "read", "parallel_safe": True}
        for tool in TOOLS
    ]
    stages = [
        {"stage": stage, "scope": "global", "order": 0, "on_failure": "open"}
        for stage in ("pre_action", "before_output")
    ]
    entry = f"python {ENTRY}"
    return {"name": name, "version": "1.0", "entry": entry, "tools": tools, "stages": stages, **more}


async def invoke(host: Host, plugin: str, tool: str, *, timeout: float = 60, **args: object) -> Any:
    """Call one of its tools and return the content."""
    params = {"tool": f"{plugin}_{tool}", "args": args, "call": "t", "timeout": timeout, "context": {}}
    result = await host.call(plugin, "tool.invoke", params, timeout=timeout)
    assert isinstance(result, dict)
    assert not result["is_error"], result["content"]
    return result["content"]
