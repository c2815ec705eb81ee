"""One answer to a program: follows the turn of an input, from its first word to calls for the program, or its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import trio

from homed.errors import HomedError, Unavailable

from .context import Data, Site, Who
from .hub import QUEUE, Notice, Watcher
from .reading import integer, string
from .v1_words import Words

CATCH_UP = 1.0
"""Seconds in which notices up to the answer may still come; what is missing then is taken from the answer itself."""
STEP = 0.05

CONTENT, THOUGHTS = "content", "reasoning_content"
Tell = Callable[[str, str], Awaitable[None]]
"""Is told the kind of words, and the words."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended: with ``calls`` to make, or the turn's ``outcome``; and the turn's usage so far."""

    calls: Sequence[Data]
    outcome: Data
    usage: Data


class Listener(Watcher):
    """Hears everything until it is told which thread it is to hear of: that is known only once words were accepted."""

    def __init__(self) -> None:
        super().__init__("", owner=False, size=QUEUE)

    def offer(self, notice: Notice) -> None:
        """Queue a notice; never waits."""
        if self.thread:
            super().offer(notice)
        elif not self.overrun:
            self._keep(notice)

    def attend(self, thread: str) -> None:
        """From now on this thread alone."""
        self.thread = thread

    def nudge(self) -> None:
        """Whoever waits looks again."""
        self._wake.set()


class Run:
    """Follows one input."""

    def __init__(self, site: Site, person: Who) -> None:
        self._site, self._peer = site, person.peer
        self._listener = Listener()
        self._words, self._thoughts = Words(), Words()
        self._answer: Data | None = None
        self._error: HomedError | None = None
        self._mine = False
        self.thread = self.input = self._turn = ""
        self.told: Data = {}
        site.hub.add(self._listener)

    def accepted(self, given: Mapping[str, object], *, mine: bool) -> None:
        """The kernel has taken the message, or the results.  ``mine``: it ends when nobody listens any more."""
        self.thread, self.input = string(given, "thread"), string(given, "input")
        self._turn, self._mine = string(given, "turn"), mine
        told = given.get("usage")
        self.told = told if isinstance(told, Mapping) else {}
        self._listener.attend(self.thread)

    async def leave(self) -> None:
        """Nobody listens any more: what is not over is stopped.  A second time does nothing."""
        self._site.hub.leave(self._listener)
        if self._mine and self._answer is None and self._error is None:
            self._mine = False
            with suppress(HomedError):
                stop = {"peer": self._peer, "thread": self.thread, "input": self.input}
                await self._site.kernel.call("io.stop", stop)

    async def follow(self, tell: Tell) -> Ended:
        """Tell the words as they come.  Raises HomedError.  Cancelled, it is for `leave` to stop the turn."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask)
            await self._listen(tell)
            nursery.cancel_scope.cancel()
        if self._error is not None:
            raise self._error
        answer = self._answer or {}
        outcome = answer.get("outcome") or {}
        if words := self._words.end(string(outcome, "text")):
            await tell(CONTENT, words)
        return Ended(answer.get("calls") or (), outcome, outcome.get("usage") or answer.get("usage") or {})

    async def _ask(self) -> None:
        try:
            asked = {"peer": self._peer, "input": self.input, "calls": True}
            self._answer = await self._site.kernel.call("io.wait", asked)
        except HomedError as error:
            self._error = error
        self._listener.nudge()

    async def _listen(self, tell: Tell) -> None:
        late = float("inf")
        while self._error is None:
            for notice in self._listener.take():
                await self._pass(notice, tell)
            if self._listener.closed:
                raise Unavailable("The page is closing.", hint="Try again in a moment.")
            if self._answer is not None:
                late = min(late, trio.current_time() + CATCH_UP)
                behind = self._site.hub.latest < integer(self._answer.get("seq")) and not self._listener.overrun
                if not behind or trio.current_time() >= late:
                    break
            await self._listener.wait(3600 if self._answer is None else STEP)
        for notice in self._listener.take():
            await self._pass(notice, tell)

    async def _pass(self, notice: Notice, tell: Tell) -> None:
        data = notice.data
        if notice.type == "turn" and data.get("phase") == "start" and data.get("input") == self.input:
            self._turn = notice.turn
        if not self._turn or notice.turn != self._turn:
            return
        step = integer(data.get("step"))
        found: list[tuple[str, str]] = []
        if notice.type == "content_delta":
            found = [(CONTENT, self._words.delta(step, integer(data.get("at")), string(data, "text")))]
        elif notice.type == "reasoning_delta":
            found = [(THOUGHTS, self._thoughts.delta(step, integer(data.get("at")), string(data, "text")))]
        elif notice.type == "agent_llm_chain":
            found = [
                (THOUGHTS, self._thoughts.whole(step, string(data, "reasoning"))),
                (CONTENT, self._words.whole(step, string(data, "text"))),
            ]
        for kind, words in found:
            if words:
                await tell(kind, words)
