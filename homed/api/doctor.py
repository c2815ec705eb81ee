"""``admin.doctor``, ``admin.memory_doctor``: the daemon looks at itself, and at what it remembers."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api.method import Method, PeerCall, PeerParams, administrative
from homed.errors import Denied


class Examine(PeerParams):
    """``admin.doctor``"""

    deep: bool = False


async def doctor(call: PeerCall[Examine]) -> Mapping[str, object]:
    """Every check with what to do; ``deep`` takes its time."""
    found = await call.ports.doctor.examine(deep=call.params.deep)
    return {"checks": [check.wire() for check in found]}


class ExamineMemory(Examine):
    """``admin.memory_doctor``"""

    repair: bool = False


async def memory_doctor(call: PeerCall[ExamineMemory]) -> Mapping[str, object]:
    """Every check of memory once; ``repair`` mends what is safe, which a person has to say."""
    wanted = call.params
    if wanted.repair and wanted.call:
        raise Denied("Memory is repaired for a person, not for a turn.", hint="Ask the owner to run it on the page.")
    return (await call.ports.memory_doctor.examine(deep=wanted.deep, repair=wanted.repair)).wire()


METHODS: dict[str, Method] = {
    "admin.doctor": administrative(Examine, doctor),
    "admin.memory_doctor": administrative(ExamineMemory, memory_doctor),
}
