"""``textlog.*``: what was said on a day, as lines of JSON made from the events."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import Method, PeerCall, PeerParams, personal


class Read(PeerParams):
    """``textlog.read``"""

    day: str = Field(default="", pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")
    after: int = Field(default=0, ge=0, lt=1 << 62)
    limit: int = Field(default=200, ge=1, le=500)


async def read(call: PeerCall[Read]) -> Mapping[str, object]:
    """A page of a day; of today where none is named."""
    params = call.params
    found = await call.ports.remembering.day(call.who, params.day, after=params.after, limit=params.limit)
    call.took_in(untrusted=found.untrusted)
    return found.answer


METHODS: dict[str, Method] = {"textlog.read": personal(Read, read)}
