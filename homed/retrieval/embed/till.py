"""What stands between an embedding endpoint and the money, as embedders see it, and one that lets all pass."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import trio


@dataclass(slots=True)
class Asked:
    """One request under way.  ``took``: tokens that the endpoint counted; None: as many as were reckoned with.

    ``owed`` False: it took nothing on.
    """

    took: int | None = None
    owed: bool = True


class Till(Protocol):
    """Lets requests through, and writes down what they took: ``homed.spend.embedding``."""

    def asking(self, address: str, model: str, tokens: int) -> AbstractAsyncContextManager[Asked]:
        """The block makes a request of so many tokens and says in the ``Asked`` what came of it.

        Raises EmbedFailed before the block when a limit does not allow it.  However the block ends, what it took is
        written down before this returns.
        """
        ...


class FreeTill:
    """A till that is always open and keeps no record."""

    @asynccontextmanager
    async def asking(self, address: str, model: str, tokens: int) -> AsyncIterator[Asked]:  # noqa: ARG002
        """See ``Till.asking``."""
        await trio.lowlevel.checkpoint()
        yield Asked()
