"""What the tests of this room share: a source on a fake server, and an answer gathered from parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from homed.net import open_http
from homed.providers.base import (
    Assistant,
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    Message,
    Part,
    Provider,
    ReasoningDelta,
    Retrying,
    Source,
    ToolSpec,
    Usage,
    UsagePart,
    User,
)
from homed.providers.http import HttpPorts, HttpProvider, Limits
from homed.providers.openai import openai
from homed.providers.retry import RetryPolicy
from tests.kit.fake_openai import FakeOpenAI

TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


@dataclass
class Call:
    """One call, gathered."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class Said:
    """One answer, gathered as the turn loop does it."""

    text: str = ""
    reasoning: str = ""
    by_index: dict[int, Call] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    retries: list[Retrying] = field(default_factory=list)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and argument text of the calls, in order."""
        return [(call.name, call.arguments) for _, call in sorted(self.by_index.items())]

    @property
    def ids(self) -> list[str]:
        """Their ids, in order."""
        return [call.id for _, call in sorted(self.by_index.items())]

    def take(self, part: Part) -> None:
        """One more part."""
        match part:
            case ContentDelta(text):
                self.text += text
            case ReasoningDelta(text):
                self.reasoning += text
            case CallDelta(index, id_, name, arguments):
                call = self.by_index.setdefault(index, Call())
                call.id = call.id or id_
                call.name = call.name or name
                call.arguments += arguments
            case UsagePart(usage):
                self.usage = usage
            case Done(reason):
                self.reason = reason
            case Retrying():
                self.retries.append(part)


def gathered(parts: Iterable[Part]) -> Said:
    """An answer from its parts."""
    said = Said()
    for part in parts:
        said.take(part)
    return said


async def ask(
    provider: Provider, *messages: Message | str, tools: tuple[ToolSpec, ...] = (), into: Said | None = None
) -> Said:
    """Ask and gather; ``into`` keeps what came before an error."""
    said = Said() if into is None else into
    request = ChatRequest(tuple(User(m) if isinstance(m, str) else m for m in messages or ("hi",)), tools)
    async with provider.stream(request) as parts:
        async for part in parts:
            said.take(part)
    return said


def source_of(fake: FakeOpenAI, **options: object) -> Source:
    """A source on the fake server."""
    return Source("test", fake.url, fake.model, options=options)


@asynccontextmanager
async def provider_for(
    fake: FakeOpenAI, *, key: str | None = None, limits: Limits | None = None, source: Source | None = None
) -> AsyncIterator[HttpProvider]:
    """Our adapter on the fake server, with waits so short that nobody notices them."""
    given = limits or Limits()
    async with open_http() as client:
        ports = HttpPorts(
            client,
            lambda: fake.key if key is None else key,
            limits=lambda: given,
            jitter=lambda: 0.0,
            policy=RetryPolicy(base=0.001, ceiling=0.002),
        )
        yield openai(source or source_of(fake), ports)


def reply_of(said: Said) -> Assistant:
    """What the turn loop would store of it."""
    from homed.agent.model import decode
    from homed.providers.base import ToolCall

    calls = tuple(ToolCall(c.id, c.name, decode(c.arguments), c.arguments) for _, c in sorted(said.by_index.items()))
    return Assistant(said.text, calls, said.reasoning)
