"""``events.*``: following what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from homed.api.method import Method, Params, PorchCall, early
from homed.errors import Denied, InvalidInput
from homed.events import TYPES
from homed.wire.layout.ring import mask_of
from homed.wire.methods import CONTENT


class Subscribe(Params):
    """``events.subscribe``"""

    types: list[str] | None = Field(default=None, max_length=64)
    content: bool = False
    via: Literal["ring", "rpc"] = "rpc"


def subscribe(call: PorchCall[Subscribe]) -> Mapping[str, object]:
    """Let the plugin hear of notices from now on."""
    caller, types = call.caller, call.params.types
    wanted = None if types is None else frozenset(types)
    if unknown := sorted((wanted or frozenset()) - TYPES):
        raise InvalidInput(
            f"events.subscribe: there is no notice type {', '.join(unknown)}.",
            hint=f"There are {', '.join(sorted(TYPES))}.",
        )
    if call.params.content and CONTENT not in caller.capabilities:
        has = ", ".join(sorted(caller.capabilities))
        raise Denied(
            f"The plugin {caller.plugin} may not call events.subscribe with content: it lacks the capability {CONTENT}"
            f" (it has {has}).",
            hint="Without content it gets types, ids and states.",
            detail={"plugin": caller.plugin, "capability": CONTENT, "has": sorted(caller.capabilities)},
        )
    seq = caller.subscribe(wanted, content=call.params.content, via=call.params.via)
    return {"seq": seq, "cursor": seq, "mask": mask_of(wanted)}


METHODS: dict[str, Method] = {"events.subscribe": early(Subscribe, subscribe)}
