"""``core.meta``: what a plugin may know of where it runs."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api.method import Call, Method, Params, plain
from homed.wire.methods import TO_KERNEL
from homed.wire.version import CORE, PROTOCOL


def meta(call: Call[Params]) -> Mapping[str, object]:
    """Versions, and what this plugin may do."""
    caller = call.caller
    return {
        "version": CORE, "protocol": PROTOCOL, "plugin": caller.plugin, "trust": caller.trust.value,
        "capabilities": sorted(caller.capabilities),
        "methods": sorted(method for method, needed in TO_KERNEL.items() if needed in caller.capabilities),
    }  # fmt: skip


METHODS: dict[str, Method] = {"core.meta": plain(Params, meta)}
