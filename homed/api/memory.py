"""``memory.*``: what is remembered, and why a prompt held what it held."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, personal


class OfTurn(PeerParams):
    """``memory.explain``"""

    turn: str = Field(min_length=1, max_length=MAX_NAME)


async def explain(call: PeerCall[OfTurn]) -> Mapping[str, object]:
    """What a turn was shown and why."""
    return await call.ports.memory.explain(call.who, call.params.turn)


METHODS: dict[str, Method] = {"memory.explain": personal(OfTurn, explain)}
