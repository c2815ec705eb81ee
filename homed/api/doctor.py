"""``admin.doctor``: the daemon looks at itself."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api.method import Method, PeerCall, PeerParams, administrative


class Examine(PeerParams):
    """``admin.doctor``"""

    deep: bool = False


async def doctor(call: PeerCall[Examine]) -> Mapping[str, object]:
    """Every check with what to do; ``deep`` takes its time."""
    found = await call.ports.doctor.examine(deep=call.params.deep)
    return {"checks": [check.wire() for check in found]}


METHODS: dict[str, Method] = {"admin.doctor": administrative(Examine, doctor)}
