"""One request to a local model, from the queue to its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import trio

from homed.clock import new_id
from homed.providers import failures
from homed.providers.base import ContentDelta, ErrorKind, Part, Progress, ProviderError, ReasoningDelta
from homed.providers.failures import Where
from homed.providers.openai_answer import AnswerDecoder

WAITING_PARTS = 64
"""Parts that may wait for a slow reader; then the child's pipe fills, and the child waits."""

WORTH_TELLING = 48
"""Tokens still to be read from which on progress is told: fewer take about half a second."""


class Job:
    """What one stream waits for.  The engine feeds it; whoever asked reads ``parts`` and looks at ``failure``."""

    def __init__(self, body: Mapping[str, object], where: Where) -> None:
        self.body = body
        self.failure: ProviderError | None = None
        self.settled = trio.Event()
        """Set when it is over for the engine: answered, failed, or no longer wanted."""
        self.ended = False
        """The child has said that it is done with it."""
        self.abandoned = False
        self.began = False
        """Something of the answer has come: the prompt is read."""
        self.patience = trio.CancelScope()
        """Around the engine's wait; the deadline moves with every sign of life."""
        self._where = where
        self._decoder = AnswerDecoder(lambda: new_id("call"))
        self._send, self.parts = trio.open_memory_channel[Part](WAITING_PARTS)

    async def chunk(self, data: Mapping[str, Any]) -> None:
        """A chunk in the form of OpenAI's stream.  Waits while the reader is behind."""
        progress = data.get("prompt_progress")
        if isinstance(progress, Mapping) and not self.began:
            self._read(progress)
        await self._feed(f"data: {json.dumps(data)}\n\n".encode())

    async def end(self) -> None:
        """The child is done with it."""
        self.ended = True
        if self.failure is None and not self.abandoned:
            await self._feed(b"data: [DONE]\n\n")
        self.settle()

    def fail(self, error: ProviderError) -> None:
        """It will not be answered any further; the first reason counts."""
        if self.failure is None:
            error.partial = self.began
            self.failure = error
        self.settle()

    def refused(self, body: Mapping[str, object]) -> None:
        """The model's server has refused it or broke off."""
        self.fail(failures.from_report(self._where, body))

    def abandon(self) -> None:
        """Nobody waits for it any more."""
        self.abandoned = True
        self.settle()

    def tell(self, part: Progress) -> None:
        """Say how far it is; a reader that is behind need not know."""
        try:
            self._send.send_nowait(part)
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return

    def settle(self) -> None:
        """Close the stream of parts; what was sent before is still read."""
        self.settled.set()
        self._send.close()

    def _read(self, progress: Mapping[str, Any]) -> None:
        try:
            total, cached, done = (int(progress[key]) for key in ("total", "cache", "processed"))
        except (KeyError, TypeError, ValueError):
            return
        if total - cached >= WORTH_TELLING:
            self.tell(Progress("reading", done, total))

    async def _feed(self, event: bytes) -> None:
        if self.failure is not None or self.abandoned:
            return
        try:
            for part in self._decoder.feed(event):
                self.began = self.began or isinstance(part, ContentDelta | ReasoningDelta)
                await self._send.send(part)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # left in this moment; whoever left says so too
        except failures.Reported as error:
            self.refused(error.body)
        except failures.Endless as error:
            self.fail(failures.endless(self._where, str(error)))
        except (failures.Unreadable, failures.BrokenOff) as error:
            self.fail(ProviderError(ErrorKind.TRANSIENT, f"{self._where} said what cannot be read: {error}."))
