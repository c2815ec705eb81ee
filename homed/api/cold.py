"""``cold.*``: what has left the window, looked at on behalf of a turn."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from homed.api.memory import QUERY
from homed.api.method import Method, PeerCall, PeerParams, lent, of_call

MOST = 10


class Query(PeerParams):
    """``cold.query``"""

    query: str = Field(min_length=1, max_length=QUERY)
    top_k: int = Field(default=3, ge=1, le=MOST)


async def query(call: PeerCall[Query]) -> Mapping[str, object]:
    """What matches and is not in the turn's view; once the turn is answered, what is cold of it comes back."""
    calling = call.ports.calling
    found, untrusted = await call.ports.cold.ask(calling.context(lent(call)), call.params.query, call.params.top_k)
    call.took_in(untrusted=untrusted)
    return found


METHODS: dict[str, Method] = {"cold.query": of_call(Query, query)}
