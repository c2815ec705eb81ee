"""``memory.*``: what is remembered, and why a prompt held what it held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from homed.api import within
from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, personal

QUERY = 4096
"""Characters of a search."""


class OfTurn(PeerParams):
    """``memory.explain``"""

    turn: str = Field(min_length=1, max_length=MAX_NAME)


class Search(PeerParams):
    """``memory.search``"""

    query: str = Field(min_length=1, max_length=QUERY)
    limit: int = Field(default=5, ge=1, le=20)
    layer: Literal["all", "window", "cold"] = "all"


async def explain(call: PeerCall[OfTurn]) -> Mapping[str, object]:
    """What a turn was shown and why."""
    found = await call.ports.memory.explain(call.who, call.params.turn)
    if call.lent is None:
        return found
    shown, held = within.explained(found, call.lent.thread)
    call.took_in(untrusted=held.untrusted, no_memory=held.no_memory)
    return shown


async def search(call: PeerCall[Search]) -> Mapping[str, object]:
    """What is remembered that the query is about; nothing changes by it."""
    params = call.params
    turn = call.lent.turn if call.lent else ""
    found = await call.ports.remembering.search(
        call.who, params.query, limit=params.limit, layer=params.layer, turn=turn
    )
    call.took_in(untrusted=found.untrusted)
    return found.answer


METHODS: dict[str, Method] = {
    "memory.explain": personal(OfTurn, explain),
    "memory.search": personal(Search, search),
}
