"""``tools.*``: tools of others, called within a tool call: with its person, its permissions and its limits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.agent.dispatch import OK
from homed.agent.fitting import fitted_text
from homed.api.method import JsonObject, Method, PeerCall, PeerParams, lent, of_call

TEXT_BYTES = 800_000
"""Bytes of a result's text; of a longer one head and tail, so that it fits one line of the wire."""


class CallTool(PeerParams):
    """``tools.call``"""

    tool: str = Field(min_length=1, max_length=128)
    args: JsonObject = Field(default={})


async def call_tool(call: PeerCall[CallTool]) -> Mapping[str, object]:
    """Call a tool as the model of the turn could: asked about, checked, counted, stored and shown."""
    result = await call.ports.calling.call(lent(call), call.params.tool, call.params.args)
    text = fitted_text(result.text, TEXT_BYTES)
    return {"content": text, "is_error": result.status != OK, "status": result.status, "untrusted": result.untrusted}


async def list_(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """The tools that the turn's person may use, or be asked about."""
    offered = await call.ports.calling.offered(lent(call))
    return {
        "tools": [
            {"name": e.name, "plugin": e.plugin, "class": e.tool_class, "description": e.description,
             "parameters": dict(e.parameters), "parallel_safe": e.parallel_safe}
            for e in offered
        ]
    }  # fmt: skip


METHODS: dict[str, Method] = {"tools.call": of_call(CallTool, call_tool), "tools.list": of_call(PeerParams, list_)}
