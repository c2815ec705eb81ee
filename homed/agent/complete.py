"""One question of a plugin's to a model: bounded, without tools, whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from homed.agent.metering import Meter, Paid
from homed.agent.model import Said
from homed.agent.ports import RedactorPort, SourcesPort
from homed.errors import HomedError, TimedOut, Unavailable
from homed.providers.base import Assistant, ChatRequest, Done, Message, Provider, ProviderError, System, Usage, User
from homed.providers.chain import Chain, Course
from homed.providers.fallback import RECOVERIES, Again, Failed, Next
from homed.providers.pairing import check, repair
from homed.spend.ports import NoSpend, SpendPort
from homed.spend.records import Kind, Purpose

MOST_TOKENS = 4096
"""Tokens of an answer at the most."""

MOST_CHARACTERS = 64
"""Characters for each of those tokens after which a source that does not keep to them is hung up on."""

AT_ONCE = 2
"""Questions of one plugin at once: the person's own turns come first."""


@dataclass(frozen=True, slots=True)
class Question:
    """``said``: pairs of role (system, user, assistant) and text; ``limit`` in seconds."""

    said: Sequence[tuple[str, str]]
    max_tokens: int
    limit: float
    source: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """``reason``: stop, length or the source's own word."""

    text: str
    reason: str
    usage: Usage
    source: str
    model: str


@dataclass(frozen=True, slots=True)
class _Ask:
    """One question on its way through the sources."""

    question: Question
    request: ChatRequest
    purpose: Purpose
    paid: Paid | None


class Completions:
    """Asks for plugins and jobs.  The key of a source stays with the source."""

    def __init__(
        self,
        sources: SourcesPort,
        redactor: RedactorPort,
        *,
        spend: SpendPort | None = None,
        chain: Chain | None = None,
    ) -> None:
        self._redactor = redactor
        self._chain = chain or Chain(sources)
        self._meter = Meter(spend or NoSpend())
        self._asking: Counter[str] = Counter()

    async def ask(
        self, plugin: str, question: Question, *, purpose: Purpose | None = None, paid: Paid | None = None
    ) -> Completion:
        """The answer, whole.  ``purpose``: for whom it is asked, if for a turn; ``paid`` hears of what it took.

        Cancelled, or past its limit: the connection is closed and what it took is written down before this returns.
        Raises Unavailable (no source, ``AT_ONCE`` under way, or a limit of spend: OverLimit), NotFound for an unknown
        source, TimedOut, and what the source itself says as a HomedError with its ``detail.kind``.
        """
        course = self._chain.course(name=question.source or "")
        ask = _Ask(question, self._request(question), purpose or purpose_of(plugin), paid)
        with self._counted(plugin):
            try:
                with trio.fail_after(question.limit):
                    said = await self._along(course, ask)
            except trio.TooSlowError:
                name = course.provider.source.name
                raise TimedOut(
                    f"{name} did not answer within {question.limit:g} s; the request was ended.",
                    hint="Ask for fewer tokens, or give it longer.",
                ) from None
            except ProviderError as error:
                text = self._redactor.redact(error.message)
                raise HomedError(text, hint=error.hint, detail=error.detail) from None
        source = course.provider.source
        self._chain.answered(course)
        return Completion(self._redactor.redact(said.text), said.reason, said.usage, source.name, source.model)

    async def _along(self, course: Course, ask: _Ask) -> Said:
        """Ask one source after the other, as ``providers.fallback`` says; nothing is shown before it is whole."""
        while True:
            try:
                return await self._once(course.provider, ask)
            except ProviderError as error:
                failure = error
            failed = Failed(
                kind=failure.kind, attempt=course.attempt, status=failure.status, retry_after=failure.retry_after,
                others=len(course.rest), recoveries=RECOVERIES,  # it is as short as its asker can make it
            )  # fmt: skip
            match self._chain.decide(failed):
                case Again(wait):
                    course.attempt += 1
                    await trio.sleep(wait)
                case Next() as verdict:
                    self._chain.leave(course, verdict, failure)
                case _:
                    raise failure

    async def _once(self, provider: Provider, ask: _Ask) -> Said:
        most, size = ask.question.max_tokens * MOST_CHARACTERS, 0
        async with self._meter.call(ask.purpose, provider.source, ask.request, paid=ask.paid) as bill:
            try:
                async with provider.stream(bill.request) as parts:
                    async for part in parts:
                        bill.gathered.take(part)
                        size += len(getattr(part, "text", "")) + len(getattr(part, "arguments", ""))
                        if size > most:
                            bill.gathered.take(Done("length"))
                            break
            except ProviderError as error:
                bill.error = error
                raise
        return bill.gathered.said()

    def _request(self, question: Question) -> ChatRequest:
        redact = self._redactor.redact
        instructions = "\n\n".join(redact(text) for role, text in question.said if role == "system")
        messages: list[Message] = [System(instructions)] if instructions else []
        messages += [
            User(redact(text)) if role == "user" else Assistant(redact(text))
            for role, text in question.said
            if role != "system"
        ]
        repaired = repair(messages).messages
        if problems := check(repaired):
            raise HomedError(f"The messages cannot be sent: {problems[0]}.")
        return ChatRequest(repaired, max_tokens=min(question.max_tokens, MOST_TOKENS), temperature=question.temperature)

    @contextmanager
    def _counted(self, plugin: str) -> Iterator[None]:
        if self._asking[plugin] >= AT_ONCE:
            raise Unavailable(
                f"The plugin {plugin} has {AT_ONCE} questions at the model already.", hint="Wait for an answer first."
            )
        self._asking[plugin] += 1
        try:
            yield
        finally:
            self._asking[plugin] -= 1
            if not self._asking[plugin]:
                del self._asking[plugin]


def purpose_of(who: str) -> Purpose:
    """Whom a question is for that nobody's turn asks: a job's, by ``jobs:NAME``, or the plugin's own."""
    job = who.removeprefix("jobs:")
    return Purpose(Kind.PLUGIN, who) if job == who else Purpose(Kind.BACKGROUND, job)
