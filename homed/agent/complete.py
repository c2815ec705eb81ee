"""One question of a plugin's to a model: bounded, without tools, whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from homed.agent.model import Gatherer
from homed.agent.ports import RedactorPort, SourcesPort
from homed.errors import HomedError, TimedOut, Unavailable
from homed.providers.base import Assistant, ChatRequest, Done, Message, ProviderError, System, Usage, User
from homed.providers.pairing import check, repair

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


class Completions:
    """Asks for plugins.  The key of a source stays with the source."""

    def __init__(self, sources: SourcesPort, redactor: RedactorPort) -> None:
        self._sources = sources
        self._redactor = redactor
        self._asking: Counter[str] = Counter()

    async def ask(self, plugin: str, question: Question) -> Completion:
        """The answer, whole.  Cancelled, or past its limit: the connection is closed before this returns.

        Raises Unavailable (no source, or ``AT_ONCE`` under way), NotFound for an unknown source, TimedOut, and what the
        source itself says as a HomedError with its ``detail.kind``.
        """
        provider = self._sources.provider(question.source)
        gatherer, size = Gatherer(), 0
        with self._counted(plugin):
            try:
                with trio.fail_after(question.limit):
                    async with provider.stream(self._request(question)) as parts:
                        async for part in parts:
                            gatherer.take(part)
                            size += len(getattr(part, "text", "")) + len(getattr(part, "arguments", ""))
                            if size > question.max_tokens * MOST_CHARACTERS:
                                gatherer.take(Done("length"))
                                break
            except trio.TooSlowError:
                raise TimedOut(
                    f"{provider.source.name} did not answer within {question.limit:g} s; the request was ended.",
                    hint="Ask for fewer tokens, or give it longer.",
                ) from None
            except ProviderError as error:
                text = self._redactor.redact(error.message)
                raise HomedError(text, hint=error.hint, detail=error.detail) from None
        said, source = gatherer.said(), provider.source
        return Completion(self._redactor.redact(said.text), said.reason, said.usage, source.name, source.model)

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
