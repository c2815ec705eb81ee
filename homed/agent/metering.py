"""One model call through the gate: reserved before it is made, paid when it is over, however it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import trio

from homed.agent.model import Gatherer, Said
from homed.agent.weight import Sizes
from homed.memory.tokens import estimate_tokens
from homed.providers.base import LOCAL, ChatRequest, Part, Provider, ProviderError, Source, ToolCall
from homed.providers.options import Quirks
from homed.spend.ports import Holding, Settlement, SpendPort
from homed.spend.records import Cost, Kind, Purpose, Tokens, Whence

LAST_WORD = 5.0
"""Seconds, shielded, that writing down what a call took may need when it is cancelled."""

ANSWER = 4096
"""Tokens that an answer needs room for, when the request does not limit it: with less left the call is not made."""

TRIAL = Purpose(Kind.BACKGROUND, "models test")
"""Whom the questions of a trial are for: they are nobody's turn, and stop where background work does."""

UNSAID = 8192
"""Tokens that an answer may have where neither the request nor the source's options say: most models take that as a
limit.  More is left to those that give more."""

LEAST = 1024
"""Tokens of an answer that are reckoned with however full the window is: our count of the request is a guess."""

IMAGE = 1_000
"""Tokens that a picture is taken for, where a source does not count itself."""

PER_MESSAGE = 4
"""Tokens that a message takes beside its text."""


Paid = Callable[[Tokens, Cost], None]
"""Hears of what a call took."""


@dataclass(slots=True)
class Bill:
    """A call under way.  ``request`` is what may go out: with the room that the limits leave its answer.

    What comes is gathered in ``gathered``; ``error`` is how it failed, if it did.
    """

    asked: int
    request: ChatRequest = field(default_factory=lambda: ChatRequest(()))
    gathered: Gatherer = field(default_factory=Gatherer)
    error: ProviderError | None = None

    def tokens(self) -> Tokens | None:
        """What it took; None when the source took nothing on.

        The source's own counts, or ours for what it gave none: also for one that was cut off, whose prompt was read.
        """
        said = self.gathered.said()
        usage, spoken = said.usage, answer_tokens(said)
        counted = bool(usage.prompt or usage.completion)
        if not counted and not spoken and self.error is not None and self.error.unbilled:
            return None
        prompt, completion = usage.prompt or self.asked, usage.completion or spoken
        estimated = not usage.prompt or (not usage.completion and bool(spoken))
        return Tokens(prompt, completion, min(usage.cached, prompt), estimated=estimated)


class Meter:
    """Takes calls through the gate."""

    def __init__(self, spend: SpendPort, sizes: Sizes | None = None) -> None:
        self._spend = spend
        self._sizes = sizes or Sizes()

    @asynccontextmanager
    async def call(
        self,
        purpose: Purpose,
        source: Source,
        request: ChatRequest,
        *,
        paid: Paid | None = None,
        owed: list[Settlement] | None = None,
    ) -> AsyncIterator[Bill]:
        """The block makes the call of ``bill.request`` and feeds ``bill.gathered``; ``paid`` hears of what it took.

        Raises OverLimit before the block.  However the block ends, what it took is written down before this returns;
        but for a call that went well where the caller writes what is ``owed`` with what came of it.
        """
        asked = self.request_tokens(request)
        can = request.max_tokens or can_answer(source, asked)
        wanted = Tokens(asked, min(can, ANSWER), estimated=True)
        held = await self._spend.hold(purpose, whence(source), wanted, can=can)
        bill = Bill(asked, request if held.room is None else replace(request, max_tokens=held.room))
        try:
            yield bill
        except BaseException:  # Cancelled too: nothing may follow that would write it
            with trio.move_on_after(LAST_WORD, shield=True):
                await _pay(held, bill, paid, None)
            raise
        await _pay(held, bill, paid, owed)

    def request_tokens(self, request: ChatRequest) -> int:
        """Tokens of a request, counted by us."""
        total = 0
        for message in request.messages:
            total += PER_MESSAGE + self._sizes.of(message.text) + IMAGE * len(getattr(message, "images", ()))
            total += sum(_call_tokens(call) for call in getattr(message, "calls", ()))
        return total + sum(self._sizes.of(f"{t.name} {t.description} {t.parameters}") for t in request.tools)


class Metered:
    """A provider whose questions go through the gate, each by itself: for those that nobody's turn asks."""

    def __init__(self, provider: Provider, meter: Meter, purpose: Purpose) -> None:
        self._provider = provider
        self._meter = meter
        self._purpose = purpose

    @property
    def source(self) -> Source:
        """See ``Provider``."""
        return self._provider.source

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        """See ``Provider.stream``.  Raises OverLimit as well, before anything is asked."""
        async with self._meter.call(self._purpose, self.source, request) as bill:
            try:
                async with self._provider.stream(bill.request) as parts:
                    yield _Counted(parts, bill.gathered)
            except ProviderError as error:
                bill.error = error
                raise


class _Counted:
    """Passes parts on, and gathers them."""

    def __init__(self, parts: AsyncIterator[Part], gathered: Gatherer) -> None:
        self._parts = parts
        self._gathered = gathered

    def __aiter__(self) -> AsyncIterator[Part]:
        return self

    async def __anext__(self) -> Part:
        part = await anext(self._parts)
        self._gathered.take(part)
        return part


async def _pay(held: Holding, bill: Bill, paid: Paid | None, owed: list[Settlement] | None) -> None:
    tokens = bill.tokens()
    if tokens is None:
        await held.release()
        return
    if owed is None:
        cost = await held.settle(tokens)
    else:
        settlement, cost = held.settling(tokens)
        owed.append(settlement)
    if paid is not None:
        paid(tokens, cost)


def metered(spend: SpendPort) -> Callable[[Provider], Provider]:
    """Takes what a trial of a source asks through the gate."""
    return lambda provider: Metered(provider, Meter(spend), TRIAL)


def whence(source: Source) -> Whence:
    """Who is asked, as the gate knows it."""
    try:
        host = urlsplit(source.base_url).hostname or ""
    except ValueError:
        host = ""
    return Whence(source.name, source.model, host, local=source.adapter == LOCAL)


def can_answer(source: Source, asked: int) -> int:
    """Tokens that an answer of a source may have, as far as can be told, to a request of so many."""
    quirks = Quirks(source.options)
    limit = quirks.number("max_tokens") or UNSAID + quirks.number("thinking")
    return min(limit, max(LEAST, source.context_window - asked))


def answer_tokens(said: Said) -> int:
    """Tokens of an answer, counted by us."""
    return estimate_tokens(said.text) + estimate_tokens(said.reasoning) + sum(_call_tokens(call) for call in said.calls)


def _call_tokens(call: ToolCall) -> int:
    return estimate_tokens(call.name) + estimate_tokens(call.raw or str(call.arguments))
