"""``knowledge.*``: the knowledge base.  It is not built yet, and every method says so, to those who may ask."""

from __future__ import annotations

from typing import Any, NoReturn

from pydantic import Field

from homed.api.memory import QUERY
from homed.api.method import MAX_NAME, Method, Name, PeerCall, PeerParams, personal
from homed.errors import Unavailable

TEXT = 200_000


class Search(PeerParams):
    """``knowledge.search``"""

    query: str = Field(min_length=1, max_length=QUERY)
    limit: int = Field(default=5, ge=1, le=20)


class Documents(PeerParams):
    """``knowledge.list``"""

    limit: int = Field(default=50, ge=1, le=200)
    after: str = Field(default="", max_length=MAX_NAME)


class OfDocument(PeerParams):
    """``knowledge.read``, ``knowledge.remove``"""

    document: Name


class Add(PeerParams):
    """``knowledge.add``"""

    name: Name
    text: str = Field(min_length=1, max_length=TEXT)


def not_built(_: PeerCall[Any]) -> NoReturn:
    """There is none."""
    raise Unavailable(
        "This homed has no knowledge base yet.",
        hint="memory.search looks through what was said.",
        detail={"missing": "knowledge"},
    )


METHODS: dict[str, Method] = {
    "knowledge.search": personal(Search, not_built),
    "knowledge.list": personal(Documents, not_built),
    "knowledge.read": personal(OfDocument, not_built),
    "knowledge.add": personal(Add, not_built),
    "knowledge.remove": personal(OfDocument, not_built),
}
