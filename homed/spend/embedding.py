"""What an embedding endpoint is asked, through the gate: it stops where background work does, and words are enough."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from homed.errors import HomedError
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.till import Asked
from homed.spend.records import Kind, Purpose, Tokens, Whence

if TYPE_CHECKING:
    from homed.spend.ports import Holding, SpendPort

EMBEDDINGS = "embeddings"
"""Who asks, and what the source is called; its prices are given for that name."""

LAST_WORD = 5.0
"""Seconds, shielded, that writing down what a request took may need when it is cancelled."""


class EmbedTill:
    """See ``homed.retrieval.embed.till.Till``."""

    def __init__(self, spend: SpendPort) -> None:
        self._spend = spend

    @asynccontextmanager
    async def asking(self, address: str, model: str, tokens: int) -> AsyncIterator[Asked]:
        """See ``Till.asking``."""
        whence = Whence(EMBEDDINGS, model, _host(address))
        try:
            held = await self._spend.hold(Purpose(Kind.BACKGROUND, EMBEDDINGS), whence, Tokens(tokens, estimated=True))
        except HomedError as error:
            raise EmbedFailed(error.message, hint=error.hint) from None
        asked = Asked()
        try:
            yield asked
        except BaseException:  # Cancelled too: nothing may follow that would write it
            with trio.move_on_after(LAST_WORD, shield=True):
                await _pay(held, asked, tokens)
            raise
        await _pay(held, asked, tokens)


async def _pay(held: Holding, asked: Asked, tokens: int) -> None:
    if not asked.owed:
        await held.release()
    elif asked.took is None:
        await held.settle(Tokens(tokens, estimated=True))
    else:
        await held.settle(Tokens(asked.took))


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
