"""A plugin's question to a model: bounded in tokens, time and number, ended when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trio

from homed.agent.complete import AT_ONCE, MOST_TOKENS, Completions, Question
from homed.errors import HomedError, NotFound, TimedOut, Unavailable
from homed.providers.base import (
    Assistant,
    CallDelta,
    ChatRequest,
    ContentDelta,
    Done,
    ErrorKind,
    Part,
    Provider,
    ProviderError,
    ReasoningDelta,
    Source,
    System,
    Usage,
    UsagePart,
    User,
)
from homed.redact import Redactor


@dataclass
class Model:
    """One source, "demo", that gives these parts, fails or hangs."""

    parts: Sequence[Part] = (ContentDelta("yes"), UsagePart(Usage(10, 1)), Done("stop"))
    fails: ProviderError | None = None
    hangs: bool = False
    requests: list[ChatRequest] = field(default_factory=list)
    opened: int = 0
    closed: int = 0
    begun: trio.Event = field(default_factory=trio.Event)

    source = Source("demo", "http://x", "demo-1")

    def list(self) -> Sequence[Source]:
        return [self.source]

    def current(self) -> Source:
        return self.source

    def provider(self, name: str | None = None) -> Provider:
        if name not in (None, "demo"):
            raise NotFound(f"There is no model source {name!r}.")
        return self

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncIterator[AsyncIterator[Part]]:
        self.requests.append(request)
        self.opened += 1
        try:
            async with aclosing(self._parts()) as parts:
                yield parts
        finally:
            self.closed += 1

    async def _parts(self) -> AsyncGenerator[Part, None]:
        self.begun.set()
        for part in self.parts:
            await trio.lowlevel.checkpoint()
            yield part
        if self.hangs:
            await trio.sleep_forever()
        if self.fails:
            raise self.fails


def asking(model: Model) -> Completions:
    return Completions(model, Redactor(["hunter22secret"]))


def question(*said: tuple[str, str], tokens: int = 100, limit: float = 60.0, source: str | None = None) -> Question:
    return Question(said or (("user", "Is it?"),), tokens, limit, source)


async def test_the_answer_comes_whole_with_what_it_cost() -> None:
    model = Model(
        (ReasoningDelta("hm"), ContentDelta("y"), ContentDelta("es"), UsagePart(Usage(10, 2, 4)), Done("stop"))
    )
    answer = await asking(model).ask("p", question())
    assert (answer.text, answer.reason, answer.usage) == ("yes", "stop", Usage(10, 2, 4))
    assert (answer.source, answer.model) == ("demo", "demo-1")
    (request,) = model.requests
    assert (request.tools, request.max_tokens) == ((), 100)


async def test_instructions_come_first_and_secrets_stay_here() -> None:
    model = Model((ContentDelta("hunter22secret!"), Done("stop")))
    answer = await asking(model).ask(
        "p", question(("user", "a hunter22secret"), ("system", "Be brief."), ("assistant", "b"), ("user", "c"))
    )
    sent = model.requests[0].messages
    assert sent[0] == System("Be brief.")
    assert [type(message) for message in sent[1:]] == [User, Assistant, User]
    assert "hunter22secret" not in str(sent)
    assert "hunter22secret" not in answer.text


async def test_no_more_tokens_than_anybody_gets_and_a_source_that_goes_on_is_hung_up_on() -> None:
    model = Model(tuple(ContentDelta("x" * 100) for _ in range(1000)))
    answer = await asking(model).ask("p", question(tokens=10))
    assert answer.reason == "length"
    assert len(answer.text) < 1000
    assert model.closed == model.opened == 1
    await asking(model).ask("p", question(tokens=MOST_TOKENS * 2))
    assert model.requests[-1].max_tokens == MOST_TOKENS


async def test_a_source_that_calls_tools_nobody_offered_is_hung_up_on_as_well() -> None:
    model = Model(tuple(CallDelta(0, "c", "x", "x" * 100) for _ in range(1000)), hangs=True)
    assert (await asking(model).ask("p", question(tokens=10, limit=5.0))).reason == "length"


async def test_it_ends_at_its_limit_and_the_connection_with_it(autojump_clock: trio.testing.MockClock) -> None:
    model = Model((), hangs=True)
    with pytest.raises(TimedOut, match="within 5 s; the request was ended"):
        await asking(model).ask("p", question(limit=5.0))
    assert model.closed == 1


async def test_cancelled_it_closes_the_connection_and_the_next_may_ask() -> None:
    model = Model((), hangs=True)
    completions = asking(model)
    for _ in range(AT_ONCE + 1):
        model.begun = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(completions.ask, "p", question())
            await model.begun.wait()
            nursery.cancel_scope.cancel()
    assert model.closed == model.opened == AT_ONCE + 1


async def test_a_plugin_has_a_few_at_once_and_takes_none_from_another() -> None:
    model = Model((), hangs=True)
    completions = asking(model)
    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            model.begun = trio.Event()
            nursery.start_soon(completions.ask, "p", question())
            await model.begun.wait()
        with pytest.raises(Unavailable, match=f"{AT_ONCE} questions"):
            await completions.ask("p", question())
        model.begun = trio.Event()
        nursery.start_soon(completions.ask, "other", question())
        await model.begun.wait()
        nursery.cancel_scope.cancel()


async def test_what_the_source_says_is_passed_on_without_secrets() -> None:
    error = ProviderError(ErrorKind.CREDENTIAL, "The key hunter22secret is refused.", hint="Give another.")
    with pytest.raises(HomedError, match="is refused") as caught:
        await asking(Model((), fails=error)).ask("p", question())
    assert "hunter22secret" not in str(caught.value)
    assert caught.value.detail["kind"] == "credential"
    with pytest.raises(NotFound):
        await asking(Model()).ask("p", question(source="other"))
